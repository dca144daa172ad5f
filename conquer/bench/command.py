"""The whole benchmark in one run: measure, compare with the goals, write bench.json, a table and the growth plots."""

import importlib
import json
import os
import platform
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from conquer.bench import cold, decisions, dense, everyday, footprint, growth, report, texts
from conquer.bench.timing import cores
from conquer.kernels.core import building

_PACKAGES = (
    "numpy", "numba", "scipy", "scikit-learn", "vowpalwabbit", "river", "mabwiser", "contextualbandits",
    "bayesianbandits",
)  # fmt: skip


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _note(text: str) -> None:
    print(f"measuring: {text}", flush=True)


def measure_all(*, quick: bool) -> dict[str, Any]:
    """Every measurement but the service's, JSON-able."""
    from conquer.simulation import warm

    load = os.getloadavg()
    _note("(compiling first, where needed)")
    for _ in warm():
        pass
    building.insist()
    with tempfile.TemporaryDirectory() as folder:
        sparse, missing = decisions.measure(Path(folder), decisions.QUICK if quick else decisions.FULL, _note)
    full, also_missing = dense.measure(quick=quick, note=_note)
    goals = report.decision_goals(sparse[report.MAIN]) + report.matrix_goals(
        full["D = 1000"], full.get("D = 1000, packages")
    )
    _note("everyday paths")
    usual = everyday.measure(quick=quick)
    goals += report.everyday_goals(usual)
    grown = growth.measure(quick=quick, note=_note)
    _note("files, memory, text")
    return {
        "quick": quick,
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": load,
        "one_core": bool(cores()),
        "clock": "processor time of this process, all threads",
        "versions": _versions(),
        "goals": report.goal_rows(goals),
        "parts": report.part_rows(sparse[report.MAIN]),
        "races": {
            **{f"decisions, {name}": report.race_rows(race) for name, race in sparse.items()},
            **{f"full matrix, {name}": report.race_rows(race) for name, race in full.items()},
        },
        "everyday": report.everyday_rows(usual),
        "growth": report.growth_rows(grown),
        "files": footprint.measure(quick=quick),
        "texts": texts.measure(quick=quick),
        "cannot": decisions.CANNOT,
        "largest": dense.LARGEST,
        "missing": sorted({*missing, *also_missing}),
    }


def run_bench(*, quick: bool, service: bool, out: Path) -> int:
    """Measure, print the table and write `out`/bench.json, bench.md and growth.png; returns an exit code."""
    importlib.import_module("scipy.linalg")  # the limit reaches only what has been loaded
    limits = importlib.import_module("threadpoolctl").threadpool_limits
    out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with limits(1):  # BLAS competes on equal terms
        results = measure_all(quick=quick)
    results["cold"] = cold.measure(before=not quick, service=service, note=_note)
    lines = f"{report.table(results)}\n{cold.table(results['cold'])}\n"
    if service:
        from conquer.bench import service as serving
        from conquer.bench import steady

        results["service"], results["steady"] = serving.run(quick), steady.run(quick)
        lines += f"\n```\n{serving.table(results['service'])}\n```\n\n```\n{steady.table(results['steady'])}\n```\n"
    results["seconds"] = time.perf_counter() - start
    (out / "bench.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "bench.md").write_text(lines)
    from conquer.study.plots.bench import draw_growth

    draw_growth(results["growth"], out / "growth.png")
    print(lines)
    print(f"written to {out}: bench.json, bench.md, growth.png ({results['seconds']:.0f} s)")
    return 0
