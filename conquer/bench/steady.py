"""Whether the service stays as fast with a thousand models in memory and a million rows in a log.

    python -m conquer.bench.steady [--quick] [FOLDER]

FOLDER holds the sources of another version: it is measured in turn with this one, and the spread of that version
against itself says which ratios mean something.
"""

import json
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from conquer.bench.servers import ask, cpu_seconds, load, make_model, running

_WIDTH = 32
_CROWDS = ((1, 0), (100, 0), (1000, 0), (1, 100_000), (1, 1_000_000))
_QUICK = ((1, 0), (50, 0), (1, 10_000))
"""(models in memory, rows in the log of the one that is asked)."""
_FIELDS = ("pairs_per_second", "cpu_us_a_pair", "p50_ms", "p99_ms", "list_ms", "megabytes")
_ITEMS = [{"id": f"i{k}", "vector": [0.1 * k] * _WIDTH} for k in range(5)]


@contextmanager
def crowded(folder: Path, tree: Path | None, models: int, rows: int) -> Iterator[tuple[int, int]]:
    """(port, process id) of a server with that many models in memory and that many rows in the first one's log."""
    if rows:
        with running(folder, tree) as (port, _):
            make_model(port, _WIDTH)
            _answer(port, f"bench-{_WIDTH}")
        grow(folder / "bench.db", rows)
    with running(folder, tree) as (port, process):
        if not rows:
            make_model(port, _WIDTH)
        for number in range(1, models):
            # Models as they come: default size, an answer each.
            ask(port, "/v1/models", {"name": f"other-{number}", "algorithm": "gnr"})
            _answer(port, f"other-{number}")
        yield port, process


def _answer(port: int, model: str) -> None:
    event = ask(port, f"/v1/models/{model}/choose", {"items": _ITEMS})["event_id"]
    ask(port, f"/v1/models/{model}/events/{event}/answer", {"winner": "i0"})


def grow(store: Path, rows: int) -> None:
    """Repeat a stopped server's one round until its log has `rows` rows; its snapshot comes after all of them."""
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


def measure(port: int, process: int, seconds: float) -> dict[str, float]:
    """One turn: pairs a second of 32 connections and what they cost, delays of one alone, the list, memory."""
    common = {"port": port, "seconds": seconds, "width": _WIDTH, "rate": 0}
    before = cpu_seconds(process)
    busy = load(process, work="pairs", connections=32, **common)
    cpu = 1e6 * (cpu_seconds(process) - before) / (seconds * busy["pairs_per_second"])
    alone = load(process, work="pairs", connections=1, **common)
    started = time.perf_counter()
    ask(port, "/v1/models")
    took = 1e3 * (time.perf_counter() - started)
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    dirty = re.search(r"Private_Dirty: +(\d+)", rollup)
    memory = int(dirty[1]) / 1024 if dirty else 0.0
    values = busy["pairs_per_second"], cpu, alone["p50_ms"], alone["p99_ms"], took, memory
    return dict(zip(_FIELDS, values, strict=True))


def run(quick: bool = False, other: Path | None = None) -> dict[str, Any]:
    """For each crowd the turns of this version ("new") and of the other ("old"), if there is one. JSON-able."""
    seconds, turns = (1.0, 2) if quick else (3.0, 4)
    versions = {"new": None} if other is None else {"old": other, "new": None}
    results: dict[str, Any] = {}
    for models, rows in _QUICK if quick else _CROWDS:
        with ExitStack() as stack:
            servers = {}
            for name, tree in versions.items():
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                servers[name] = stack.enter_context(crowded(folder, tree, models, rows))
                measure(*servers[name], 1.0)  # the first seconds load what is used later
            found: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
            for _ in range(turns):
                for name, server in servers.items():
                    found[name].append(measure(*server, seconds))
        results[f"{models:,} models, {rows:,} rows"] = found
    return results


def table(results: dict[str, Any]) -> str:
    """Medians, and with another version new against old beside the largest step of old against old."""
    lines = [f"{'':24} {'':10}" + "".join(f"{field.replace('_', ' '):>18}" for field in _FIELDS)]
    for crowd, found in results.items():
        for name, turns in found.items():
            lines.append(_line(crowd, name, [statistics.median(turn[field] for turn in turns) for field in _FIELDS]))
        if "old" in found:
            new, old = found["new"], found["old"]
            ratios = [statistics.median(a[f] / b[f] for a, b in zip(new, old, strict=True)) for f in _FIELDS]
            lines.append(_line(crowd, "new / old", ratios))
            spread = [max(max(a[f] / b[f], b[f] / a[f]) for a, b in pairwise(old)) for f in _FIELDS]
            lines.append(_line(crowd, "old / old", spread))
    return "\n".join(lines)


def _line(crowd: str, name: str, values: list[float]) -> str:
    return f"{crowd:24} {name:10}" + "".join(f"{value:18.2f}" for value in values)


def main() -> None:
    """Measure, print the table and every turn."""
    words = [word for word in sys.argv[1:] if word != "--quick"]
    results = run("--quick" in sys.argv, Path(words[0]).absolute() if words else None)
    print(f"load {os.getloadavg()}", table(results), json.dumps(results), sep="\n")


if __name__ == "__main__":
    main()
