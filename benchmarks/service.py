"""The service under load: durable pairs a second beside a plain service, replay, and growth.

A pair is one choose and one answer, each committed before its reply; K = 5 items of 32 numbers, 1 KB a body.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import postgres
from benchmarks.servers import Place, ask, free_port, load, make_model, peer, running
from benchmarks.timing import Goal, Ratio

WIDTH = 32
MODEL = f"bench-{WIDTH}"
ITEMS = [{"id": f"i{k}", "vector": [0.1 * k] * WIDTH} for k in range(5)]
Row = dict[str, float]
Turns = dict[str, list[Row]]
"""The result of every turn of every load."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: seconds a turn, turns, models in memory, rows in a log, rows replayed."""

    seconds: float
    turns: int
    models: tuple[int, ...]
    rows: tuple[int, ...]
    replayed: int


FULL = Size(4.0, 5, (100, 1000), (100_000, 1_000_000), 100_000)
QUICK = Size(1.0, 2, (50,), (10_000,), 10_000)


def measure(*, quick: bool, other: Path | None = None) -> tuple[dict[str, Row], list[Goal]]:
    """Medians of every load, and the targets. `other`: a file with a FastAPI `app` in place of the plain peer."""
    size = QUICK if quick else FULL
    found = _throughput(size, other)
    with tempfile.TemporaryDirectory() as name:
        found |= _growth(size, Path(name))
    with tempfile.TemporaryDirectory() as name:
        found["replay"] = _replay(size, Path(name))
    return {name: _median(rows) for name, rows in found.items()}, goals(found)


def _throughput(size: Size, other: Path | None) -> Turns:
    """All loads in turn on the plain peer, SQLite and, where it is installed, PostgreSQL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain = stack.enter_context(peer(folder, other))
        stores = {"SQLite": stack.enter_context(running(folder))}
        if postgres.programs() is not None:
            store = stack.enter_context(postgres.running(free_port()))
            stores["PostgreSQL"] = stack.enter_context(running(folder, store=store))
        field: dict[str, Callable[[], Row]] = {"plain peer": partial(pairs, plain, size.seconds)}
        for name, server in stores.items():
            make_model(server.port, WIDTH)
            field[f"pairs, {name}"] = partial(pairs, server, size.seconds)
            field[f"batches of 100, {name}"] = partial(batches, server, size.seconds)
            field[f"750 pairs a second, {name}"] = partial(pairs, server, size.seconds, rate=750)
        return in_turn(field, size.turns)


def _growth(size: Size, folder: Path) -> Turns:
    """Pairs on a server that grows, in turn with a fresh one."""
    found: Turns = {}
    with running(folder / "fresh") as fresh:
        make_model(fresh.port, WIDTH)
        for what, amounts, grow in (("models", size.models, _more_models), ("rows", size.rows, _more_rows)):
            with running(folder / what) as grown:
                make_model(grown.port, WIDTH)
                for amount in amounts:
                    grow(grown, amount)
                    field = {
                        f"fresh beside {amount:,} {what}": partial(pairs, fresh, size.seconds),
                        f"{amount:,} {what}": partial(pairs, grown, size.seconds),
                    }
                    found |= in_turn(field, size.turns)
    return found


def _more_models(server: Place, count: int) -> None:
    """Make and use models until the server has `count`."""
    for number in range(len(ask(server.port, "/v1/models")["models"]), count):
        model = {"name": f"other-{number}", "algorithm": "gnr", "features": {"dim": WIDTH}}
        ask(server.port, "/v1/models", model)
        event = ask(server.port, f"/v1/models/other-{number}/choose", {"items": ITEMS})["event_id"]
        ask(server.port, f"/v1/models/other-{number}/events/{event}/answer", {"winner": "i0"})


def _more_rows(server: Place, count: int) -> None:
    """Choose and answer until the model's log has `count` rows."""
    while ask(server.port, f"/v1/models/{MODEL}")["position"] < count:
        batches(server, 2.0)


def _replay(size: Size, folder: Path) -> list[Row]:
    """Rows a second from a log without snapshots to the first look at the model after a restart."""
    with running(folder) as server:
        make_model(server.port, WIDTH)
        _more_rows(server, size.replayed)
    found = []
    for _ in range(size.turns):
        with sqlite3.connect(folder / "bench.db") as connection:
            connection.execute("DELETE FROM snapshots")
        connection.close()
        with running(folder) as server:
            start = time.perf_counter()
            rows = ask(server.port, f"/v1/models/{MODEL}")["position"]
            seconds = time.perf_counter() - start
        found.append({"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds})
    return found


def in_turn(field: Mapping[str, Callable[[], Row]], turns: int) -> Turns:
    """Every load once a turn, after a turn that does not count: it loads what the others use.

    >>> in_turn({"a": lambda: {"x": 1.0}}, 2)
    {'a': [{'x': 1.0}, {'x': 1.0}]}
    """
    found: Turns = {name: [] for name in field}
    for turn in range(turns + 1):
        for name, work in field.items():
            result = work()
            if turn:
                found[name].append(result)
    return found


def goals(found: Turns) -> list[Goal]:
    """The targets, turn by turn."""

    def values(name: str, key: str = "pairs_per_second") -> Any:
        return np.array([row[key] for row in found[name]])

    reached = []
    for one, two, must in (
        ("pairs, SQLite", "plain peer", 5.0),
        ("batches of 100, SQLite", "plain peer", 25.0),
        ("pairs, PostgreSQL", "pairs, SQLite", 0.7),
        *((name, f"fresh beside {name}", 0.8) for name in found if f"fresh beside {name}" in found),
    ):
        if one in found:
            reached.append(Goal(f"{one} / {two}", Ratio.of(values(one) / values(two)), must, True))
    steady = [name for name in found if name.startswith("750 pairs a second")]
    reached += [Goal(f"{name}, p99 in ms", Ratio.of(values(name, "p99_ms")), 25.0, False) for name in steady]
    if "replay" in found:
        reached.append(Goal("replay, rows a second", Ratio.of(values("replay", "rows_per_second")), 20_000, True))
    return reached


def pairs(server: Place, seconds: float, rate: float = 0) -> Row:
    """Choose and answer on 32 connections; `rate` above 0 paces them together."""
    return load(server, work="pairs", seconds=seconds, width=WIDTH, rate=rate, connections=32)


def batches(server: Place, seconds: float) -> Row:
    """The same in batches of 100 on 4 connections."""
    return load(server, work="batches", seconds=seconds, width=WIDTH, connections=4, size=100)


def _median(rows: list[Row]) -> Row:
    return {field: statistics.median(row[field] for row in rows) for field in rows[0]}
