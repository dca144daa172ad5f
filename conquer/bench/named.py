"""Algorithms by name beside each other: what a choice and its answer cost, whoever wrote them."""

from collections.abc import Callable

import numpy as np

from conquer.bench.timing import each, race
from conquer.kernels.core import building
from conquer.registry import find

_DIM, _ITEMS = 100, 10


def _playing(name: str, rounds: int) -> Callable[[], float]:
    """choose and learn on the same dense rounds for every algorithm, by a learner that goes on from turn to turn."""
    learner, rng = find(name).build(_DIM), np.random.default_rng(0)
    fixed = rng.normal(size=(_ITEMS, _DIM)) / 10
    sets = [fixed if learner.fixed_arms else rng.normal(size=(_ITEMS, _DIM)) / 10 for _ in range(rounds)]

    def work() -> None:
        for ticket, X in enumerate(sets):
            choice = learner.choose(X, ticket)
            if choice.query:
                learner.learn(X, choice, 1.0)

    return each(work, rounds)


def table(names: tuple[str, ...], *, quick: bool) -> str:
    """Microseconds per round of each, and how many times the first one's, as lines of text."""
    building.insist()
    found = race({name: _playing(name, 50 if quick else 200) for name in names}, 5 if quick else 15)
    lines = [f"choose and learn, {_ITEMS} items of {_DIM} numbers, default model:"]
    lines += [f"{name:22} {found.spread(name)} us; {found.ratio(name, names[0])} times {names[0]}" for name in names]
    return "\n".join(lines)
