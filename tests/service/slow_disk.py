"""A disk that writes when it is told to, or fails: what the service does meanwhile can be looked at."""

import asyncio
import random
import sqlite3
import threading
from contextlib import asynccontextmanager, closing
from typing import Any

import numpy as np
from sqlalchemy.exc import OperationalError

from conquer.kernels.core import background

from .folds import loaded, rows_of, slow_fold, sqlite
from .test_rows import MADE


class Lost(sqlite3.OperationalError):
    """A store that goes away."""


MANY = 70
"""Rounds of a batch that is worth a commit of its own."""


def many(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    return {
        "rounds": [
            {"items": [{"id": name, "vector": [round(rng.gauss(0, 1), 2) for _ in range(4)]} for name in "abc"]}
            for _ in range(MANY)
        ]
    }


def answers(reply: Any) -> dict[str, Any]:
    results = reply.json()["results"]
    return {"answers": [{"event_id": one["event_id"], "winner": one["shown"][0]["id"]} for one in results]}


class Disk:
    """Commits wait at a gate; one of them may fail."""

    def __init__(self, app: Any) -> None:
        self.store, self.open, self.waits, self.fails = app.server.writer.batches._store, threading.Event(), 0, ""
        self._commit, self.store.commit_straight = self.store.commit_straight, self.commit

    def commit(self) -> None:
        self.waits += 1
        assert self.open.wait(60)
        fails, self.fails = self.fails, ""
        if fails == "lost, made":
            self._commit()
        if fails:
            raw = self.store._writes.connection.driver_connection
            raw.rollback() if fails == "lost, not made" else None
            raise OperationalError("COMMIT", None, Lost("the disk"))
        self._commit()

    async def until(self, waits: int) -> None:
        while self.waits < waits:
            await asyncio.sleep(0.001)


@asynccontextmanager
async def a_slow_disk(local: Any, **options: Any):
    """An application with a model, the disk it writes to, and a client."""
    app = local(**options)
    async with app.running() as client:
        assert (await client.post("/v1/models", json=MADE)).status_code == 201
        while background.pending():
            await asyncio.sleep(0.01)
        # The first has the model read into memory.
        await client.post("/v1/models/m/choose/batch", json=many(0))
        disk = Disk(app)
        try:
            yield app, client, disk
        finally:
            disk.open.set()


def ask(client: Any, seed: int) -> "asyncio.Task[Any]":
    return asyncio.create_task(client.post("/v1/models/m/choose/batch", json=many(seed)))


def ask_once(client: Any, event: str, name: str = "m") -> "asyncio.Task[Any]":
    body = {**many(99)["rounds"][0], "event_id": event}
    return asyncio.create_task(client.post(f"/v1/models/{name}/choose", json=body))


async def reaches(folded: Any, position: int) -> None:
    """Wait until the model in memory has so many rows."""
    while folded.position < position:
        await asyncio.sleep(0.001)


def stored(tmp_path: Any) -> int:
    """How many rows others see in the store, which is being written."""
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        return connection.execute("SELECT COUNT(*) FROM log").fetchone()[0]


def check(tmp_path: Any, rows: int) -> None:
    """The log has so many rows, none of them twice, and comes to the same weights however it is read."""
    _, found = rows_of(sqlite(tmp_path), "m")
    kinds = [(row.kind, row.event) for row in found]
    assert len(kinds) == len(set(kinds)) == rows
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))
