"""A plain service for comparison: FastAPI, pydantic, numpy, SQLite with full sync, one commit a request.

python -m benchmarks.peer STORE PORT
"""

import json
import secrets
import sqlite3
import sys
import threading
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

_SCHEMA = """
pragma journal_mode=wal; pragma synchronous=full;
create table if not exists log(id text primary key, round text, answer text);
"""


class PeerItem(BaseModel):
    id: str
    vector: list[float]


class PeerRound(BaseModel):
    items: list[PeerItem]


class PeerAnswer(BaseModel):
    winner: str


def make_app(store: str) -> FastAPI:
    """Greedy first item, random second item, the implicit diagonal update."""
    database = sqlite3.connect(store, check_same_thread=False, isolation_level=None)
    database.executescript(_SCHEMA)
    lock, rng = threading.Lock(), np.random.default_rng(0)
    weights: dict[str, Any] = {}
    precisions: dict[str, Any] = {}
    app = FastAPI()

    @app.get("/readyz")
    def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.post("/v1/models/{name}/choose")
    def choose(name: str, body: PeerRound) -> dict[str, Any]:
        X = np.array([item.vector for item in body.items])
        with lock:
            scores = X @ weights.setdefault(name, np.zeros(X.shape[1]))
            precisions.setdefault(name, np.ones(X.shape[1]))
            m = int(scores.argmax())
            n = int(rng.choice([i for i in range(len(scores)) if i != m]))
            event, ids = secrets.token_hex(8), [body.items[m].id, body.items[n].id]
            row = json.dumps({"m": X[m].tolist(), "n": X[n].tolist(), "ids": ids})
            database.execute("begin")
            database.execute("insert into log(id, round) values (?, ?)", (event, row))
            database.execute("commit")
        return {"event_id": event, "shown": [{"id": each} for each in ids]}

    @app.post("/v1/models/{name}/events/{event}/answer")
    def answer(name: str, event: str, body: PeerAnswer) -> dict[str, str]:
        with lock:
            row = json.loads(database.execute("select round from log where id=?", (event,)).fetchone()[0])
            u = (np.array(row["m"]) - np.array(row["n"])) / 2
            y = 1.0 if body.winner == row["ids"][0] else -1.0
            step = u / precisions[name]
            weights[name] += (y - u @ weights[name]) / (1 + u @ step) * step
            precisions[name] += u * u
            database.execute("begin")
            database.execute("update log set answer=? where id=?", (body.winner, event))
            database.execute("commit")
        return {"status": "learnt"}

    return app


if __name__ == "__main__":
    uvicorn.run(make_app(sys.argv[1]), port=int(sys.argv[2]), log_level="warning")
