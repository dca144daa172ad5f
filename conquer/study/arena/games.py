"""One algorithm in one world: tuned on worlds apart, then measured on the repetitions that all others meet."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conquer.judges import LawJudge
from conquer.metrics import half_width
from conquer.registry import make
from conquer.simulation import Trace, simulate
from conquer.study.arena.contenders import Contender, contender
from conquer.study.arena.worlds import ArenaWorld, Setting
from conquer.types import Floats, Learner, Query

_POINTS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """One learner in one world: (T,) regrets of the best shown and of all shown, questions, seconds (NaN: untimed)."""

    weak: Floats
    strong: Floats
    asked: int
    seconds: float


def play(learner: Learner, world: ArenaWorld, seed: int) -> Game:
    """Meet all rounds in order, call by call; answers come as late as the world says.

    >>> from conquer.study.arena.worlds import SETTINGS
    >>> world = SETTINGS["linear"].make(0, "doctest", 0)
    >>> game = play(make("gnt", dim=10, model="full"), world, 0)
    >>> bool(game.weak[:100].mean() > game.weak[-100:].mean())
    True
    """
    start = time.perf_counter()
    trace = simulate(learner, world.rounds, judge=world.judges, seed=seed, delay=world.delay, compiled=False)
    return _game(trace, time.perf_counter() - start)


def _game(trace: Trace, seconds: float) -> Game:
    return Game(trace.regret, trace.strong_regret, int((trace.query != Query.NONE).sum()), seconds)


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


def meet(entry: Contender, point: Mapping[str, Any], world: ArenaWorld, seed: int, *, timed: bool = False) -> Game:
    """The contender's game: `play`, or unless `timed` the compiled loop, which gives the same regrets, where it can."""
    learner = make(entry.algorithm, dim=world.rounds.X.dim, **point)
    law = world.judge
    if timed or not learner.compiled or world.matrix is not None or world.flipped.any():
        return play(learner, world, seed)
    judge = LawJudge(law.law, law.scale)
    trace = simulate(learner, world.rounds, judge=judge, seed=seed, delay=world.delay)
    return _game(trace, math.nan)


def cell(setting: Setting, algorithm: str, *, seed: int, repetitions: int) -> dict[str, Any]:
    """Everything measured of one algorithm in one world, JSON-able."""
    entry = contender(algorithm)
    point = tune(setting, entry, seed)
    games = [meet(entry, point, setting.make(seed, "run", k), k, timed=k == 0) for k in range(repetitions)]
    runs = np.array([np.cumsum(game.weak) for game in games])
    curve, half = runs.mean(axis=0), half_width(runs) if repetitions > 1 else np.zeros(setting.rounds)
    at = np.unique(np.linspace(1, setting.rounds, _POINTS).astype(int))
    return {
        "world": setting.name,
        "algorithm": algorithm,
        "group": "paper" if entry.ours else "rivals",
        "published": entry.published,
        "single": not make(entry.algorithm, dim=2).duels,
        "parameters": point,
        "weak": [round(float(game.weak.sum()), 4) for game in games],
        "strong": [round(float(game.strong.sum()), 4) for game in games],
        "query_rate": round(float(np.mean([game.asked / setting.rounds for game in games])), 4),
        "microseconds": round(1e6 * games[0].seconds / setting.rounds, 1),
        "curve": {
            "round": at.tolist(),
            "regret": [round(float(curve[t - 1]), 3) for t in at],
            "half": [round(float(half[t - 1]), 3) for t in at],
        },
    }
