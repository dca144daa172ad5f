"""Run the benchmark: measure, compare with the goals, print a table and write bench.json."""

import argparse
import json
import os
import platform
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import cold, decisions, everyday, matrix
from benchmarks.timing import Goal, Race, cores

_PACKAGES = ("numpy", "numba", "scipy", "vowpalwabbit")


def main() -> None:
    """Parse the command line, measure, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns: about a minute, wider spreads")
    parser.add_argument("--service", action="store_true", help="measure the service instead of the library")
    parser.add_argument("--peer", type=Path, help="file with a FastAPI app to compare the service with")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of bench.json")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    start, load = time.perf_counter(), os.getloadavg()[0]
    races: dict[str, Race] = {}
    service_rows: dict[str, dict[str, float]] = {}
    if options.service:
        from benchmarks import service

        note("service")
        service_rows, goals = service.measure(quick=options.quick, other=options.peer)
        seconds = cold.measure_server()
    else:
        races, goals, seconds = _measure(options.quick)
    results: dict[str, Any] = {
        "quick": options.quick,
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": load,
        "versions": {name: _version(name) for name in _PACKAGES},
    }
    results |= {
        "service": service_rows,
        "goals": [goal.row() for goal in goals],
        "races": {name: race.rows() for name, race in races.items()},
        "cold_seconds": seconds,
        "seconds": time.perf_counter() - start,
    }
    (options.out / "bench.json").write_text(json.dumps(results, indent=1) + "\n")
    print(_table(results, goals, races))
    print(f"{options.out / 'bench.json'} written after {results['seconds']:.0f} s")


def note(text: str) -> None:
    """Print the name of the next measurement."""
    print(f"measuring: {text}", flush=True)


def _measure(quick: bool) -> tuple[dict[str, Race], list[Goal], dict[str, float]]:
    """Every measurement except the service's: races, goals, and seconds of cold starts."""
    import scipy.linalg  # noqa: F401 - the thread limit reaches only libraries that are loaded
    from threadpoolctl import threadpool_limits

    note("cold starts")
    seconds = cold.measure()
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        note("decisions over sparse features")
        sparse = decisions.measure(Path(folder), decisions.QUICK if quick else decisions.FULL)
        note("decisions with a full matrix")
        full = matrix.measure(quick=quick)
        note("ask and tell")
        usual = everyday.measure(quick=quick)
    goals = decisions.goals(sparse) + matrix.goals(full) + everyday.goals(usual)
    return {"sparse decisions": sparse, "full matrix": full, "ask + tell": usual}, goals, seconds


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _table(results: dict[str, Any], goals: list[Goal], races: dict[str, Race]) -> str:
    """The results as Markdown."""
    where = "one core" if cores() else "any core (no sched_setaffinity here)"
    lines = [f"Load {results['load']:.1f} on {results['cores']} cores; processor time of all threads; {where}.", ""]
    lines += ["| goal | ratio (middle half of the turns) | target | reached |", "|---|---|---|---|"]
    lines += [goal.line() for goal in goals]
    for title, race in races.items():
        lines += ["", f"**{title}**, microseconds a round: median (middle half)", "", "| contender | us |", "|---|---|"]
        lines += [f"| {name} | {race.spread(name)} |" for name in race.turns]
    lines += ["", "| cold start | seconds |", "|---|---|"]
    lines += [f"| {name} | {value:.2f} |" for name, value in results["cold_seconds"].items()]
    for name, row in results.get("service", {}).items():
        lines.append(f"- {name}: " + ", ".join(f"{key} {value:,.3g}" for key, value in row.items()))
    lines += [f"- {name} is not installed" for name, found in results["versions"].items() if found is None]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
