"""The arena: every algorithm in every world, tuned apart, compared on the same repetitions."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from conquer.kernels.tickets import stream, tickets
from conquer.registry import ALGORITHMS, GROUPS, make
from conquer.study.arena_page import thinned, write_page
from conquer.study.arena_worlds import PRESETS, SETTINGS, Setting, World
from conquer.study.spec import key
from conquer.types import Choice, Floats

_POINTS = 40
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any], tuple[Mapping[str, Any], ...]]] = {
    "toptwo+forget": (
        "toptwo",
        {"model": "full", "estimator": "linear", "lam": 3.0},
        tuple({"forget": f} for f in (0.9, 0.95, 0.97, 0.98, 0.985, 0.99, 0.995, 0.999)),
    ),
    "pairucb+robust": (
        "pairucb",
        {"model": "full"},
        tuple({"robust": r, "eta": eta} for r in (0.05, 0.1, 0.2, 0.4) for eta in (0.1, 1.0)),
    ),
    "pairucb+aurora": (
        "pairucb",
        {"model": "full", "gate": "aurora"},
        tuple({"gate_eta": g, "eta": eta} for g in (1.0, 3.0, 10.0, 30.0) for eta in (0.1, 1.0)),
    ),
}
"""Options of rivals as contenders of their own: (algorithm, what is fixed, grid)."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One learner in one world: (T,) regrets of the best shown and of all shown, questions, seconds."""

    weak: Floats
    strong: Floats
    asked: int
    seconds: float


def play(learner: Any, world: World, seed: int) -> Run:
    """Meet all rounds in order; answers come as late as the world says, those left over are not learnt.

    >>> world = SETTINGS["linear"].make(0, "doctest", 0)
    >>> run = play(make("gnt", dim=10, model="full"), world, 0)
    >>> bool(run.weak[:100].mean() > run.weak[-100:].mean())
    True
    """
    rounds, size = world.rounds, len(world.rounds)
    own, judges = (tickets(stream(name, seed), 0, size) for name in ("policy", "judge"))
    weak, strong, asked = np.zeros(size), np.zeros(size), 0
    late: list[tuple[int, Choice, float]] = []
    start = time.perf_counter()
    for t in range(size):
        here = rounds[t]
        choice = learner.choose(here.items, int(own[t]))
        gaps = here.rewards.max() - here.rewards[list(choice.shown)]
        weak[t], strong[t] = gaps.min(), gaps.mean() * 2.0
        told = world.answer(t, choice, here.rewards, int(judges[t]))
        if told is not None:
            asked += 1
            late.append((t, choice, told))
        while late and late[0][0] <= t - world.delay:
            then, asked_then, answer = late.pop(0)
            learner.learn(rounds[then].items, asked_then, answer)
    return Run(weak, strong, asked, time.perf_counter() - start)


def options_for(setting: Setting, algorithm: str) -> dict[str, Any]:
    """The model an algorithm is given in a world: kernels where rewards are curved, else whole matrices, if it can."""
    if algorithm in VARIANTS:
        return dict(VARIANTS[algorithm][1])
    models = ALGORITHMS[algorithm].models
    wanted = "kernel" if setting.kernel else "full"
    options: dict[str, Any] = {"model": wanted if wanted in models else "full" if "full" in models else models[0]}
    if options["model"] == "kernel" and any(p.name == "scale" for p in ALGORITHMS[algorithm].parameters):
        options["scale"] = 4.0
    return options


def tune(setting: Setting, algorithm: str, *, seed: int, repetitions: int, share: float) -> dict[str, Any]:
    """The grid point with the least regret on worlds of their own, shorter by `share`."""
    short = replace(setting, rounds=max(int(setting.rounds * share), 50))
    fixed = options_for(setting, algorithm)
    name, _, points = VARIANTS.get(algorithm, (algorithm, {}, ()))
    grid = [dict(point) for point in points or ALGORITHMS[name].grid]
    if len(grid) == 1:
        return {**fixed, **grid[0]}
    costs = np.zeros(len(grid))
    for repetition in range(repetitions):
        world = short.make(seed, "tune", repetition)
        for k, point in enumerate(grid):
            costs[k] += play(make(name, dim=setting.dim, **fixed, **point), world, repetition).weak.sum()
    return {**fixed, **grid[int(costs.argmin())]}


def cell(setting: Setting, algorithm: str, *, seed: int, repetitions: int, tuning: int, share: float) -> dict[str, Any]:
    """Everything measured of one algorithm in one world, JSON-able."""
    point = tune(setting, algorithm, seed=seed, repetitions=tuning, share=share)
    name = VARIANTS[algorithm][0] if algorithm in VARIANTS else algorithm
    runs = []
    for repetition in range(repetitions):
        world = setting.make(seed, "run", repetition)
        runs.append(play(make(name, dim=setting.dim, **point), world, repetition))
    curve = np.mean([np.cumsum(run.weak) for run in runs], axis=0)
    at = np.unique(np.linspace(1, setting.rounds, _POINTS).astype(int))
    return {
        "world": setting.name,
        "algorithm": algorithm,
        "group": "rivals" if name in GROUPS["rivals"] else "paper",
        "single": not make(name, dim=2).duels,
        "parameters": point,
        "weak": [round(float(run.weak.sum()), 4) for run in runs],
        "strong": [round(float(run.strong.sum()), 4) for run in runs],
        "query_rate": round(float(np.mean([run.asked / setting.rounds for run in runs])), 4),
        "microseconds": round(1e6 * float(np.mean([run.seconds / setting.rounds for run in runs])), 1),
        "curve": {"round": at.tolist(), "regret": [round(float(curve[t - 1]), 3) for t in at]},
    }


def names_of(algorithms: str) -> tuple[str, ...]:
    """Names from "all", "rivals" (both with the variants), "paper" or a list with commas.

    >>> names_of("ttg,rucb")
    ('ttg', 'rucb')
    """
    names = GROUPS.get(algorithms) or tuple(name.strip() for name in algorithms.split(",") if name.strip())
    if algorithms in ("all", "rivals"):
        names += tuple(VARIANTS)
    if unknown := [name for name in names if name not in ALGORITHMS and name not in VARIANTS]:
        raise ValueError(f"no algorithm {', '.join(unknown)}; there are {', '.join([*ALGORITHMS, *VARIANTS])}")
    return names


Task = tuple[Setting, str, dict[str, Any]]


def _key(task: Task) -> str:
    setting, algorithm, options = task
    content = {name: getattr(setting, name) for name in ("name", "rounds", "items", "dim")}
    return key("arena", content, algorithm, options)


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
    tuning: int = 1,
    share: float = 0.5,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Run all cells, write `out`/results.json and the page `out`/arena.html, and return the page's path.

    Finished cells are kept in `out`/cells.jsonl under a key of their content, so an interrupted run goes on.

    `worlds`: names with commas in place of a preset's. `rounds`: in place of each world's own. `tuning`: how many
    worlds every grid point is tried on, each `share` as long as the real ones.
    """
    if worlds is None and preset not in PRESETS:
        raise ValueError(f"no preset {preset!r}; there are {', '.join(PRESETS)}")
    chosen = PRESETS[preset] if worlds is None else tuple(name.strip() for name in worlds.split(","))
    if unknown := [name for name in chosen if name not in SETTINGS]:
        raise ValueError(f"no world {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    if min(repetitions, tuning) < 1 or not 0 < share <= 1:
        raise ValueError(f"repetitions, tuning >= 1 and share in (0, 1], got {repetitions}, {tuning}, {share}")
    settings = [SETTINGS[name] if rounds is None else replace(SETTINGS[name], rounds=rounds) for name in chosen]
    options = {"seed": seed, "repetitions": repetitions, "tuning": tuning, "share": share}
    names = names_of(algorithms)
    work = [
        (setting, name, options) for setting in settings for name in names if setting.fixed or not _fixed_arms(name)
    ]
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
    described = {s.name: {"text": s.text, "rounds": s.rounds, "items": s.items, "dim": s.dim} for s in settings}
    told = {**options, "worlds": described}
    lines = ",\n".join(json.dumps(found) for found in thinned(cells))
    (folder / "results.json").write_text(f'{{"settings": {json.dumps(told)},\n"cells": [\n{lines}\n]}}\n')
    return write_page(folder)


def _fixed_arms(name: str) -> bool:
    return name in ALGORITHMS and bool(getattr(make(name, dim=2), "fixed_arms", False))


def _map(work: list[Task], jobs: int) -> Iterable[dict[str, Any]]:
    if jobs <= 1:
        yield from map(_cell, work)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_cell, work)
