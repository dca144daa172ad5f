"""The service under load: durable pairs per second beside a bare echo, its delays, and its two kinds of store."""

import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from conquer.bench import cluster
from conquer.bench.report import Goal, goal_rows
from conquer.bench.servers import ask, echoing, free_port, load, make_model, running
from conquer.bench.timing import Ratio

_WIDTHS = {"1 KB": 32, "5 KB": 170}
_WIDTH = _WIDTHS["1 KB"]
_LONG = 384
_PAIRS, _BATCHES, _ECHO = "pairs, 1 KB bodies", "batches of 100", "echo, 1 KB bodies (requests)"
_AIMS = {_PAIRS: (0.55, 0.7), _BATCHES: (1.6, 2.5)}
"""Pairs a second over half of the echo's requests a second: what must be, and what would be better still."""
MUST = {"p99_ms": 50.0, "rounds_ms": 10.0}
"""Delays: of calls at 750 pairs a second, and of a choice among 100 vectors of 384 numbers."""
_NO_POSTGRESQL = "PostgreSQL's server programs are not installed: its rows are left out"


def run(quick: bool = False) -> dict[str, Any]:
    """Every measurement of the service, JSON-able: K = 5, 32 connections, each commit before its reply."""
    seconds, turns = (1.0, 3) if quick else (4.0, 5)
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as server, echoing(Path(name)) as echo:
        results, ratios = _beside_echo(server, echo, seconds, turns)
        results |= _alone(server, 3.0 if quick else 10.0)
    stores, notes = {}, [_NO_POSTGRESQL]
    if cluster.programs() is not None:
        stores, notes = _on_postgresql(3.0 if quick else 10.0), []
    reached = {
        "p99_ms": results["pairs, 1 KB bodies, at 750 a second"]["p99_ms"],
        "rounds_ms": results["choices among 100 x 384"]["p50_ms"],
    }
    goals = [
        Goal(f"{work}, pairs/s over half the echo's requests/s", ratio, *_AIMS[work], True)
        for work, ratio in ratios.items()
    ]
    return {
        "results": results | stores,
        "goals": goal_rows(goals),
        "reached": reached,
        "must": MUST,
        "notes": notes,
    }


Place = tuple[int, int]
"""A server's port and process id."""


def _pairs(server: Place, seconds: float, width: int = _WIDTH, rate: float = 0, **more: Any) -> dict[str, Any]:
    port, process = server
    order = {"connections": 32, **more}
    return load(process, work="pairs", port=port, seconds=seconds, width=width, rate=rate, **order)


def _batches(server: Place, seconds: float) -> dict[str, Any]:
    port, process = server
    return load(process, work="batches", port=port, seconds=seconds, width=_WIDTH, connections=4, size=100)


def _echoes(server: Place, seconds: float) -> dict[str, Any]:
    port, process = server
    return load(process, work="echoes", port=port, seconds=seconds, width=_WIDTH, connections=32)


def _beside_echo(
    server: Place, echo: Place, seconds: float, turns: int
) -> tuple[dict[str, dict[str, Any]], dict[str, Ratio]]:
    """Medians of turns that follow each other, and turn by turn how the service compares with the echo."""
    make_model(server[0], _WIDTH)
    found: dict[str, list[dict[str, Any]]] = {_ECHO: [], _PAIRS: [], _BATCHES: []}
    for turn in range(turns + 1):
        one = _echoes(echo, seconds), _pairs(server, seconds), _batches(server, seconds)
        # The first turn loads what is used later.
        if turn:
            for name, result in zip(found, one, strict=True):
                found[name].append(result)
    bare = np.array([one["pairs_per_second"] for one in found[_ECHO]]) / 2
    ratios = {}
    for name in (_PAIRS, _BATCHES):
        ours = np.array([one["pairs_per_second"] for one in found[name]])
        low, middle, high = np.quantile(ours / bare, (0.25, 0.5, 0.75))
        ratios[name] = Ratio(float(middle), float(low), float(high))
    return {name: _median(results) for name, results in found.items()}, ratios


def _median(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {field: statistics.median(one[field] for one in results) for field in results[0]}


def _alone(server: Place, seconds: float) -> dict[str, dict[str, Any]]:
    """Larger bodies, a fixed rate that is half of what was once aimed at, and one connection with long vectors."""
    port, process = server
    make_model(port, _WIDTHS["5 KB"])
    make_model(port, _LONG)
    results = {
        "pairs, 5 KB bodies": _pairs(server, seconds, _WIDTHS["5 KB"]),
        "pairs, 1 KB bodies, at 750 a second": _pairs(server, seconds, rate=750),
    }
    for items in (4, 100):
        order = {"port": port, "seconds": seconds / 2, "items": items, "width": _LONG}
        results[f"choices among {items} x {_LONG}"] = load(process, work="rounds", **order)
    return results


def _on_postgresql(seconds: float) -> dict[str, dict[str, Any]]:
    """The same pairs on PostgreSQL, and two models on one server against two servers of one store."""
    with _shared_store() as servers:
        first, second = servers
        make_model(first[0], _WIDTH)
        ask(first[0], "/v1/models", {"name": "other", "algorithm": "gnr", "features": {"dim": _WIDTH}})
        _pairs(first, 1.0)
        _pairs(second, 1.0, model="other")
        return {
            f"{_PAIRS}, PostgreSQL": _pairs(first, seconds),
            f"{_BATCHES}, PostgreSQL": _batches(first, seconds),
            "two models, one server, PostgreSQL": _together(first, first, seconds),
            "two models, two servers, PostgreSQL": _together(first, second, seconds),
        }


@contextmanager
def _shared_store() -> Iterator[tuple[Place, Place]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = stack.enter_context(cluster.running(free_port()))
        first = stack.enter_context(running(folder, store=store))
        yield first, stack.enter_context(running(folder, store=store))


def _together(first: Place, second: Place, seconds: float) -> dict[str, Any]:
    """Pairs of two models at once, 16 connections each: rates and processor time added up, delays of the slower."""
    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(_pairs, first, seconds, connections=16)
        two = threads.submit(_pairs, second, seconds, connections=16, model="other")
        a, b = one.result(), two.result()
    both = {field: max(a[field], b[field]) for field in a}
    both |= {field: a[field] + b[field] for field in ("done", "pairs_per_second", "load_cpu")}
    # Each has measured its whole server.
    both["server_cpu"] = max(a["server_cpu"], b["server_cpu"]) if first == second else a["server_cpu"] + b["server_cpu"]
    both["server_us"] = 1e6 * both["server_cpu"] * both["seconds"] / max(1, both["done"])
    return both


def table(measured: dict[str, Any]) -> str:
    """The results as lines for people."""
    heads = f"{'pairs/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'server CPU':>11} {'us/pair':>8} {'load CPU':>9}"
    lines = [f"{'work':40} {heads}"]
    lines += [
        f"{name:40} {one['pairs_per_second']:9.0f} {one['p50_ms']:8.1f} {one['p99_ms']:8.1f}"
        f" {one['server_cpu']:11.2f} {one['server_us']:8.0f} {one['load_cpu']:9.2f}"
        for name, one in measured["results"].items()
    ]
    for goal in measured["goals"]:
        aims = f"must {goal['must']:g}, better {goal['stretch']:g}"
        lines.append(f"{goal['what']}: {goal['shown']} ({aims}: {goal['verdict']})")
    return "\n".join(lines + measured["notes"])
