"""The arena: every algorithm in every world, tuned on separate worlds, compared on the same repetitions."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from conquer.judges import LawJudge
from conquer.metrics import half_width
from conquer.registry import make
from conquer.simulation import simulate
from conquer.study.arena.contenders import Contender, contender, names_of
from conquer.study.arena.spec import ArenaSpec
from conquer.study.arena.worlds import PRESETS, SETTINGS, ArenaPreset, ArenaWorld, Setting
from conquer.study.command import run_command
from conquer.study.runner import Row, key
from conquer.types import Floats, Query

_METHOD = 2
"""Incremented when the same contender would give other numbers, so that cells of another method are not reused."""
_POINTS = 40
_COMPILED, _CALLED, _RIVAL, _KERNEL = 0.02, 0.2, 1.0, 10.0
"""Milliseconds of a round, by how it is run; and the factor of a kernel model."""


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """One learner in one world: (T,) regrets of the better and of both shown, questions, seconds."""

    weak: Floats
    strong: Floats
    questions: int
    seconds: float


def tune(setting: Setting, entry: Contender, seed: int) -> dict[str, Any]:
    """The grid point with the least regret on separate worlds."""
    short = replace(setting, rounds=max(int(setting.rounds * setting.share), 50))
    points = [{**entry.options(setting), **point} for point in entry.grid]
    if len(points) == 1:
        return points[0]
    costs = np.zeros(len(points))
    for repetition in range(setting.tuning):
        world = short.make(seed, "tune", repetition)
        costs += [run_game(entry, point, world, repetition).weak.sum() for point in points]
    return points[int(costs.argmin())]


def run_game(entry: Contender, point: Mapping[str, Any], world: ArenaWorld, seed: int, *, timed: bool = False) -> Game:
    """The contender's game, by the compiled loop where it is possible and not `timed`; both give the same regrets.

    >>> game = run_game(contender("gnt"), {"model": "full"}, SETTINGS["linear"].make(0, "doctest", 0), 0)
    >>> bool(game.weak[:100].mean() > game.weak[-100:].mean())
    True
    """
    learner = make(entry.algorithm, dim=world.rounds.X.dim, **point)
    compiled = not timed and learner.compiled and world.matrix is None and not world.flipped.any()
    judge = LawJudge(world.judge.law, world.judge.scale) if compiled else world.judges
    start = time.perf_counter()
    trace = simulate(learner, world.rounds, judge=judge, seed=seed, delay=world.delay, compiled=compiled)
    questions = int((trace.query != Query.NONE).sum())
    return Game(trace.regret, trace.strong_regret, questions, time.perf_counter() - start)


@dataclass(frozen=True, slots=True)
class Match:
    """One cell: an algorithm in a world, which is sent by name and length because its builder cannot be pickled."""

    world: str
    rounds: int
    algorithm: str
    seed: int
    repetitions: int

    @property
    def setting(self) -> Setting:
        return replace(SETTINGS[self.world], rounds=self.rounds)

    @property
    def name(self) -> str:
        """A hash of what the cell's numbers depend on."""
        entry, setting = contender(self.algorithm), self.setting
        fixed = [entry.options(setting), *entry.grid]
        options = {"seed": self.seed, "repetitions": self.repetitions}
        return key("arena", _METHOD, setting.described(), self.algorithm, fixed, options)

    @property
    def cost(self) -> float:
        """Milliseconds, roughly."""
        setting, entry = self.setting, contender(self.algorithm)
        tuning = setting.tuning * setting.share * len(entry.grid) if len(entry.grid) > 1 else 0
        compiled = entry.ours and not setting.fixed and self.world != "corrupted"
        one = _COMPILED if compiled else _CALLED if entry.ours else _RIVAL
        return setting.rounds * (one * (self.repetitions + tuning) + _CALLED) * (_KERNEL if setting.kernel else 1.0)


def settings_of(spec: ArenaSpec) -> list[Setting]:
    """The worlds of an arena.

    >>> [setting.rounds for setting in settings_of(ArenaSpec(worlds=("linear", "arms"), rounds=60))]
    [60, 60]
    """
    preset = _preset(spec)
    if unknown := [name for name in preset.worlds if name not in SETTINGS]:
        raise ValueError(f"unknown world {', '.join(unknown)}; worlds are {', '.join(SETTINGS)}")
    rounds = spec.rounds or preset.rounds
    return [replace(SETTINGS[name], rounds=rounds or SETTINGS[name].rounds) for name in preset.worlds]


def _preset(spec: ArenaSpec) -> ArenaPreset:
    """The settings that a specification leaves to its preset."""
    if spec.worlds is not None:
        return ArenaPreset(spec.worlds)
    if spec.preset not in PRESETS:
        raise ValueError(f"unknown preset {spec.preset!r}; presets are {', '.join(PRESETS)}")
    return PRESETS[spec.preset]


def matches_of(spec: ArenaSpec) -> list[Match]:
    """Every cell of an arena, world by world."""
    names = names_of(spec.algorithms or _preset(spec).algorithms)
    return [
        Match(setting.name, setting.rounds, name, spec.seed, spec.repetitions)
        for setting in settings_of(spec)
        for name in names
        if contender(name).fits(setting)
    ]


def measure(match: Match) -> list[Row]:
    """The row of one match: its tuned parameters, regrets, questions, microseconds per round and regret curve."""
    entry, setting, repetitions = contender(match.algorithm), match.setting, match.repetitions
    point = tune(setting, entry, match.seed)
    games = [run_game(entry, point, setting.make(match.seed, "run", k), k, timed=k == 0) for k in range(repetitions)]
    runs = np.array([np.cumsum(game.weak) for game in games])
    curve, half = runs.mean(axis=0), half_width(runs) if repetitions > 1 else np.zeros(setting.rounds)
    at = np.unique(np.linspace(1, setting.rounds, _POINTS).astype(int))
    row = {
        "world": setting.name,
        "algorithm": match.algorithm,
        "group": "paper" if entry.ours else "rivals",
        "published": entry.published,
        "single": not make(entry.algorithm, dim=2).duels,
        "parameters": point,
        "weak": [round(float(game.weak.sum()), 4) for game in games],
        "strong": [round(float(game.strong.sum()), 4) for game in games],
        "query_rate": round(float(np.mean([game.questions / setting.rounds for game in games])), 4),
        "microseconds": round(1e6 * games[0].seconds / setting.rounds, 1),
        "curve": {
            "round": at.tolist(),
            "regret": [round(float(curve[t - 1]), 3) for t in at],
            "half": [round(float(half[t - 1]), 3) for t in at],
        },
    }
    return [row]


def run_arena(
    spec: ArenaSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "arena",
    overwrite: bool = False,
) -> Path:
    """What `conquer arena` does: run an arena in the folder `out` and return the path of its page."""
    from conquer.study.arena import report

    return run_command(
        spec, matches_of, measure, report.write, kind="arena", page="arena.html", jobs=jobs, cluster=cluster, out=out,
        overwrite=overwrite,
    )  # fmt: skip
