"""The arena: every algorithm in every world, tuned apart, compared on the same repetitions."""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from conquer.judges import LawJudge
from conquer.registry import make
from conquer.simulation import Trace, simulate
from conquer.study.arena.contenders import Contender, contender, names_of
from conquer.study.arena.page import thinned, verdicts, write_page
from conquer.study.arena.worlds import PRESETS, SETTINGS, Setting, World
from conquer.study.reviews.spec import key
from conquer.types import Floats, Learner, Query

_POINTS = 40
_REGRETS = {"Regret of the better shown": "weak", "Regret of both shown": "strong"}


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One learner in one world: (T,) regrets of the best shown and of all shown, questions, seconds (NaN: untimed)."""

    weak: Floats
    strong: Floats
    asked: int
    seconds: float


def play(learner: Learner, world: World, seed: int, *, covariance: str = "on-answer") -> Run:
    """Meet all rounds in order, call by call; answers come as late as the world says.

    `covariance="on-show"` counts a pair in the widths as soon as it is shown, as a Session does.

    >>> world = SETTINGS["linear"].make(0, "doctest", 0)
    >>> run = play(make("gnt", dim=10, model="full"), world, 0)
    >>> bool(run.weak[:100].mean() > run.weak[-100:].mean())
    True
    """
    start = time.perf_counter()
    trace = simulate(
        learner, world.rounds, judge=world.judges, seed=seed, delay=world.delay, covariance=covariance, compiled=False
    )
    return _run_of(trace, time.perf_counter() - start)


def _run_of(trace: Trace, seconds: float) -> Run:
    return Run(trace.regret, trace.strong_regret, int((trace.query != Query.NONE).sum()), seconds)


def tune(setting: Setting, entry: Contender, seed: int) -> dict[str, Any]:
    """The grid point with the least regret on worlds of their own."""
    short = replace(setting, rounds=max(int(setting.rounds * setting.share), 50))
    points = [{**entry.options(setting), **point} for point in entry.grid]
    if len(points) == 1:
        return points[0]
    costs = np.zeros(len(points))
    for repetition in range(setting.tuning):
        world = short.make(seed, "tune", repetition)
        costs += [meet(entry, point, world, repetition).weak.sum() for point in points]
    return points[int(costs.argmin())]


def meet(entry: Contender, point: Mapping[str, Any], world: World, seed: int, *, timed: bool = False) -> Run:
    """The contender's run: `play`, or unless `timed` the compiled loop, which gives the same regrets, where it can."""
    learner = make(entry.algorithm, dim=world.rounds.X.dim, **point)
    law = world.judge
    if timed or not learner.compiled or world.matrix is not None or world.flipped.any():
        return play(learner, world, seed, covariance=entry.covariance)
    trace = simulate(
        learner, world.rounds, judge=LawJudge(law.law, law.scale), seed=seed, delay=world.delay,
        covariance=entry.covariance,
    )  # fmt: skip
    return _run_of(trace, math.nan)


def cell(setting: Setting, algorithm: str, *, seed: int, repetitions: int) -> dict[str, Any]:
    """Everything measured of one algorithm in one world, JSON-able."""
    entry = contender(algorithm)
    point = tune(setting, entry, seed)
    runs = [meet(entry, point, setting.make(seed, "run", k), k, timed=k == 0) for k in range(repetitions)]
    curve = np.mean([np.cumsum(run.weak) for run in runs], axis=0)
    at = np.unique(np.linspace(1, setting.rounds, _POINTS).astype(int))
    return {
        "world": setting.name,
        "algorithm": algorithm,
        "group": "paper" if entry.ours else "rivals",
        "single": not make(entry.algorithm, dim=2).duels,
        "parameters": point,
        "weak": [round(float(run.weak.sum()), 4) for run in runs],
        "strong": [round(float(run.strong.sum()), 4) for run in runs],
        "query_rate": round(float(np.mean([run.asked / setting.rounds for run in runs])), 4),
        "microseconds": round(1e6 * runs[0].seconds / setting.rounds, 1),
        "curve": {"round": at.tolist(), "regret": [round(float(curve[t - 1]), 3) for t in at]},
    }


def _content(setting: Setting) -> dict[str, Any]:
    return {name: getattr(setting, name) for name in ("name", "rounds", "items", "dim", "tuning", "share")}


Task = tuple[Setting, str, dict[str, Any]]


def _key(task: Task) -> str:
    setting, algorithm, options = task
    entry = contender(algorithm)
    return key("arena", _content(setting), algorithm, [entry.options(setting), entry.covariance, *entry.grid], options)


def _finished(path: Path) -> dict[str, dict[str, Any]]:
    """Cells of an earlier run; a last line cut short is run again."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = {}
    for line in lines:
        if line.endswith("}}"):
            row = json.loads(line)
            found[row["key"]] = row["cell"]
    return found


def _cell(arguments: Task) -> dict[str, Any]:
    setting, algorithm, options = arguments
    return cell(setting, algorithm, **options)


def run_arena(
    out: str | Path,
    *,
    preset: str = "small",
    worlds: str | None = None,
    algorithms: str = "all",
    rounds: int | None = None,
    repetitions: int = 8,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Run all cells, write `out`/results.json, verdicts.md and the page arena.html, and return the page's path.

    Finished cells are kept in `out`/cells.jsonl under a key of their content, so an interrupted run goes on.

    `worlds`: names with commas in place of a preset's. `rounds`: in place of each world's own.
    """
    if worlds is None and preset not in PRESETS:
        raise ValueError(f"no preset {preset!r}; there are {', '.join(PRESETS)}")
    chosen = PRESETS[preset] if worlds is None else tuple(name.strip() for name in worlds.split(","))
    if unknown := [name for name in chosen if name not in SETTINGS]:
        raise ValueError(f"no world {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    if repetitions < 1:
        raise ValueError(f"repetitions must be at least 1, got {repetitions}")
    settings = [SETTINGS[name] if rounds is None else replace(SETTINGS[name], rounds=rounds) for name in chosen]
    options = {"seed": seed, "repetitions": repetitions}
    names = names_of(algorithms)
    work = [(setting, name, options) for setting in settings for name in names if contender(name).fits(setting)]
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = _finished(folder / "cells.jsonl")
    with (folder / "cells.jsonl").open("a") as file:
        left = [task for task in work if _key(task) not in done]
        for task, found in zip(left, _map(left, jobs), strict=True):
            done[_key(task)] = found
            # The line break comes first: a line cut short by a crash must not swallow the next.
            file.write("\n" + json.dumps({"key": _key(task), "cell": found}))
            file.flush()
            if progress:
                progress(f"{len(done)} cells, {len(left)} to do: {found['world']} {found['algorithm']}")
    cells = [done[_key(task)] for task in work]
    described = {s.name: {"text": s.text, **_content(s)} for s in settings}
    told = {**options, "worlds": described}
    lines = ",\n".join(json.dumps(found) for found in thinned(cells))
    (folder / "results.json").write_text(f'{{"settings": {json.dumps(told)},\n"cells": [\n{lines}\n]}}\n')
    tables = "\n\n".join(f"{title}\n\n{verdicts(cells, regret)}" for title, regret in _REGRETS.items())
    (folder / "verdicts.md").write_text(tables + "\n")
    return write_page(folder)


def _map(work: list[Task], jobs: int) -> Iterable[dict[str, Any]]:
    if jobs <= 1:
        yield from map(_cell, work)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_cell, work)
