"""What `python -m tests.soak` runs, in order; a second call goes on where the first was stopped."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from service.nursery import Nursery

from . import busy as busy_rounds
from . import crashes, state
from . import fuzz as fuzzing
from .postgres import TwoServers
from .sqlite import OneServer

KILLS, EVENTS, CALLS = 1000, 300, 100_000


def sqlite(total: int = KILLS) -> None:
    with contextlib.closing(Nursery()) as nursery:
        report("sqlite", crashes.summary(crashes.run(OneServer(nursery), state.OUT, total)))


def postgres(total: int = EVENTS) -> None:
    with contextlib.closing(Nursery()) as nursery:
        report("postgres", crashes.summary(crashes.run(TwoServers(nursery), state.OUT, total)))


def fuzz(total: int = CALLS) -> None:
    with contextlib.closing(Nursery()) as nursery:
        found = fuzzing.run(nursery, state.OUT, total)
    report("fuzz", {**found, "calls": sum(found["done"].values()), "failed": len(found["failed"])})
    if found["failed"]:
        raise SystemExit("\n".join(found["failed"][:20]))


def busy(count: int | None = None) -> None:
    found = busy_rounds.run(state.OUT, count)
    print(f"{len(found['rounds'])} of {len(busy_rounds.rounds())} rounds; failed how often:")
    for test, times in found["tally"].items() or {"nothing": 0}.items():
        print(f"{times:4}  {test}")


def again(path: str) -> None:
    """Send a failing call to a fresh server."""
    with contextlib.closing(Nursery()) as nursery:
        print(fuzzing.again(nursery, state.OUT, Path(path).read_bytes()))


def report(part: str, found: dict[str, object]) -> None:
    """Keep a part's summary beside the others' and show it."""
    path = state.OUT / "summary.json"
    state.keep(path, {**state.load(path), part: found})
    print(part, ", ".join(f"{name} {value}" for name, value in found.items()))


PARTS = {"sqlite": sqlite, "postgres": postgres, "fuzz": fuzz, "busy": busy}


def main(arguments: Sequence[str]) -> None:
    """Without arguments every part but `busy`; else PART [COUNT]."""
    if not arguments:
        for name, part in PARTS.items():
            if name != "busy":
                part()
        return
    name, *count = arguments
    if name == "again":
        return again(*count)
    if name not in PARTS:
        raise SystemExit(f"expected one of {', '.join(PARTS)}, got {name!r}")
    PARTS[name](*map(int, count))
