"""The service under load: durable pairs a second beside a plain service, on SQLite and PostgreSQL.

Also with many models in memory and with a long log.

A pair is one choose and one answer, each committed before its reply; K = 5 items of 32 numbers, 1 KB a body.
"""

import sqlite3
import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import postgres
from benchmarks.servers import ask, free_port, load, make_model, peer, running
from benchmarks.timing import Goal, Ratio

WIDTH = 32
ITEMS = [{"id": f"i{k}", "vector": [0.1 * k] * WIDTH} for k in range(5)]
CROWDS = ((1, 0), (1000, 0), (1, 1_000_000))
QUICK_CROWDS = ((1, 0), (50, 0), (1, 10_000))
"""(models in memory, rows in the log of the model under load)."""

Place = tuple[int, int]
"""A server's port and process id."""


def measure(*, quick: bool) -> tuple[dict[str, dict[str, float]], list[Goal]]:
    """Results of every load, and the targets."""
    seconds, turns = (1.0, 2) if quick else (4.0, 5)
    found: dict[str, list[dict[str, float]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sqlite = stack.enter_context(running(folder))
        plain = stack.enter_context(peer(folder))
        make_model(sqlite[0], WIDTH)
        field: dict[str, Callable[[], dict[str, float]]] = {
            "plain peer": lambda: pairs(plain, seconds),
            "pairs, SQLite": lambda: pairs(sqlite, seconds),
            "batches of 100, SQLite": lambda: batches(sqlite, seconds),
        }
        if postgres.programs() is not None:
            store = stack.enter_context(postgres.running(free_port()))
            other = stack.enter_context(running(folder, store=store))
            make_model(other[0], WIDTH)
            field["pairs, PostgreSQL"] = lambda: pairs(other, seconds)
        for turn in range(turns + 1):
            for name, work in field.items():
                result = work()
                if turn:  # the first turn loads what the others use
                    found.setdefault(name, []).append(result)
        steady = pairs(sqlite, 3 * seconds, rate=750)
    results = {name: _median(rows) for name, rows in found.items()} | {"pairs, SQLite, at 750 a second": steady}
    for models, rows in QUICK_CROWDS if quick else CROWDS:
        results[f"pairs, SQLite, {models:,} models, {rows:,} rows"] = crowded(models, rows, seconds)
    return results, goals(found)


def goals(found: dict[str, list[dict[str, float]]]) -> list[Goal]:
    """The targets, turn by turn."""
    rates = {name: np.array([row["pairs_per_second"] for row in rows]) for name, rows in found.items()}
    aims = [("pairs, SQLite", "plain peer", 5.0), ("batches of 100, SQLite", "plain peer", 25.0)]
    if "pairs, PostgreSQL" in rates:
        aims.append(("pairs, PostgreSQL", "pairs, SQLite", 0.7))
    return [Goal(f"{one} / {two}", Ratio.of(rates[one] / rates[two]), must, True) for one, two, must in aims]


def pairs(server: Place, seconds: float, rate: float = 0) -> dict[str, float]:
    """Choose and answer on 32 connections; `rate` above 0 paces them together."""
    port, process = server
    return load(process, work="pairs", port=port, seconds=seconds, width=WIDTH, rate=rate, connections=32)


def batches(server: Place, seconds: float) -> dict[str, float]:
    """The same in batches of 100 on 4 connections."""
    port, process = server
    return load(process, work="batches", port=port, seconds=seconds, width=WIDTH, connections=4, size=100)


def crowded(models: int, rows: int, seconds: float) -> dict[str, float]:
    """Pairs on a server with this many models in memory and rows in the log of the one under load."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if rows:
            with running(folder) as (port, _):
                make_model(port, WIDTH)
                _answer(port, f"bench-{WIDTH}")
            grow(folder / "bench.db", rows)
        with running(folder) as server:
            if not rows:
                make_model(server[0], WIDTH)
            for number in range(1, models):
                ask(server[0], "/v1/models", {"name": f"other-{number}", "algorithm": "gnr"})
                _answer(server[0], f"other-{number}")
            pairs(server, 1.0)
            return pairs(server, seconds)


def _answer(port: int, model: str) -> None:
    event = ask(port, f"/v1/models/{model}/choose", {"items": ITEMS})["event_id"]
    ask(port, f"/v1/models/{model}/events/{event}/answer", {"winner": "i0"})


def grow(store: Path, rows: int) -> None:
    """Repeat a stopped server's one round until its log has `rows` rows, all covered by its snapshot."""
    connection = sqlite3.connect(store)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(log)")]
    changed = {"position": "position + 2 * i", "event_id": "event_id || '-' || i", "checksum": "NULL"}
    values = ", ".join(changed.get(column, column) for column in columns)
    with connection:
        connection.execute(
            "WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ?)"
            f" INSERT INTO log ({', '.join(columns)}) SELECT {values} FROM numbers, log",
            (rows // 2 - 1,),
        )
        connection.execute("UPDATE models SET position = (SELECT max(position) FROM log)")
        connection.execute("UPDATE snapshots SET position = (SELECT position FROM models)")
    connection.close()


def _median(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {field: statistics.median(row[field] for row in rows) for field in rows[0]}
