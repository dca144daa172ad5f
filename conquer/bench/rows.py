"""What a logged pair takes: bytes of its rows in the store, and of the model's snapshot.

    python -m conquer.bench.rows [POSTGRESQL]

A server on a fresh SQLite store is asked and told 100 pairs at a time, and its file is looked at. With the address of
an empty PostgreSQL database the store is restored there and looked at once more.
"""

import random
import sqlite3
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from conquer.bench.load import bodies
from conquer.bench.servers import ask, running

_PAIRS, _BATCH = 2000, 100
_WORKS = ("vectors", "texts")
_KINDS = "SELECT kind, count(*), avg(length(CAST(body AS BLOB))) FROM log GROUP BY kind"


def rounds(work: str, count: int) -> list[bytes]:
    """Bodies of five items as JSON: 32 numbers each, about 1 KB a round, or texts of 1 KB each.

    >>> [round(len(rounds(work, 1)[0]), -3) for work in _WORKS]
    [1000, 5000]
    """
    if work == "vectors":
        return bodies(count, 5, 32, 1)
    rng = random.Random(1)

    def text() -> bytes:
        # Frequencies as in a language: the rank's logarithm is even.
        return " ".join(f"word{int(50_000 ** rng.random())}" for _ in range(120))[:1000].encode()

    items = ((b'{"id":"i%d","text":"%s"}' % (k, text()) for k in range(5)) for _ in range(count))
    return [b'{"items":[' + b",".join(five) + b"]}" for five in items]


def fill(port: int, name: str, given: list[bytes]) -> None:
    """Ask about all rounds and answer them, the first shown always preferred."""
    import msgspec

    for start in range(0, len(given), _BATCH):
        part = [msgspec.json.decode(body) for body in given[start : start + _BATCH]]
        replies = ask(port, f"/v1/models/{name}/choose/batch", {"rounds": part})["results"]
        answers = [{"event_id": reply["event_id"], "winner": reply["shown"][0]["id"]} for reply in replies]
        ask(port, f"/v1/models/{name}/answers", {"answers": answers})


def looked_at(file: Path) -> dict[str, Any]:
    """Bytes of a row's body by kind, of a pair in the file, of a compressed row, and of the newest snapshot."""
    store = sqlite3.connect(file)
    try:
        kinds = {kind: (count, size) for kind, count, size in store.execute(_KINDS)}
        some = [body.encode() for (body,) in store.execute("SELECT body FROM log ORDER BY position LIMIT 1000")]
        newest = "SELECT sum(length(data)) FROM snapshots GROUP BY model_id, position ORDER BY position DESC LIMIT 1"
        (snapshot,) = store.execute(newest).fetchone() or (0,)
        store.execute("DELETE FROM snapshots")
        store.commit()
        store.execute("VACUUM")
    finally:
        store.close()
    sizes = {f"body of a row, {kind}": size for kind, (_, size) in kinds.items()}
    sizes["a pair in SQLite"] = file.stat().st_size / kinds["answer"][0]
    sizes["a pair's bodies, zlib"] = len(zlib.compress(b"\n".join(some), 6)) / (len(some) / 2)
    return sizes | {"snapshot": snapshot}


def in_postgres(file: Path, address: str) -> float:
    """Bytes of a pair in a PostgreSQL store, indexes included."""
    from sqlalchemy import text

    from conquer.service.admin import restore
    from conquer.service.store.database import Database

    restore(str(file), store=address)
    database = Database(address)
    try:
        with database.writing() as connection:
            pairs = connection.execute(text("SELECT count(*) FROM log WHERE kind = 'answer'")).scalar_one()
            return float(connection.execute(text("SELECT pg_total_relation_size('log')")).scalar_one() / pairs)
    finally:
        database.close()


def main() -> None:
    """Measure both kinds of rounds and print a line for each number."""
    for work in _WORKS:
        with tempfile.TemporaryDirectory() as name:
            folder, given = Path(name), rounds(work, _PAIRS)
            features = {"features": {"dim": 32}} if work == "vectors" else {}
            with running(folder) as (port, _):
                ask(port, "/v1/models", {"name": work, "algorithm": "gnr", **features})
                fill(port, work, given)
            found = {"body of a request": sum(map(len, given)) / len(given)} | looked_at(folder / "bench.db")
            if work == "vectors" and len(sys.argv) > 1:
                found["a pair in PostgreSQL"] = in_postgres(folder / "bench.db", sys.argv[1])
        for what, size in found.items():
            print(f"{work:8} {what:28} {size:10,.0f} bytes", flush=True)


if __name__ == "__main__":
    main()
