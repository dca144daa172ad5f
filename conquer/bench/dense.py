"""The full matrix beside BLAS and beside packages that keep one: K dense items, or one context and K arms."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conquer.bench.timing import Race, each, race
from conquer.registry import make
from conquer.rows import Rounds
from conquer.simulation import simulate
from conquer.types import Floats

ITEMS = 10
OURS = ("ttg", "gnr", "gnw", "gnu", "gnc")
LARGEST = {"mabwiser": 1000, "contextualbandits": 1000, "river": 100, "bayesianbandits": 100}
"""The largest D each rival is measured at: beyond it a single decision takes them seconds."""


def with_blas(dim: int, columns: int, rounds: int) -> Callable[[], float]:
    """The least that anyone would do: A^-1 times one vector or K of them, and one symmetric rank-one update."""
    from scipy.linalg import blas

    matrix = np.asfortranarray(np.eye(dim))
    x: Any = np.asfortranarray(np.random.default_rng(0).normal(size=(dim, columns)) / np.sqrt(dim))

    def work() -> None:
        for _ in range(rounds):
            if columns == 1:
                blas.dsymv(1.0, matrix, x[:, 0], lower=1)
            else:
                blas.dsymm(1.0, matrix, x, lower=1)
            blas.dsyr(-1e-9, x[:, 0], a=matrix, lower=1, overwrite_a=1)

    return each(work, rounds)


def _mabwiser(contexts: Floats) -> Callable[[], None]:
    from mabwiser.mab import MAB, LearningPolicy

    model = MAB(list(range(ITEMS)), LearningPolicy.LinUCB(alpha=1.0))
    model.fit(list(range(ITEMS)), [0.0] * ITEMS, contexts[:ITEMS])

    def work() -> None:
        for context in contexts:
            model.partial_fit([model.predict(context[None])], [1.0], context[None])

    return work


def _river(contexts: Floats) -> Callable[[], None]:
    from river import bandit

    model = bandit.LinUCBDisjoint(alpha=1.0, seed=1)
    named = [dict(enumerate(context.tolist())) for context in contexts]
    arms: list[int | str] = [*range(ITEMS)]

    def work() -> None:
        for context in named:
            model.update(model.pull(arms, context=context), context, 1.0)

    return work


def _contextualbandits(contexts: Floats) -> Callable[[], None]:
    from contextualbandits.online import LinUCB

    model = LinUCB(nchoices=ITEMS, alpha=1.0, random_state=1)
    model.fit(contexts[:ITEMS], np.arange(ITEMS), np.ones(ITEMS))

    def work() -> None:
        for context in contexts:
            model.partial_fit(context[None], model.predict(context[None]), np.ones(1))

    return work


def _bayesianbandits(contexts: Floats) -> Callable[[], None]:
    from bayesianbandits import Arm, ContextualAgent, NormalRegressor, UpperConfidenceBound

    arms = [Arm(i, learner=NormalRegressor(alpha=1.0, beta=1.0)) for i in range(ITEMS)]
    model = ContextualAgent(arms, UpperConfidenceBound(alpha=0.84), random_seed=1)

    def work() -> None:
        for context in contexts:
            model.pull(context[None])
            model.update(context[None], np.ones(1))

    return work


RIVALS = {
    "mabwiser LinUCB": _mabwiser,
    "river LinUCB": _river,
    "contextualbandits LinUCB": _contextualbandits,
    "bayesianbandits UCB": _bayesianbandits,
}
"""Each keeps one D x D matrix per arm over a shared context: K arms stand for K items."""


def rounds_of(dim: int, count: int) -> Rounds:
    """`count` rounds over dense unit rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    sets = np.array([rng.choice(100, ITEMS, replace=False) for _ in range(count)])
    return Rounds(X, sets, rng.random(100) * 2 - 1)


def ours(name: str, rounds: Rounds) -> Callable[[], float]:
    """The compiled simulation with a full matrix."""
    learner = make(name, dim=rounds.X.dim, model="full")
    return each(lambda: simulate(learner, rounds, seed=0), len(rounds))


def measure(*, quick: bool, note: Callable[[str], None]) -> tuple[dict[str, Race], list[str]]:
    """{D: race with BLAS, "D, packages": race with the rivals}, and the rivals that are not installed.

    The rivals race apart: threads that they leave behind wait for work in a loop for a while, and that is counted.
    """
    races = {}
    missing: set[str] = set()
    for dim in (100, 1000) if quick else (100, 1000, 3000):
        note(f"full matrix, D = {dim}")
        size = max(8, min(5000, 200_000_000 // dim**2))
        rounds = rounds_of(dim, size)
        field: dict[str, Callable[[], float]] = {name: ours(name, rounds) for name in OURS}
        field["dsymv + dsyr"] = with_blas(dim, 1, size)
        field["dsymm + dsyr"] = with_blas(dim, ITEMS, size)
        races[f"D = {dim}"] = race(field, 3 if quick else 9)
        rivals, absent = packages(dim)
        missing |= absent
        if rivals:
            few = rounds_of(dim, min(size, 100))
            races[f"D = {dim}, packages"] = race({"gnu": ours("gnu", few), **rivals}, 3)
    return races, sorted(missing)


def packages(dim: int) -> tuple[dict[str, Callable[[], float]], set[str]]:
    """The rivals that are measured at this size, and those of them that are not installed.

    They take milliseconds to seconds per decision: ten are enough.
    """
    contexts = np.random.default_rng(1).normal(size=(ITEMS, dim)) / np.sqrt(dim)
    field: dict[str, Callable[[], float]] = {}
    missing: set[str] = set()
    for name, build in RIVALS.items():
        package = name.split()[0]
        if dim <= LARGEST[package]:
            try:
                field[name] = each(build(contexts), len(contexts))
            except ImportError:
                missing.add(package)
    return field, missing
