"""Regret of the paper's parser on a treebank whose rewards are linear, where its theorem speaks."""

from dataclasses import dataclass

import numpy as np

from conquer.kernels import tickets
from conquer.models.full import Full
from conquer.parsing.learner import EdgeLearner, Rule
from conquer.parsing.mst import best_tree
from conquer.types import Floats


@dataclass(frozen=True, slots=True)
class LinearRun:
    """Cumulative `regret` after each of `rounds`: reward of the best tree minus that of the learner's tree."""

    rounds: tuple[int, ...]
    regret: tuple[float, ...]
    norm: float


def _table(flat: Floats, size: int) -> Floats:
    table = np.zeros((size + 1, size + 1))
    table[1:][~np.eye(size + 1, dtype=bool)[1:]] = flat
    return table


def linear_regret(
    rounds: int, dim: int, size: int, *, seed: int = 0, ask: str = "confusion", marks: int = 10, lam: float = 1.0
) -> LinearRun:
    """Ask about `rounds` sentences of `size` words with fresh unit features in `dim` dimensions.

    An edge's reward is u* . phi for one unit vector u*, a tree's is the mean of its edges; the answer prefers the
    first tree with chance (1 + difference / 2) / 2. Full matrix, tree scaling and projection, as in the listing.

    >>> run = linear_regret(50, 2, 2)
    >>> run.rounds[-1], run.regret[-1] <= 2 * 50
    (50, True)
    """
    rng = np.random.default_rng(tickets.stream("linear treebank", seed, dim, size))
    truth = rng.normal(size=dim)
    truth /= np.linalg.norm(truth)
    learner = EdgeLearner(Full(dim, lam=lam, projection="sequential"), Rule(ask=ask, scale="tree"))
    ends = sorted({int(end) for end in np.rint(np.geomspace(min(100, rounds), rounds, marks))})
    words = np.arange(1, size + 1)
    total, sums = 0.0, []
    for t in range(1, rounds + 1):
        X = rng.normal(size=(size * size, dim))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        rewards = _table(X @ truth, size)
        choice = learner.choose(X, rng)
        mine = learner.tree(X)
        best = best_tree(rewards)
        total += float(rewards[words, best].mean() - rewards[words, mine].mean())
        if len(choice.shown) == 2:
            first, second = (X[edge] @ truth for edge in choice.shown)
            prefers = rng.random() < 0.5 * (1.0 + 0.5 * (first - second) / size)
            learner.learn(X, choice, 1.0 if prefers else -1.0)
        if t in ends:
            sums.append(total)
    return LinearRun(tuple(ends), tuple(sums), float(np.linalg.norm(truth)))
