"""Theorem 2: the regret of the paper's parser, on sentences whose rewards are linear, stays below the bound."""

import numpy as np

from conquer import tickets
from conquer.models.full import Full
from conquer.parsing.learner import EdgeLearner, EdgeRule
from conquer.parsing.trees import best_tree
from conquer.rows import as_rows
from conquer.theory import theorem2


def table_of(flat, size):
    table = np.zeros((size + 1, size + 1))
    table[1:][~np.eye(size + 1, dtype=bool)[1:]] = flat
    return table


def linear_regret(rounds, dim, size, *, seed, marks):
    """Ask about `rounds` sentences of `size` words with fresh unit features in `dim` dimensions.

    An edge's reward is u* . phi for one unit vector u*, a tree's is the mean of its edges; the answer prefers the
    first tree with chance (1 + difference / 2) / 2. Full matrix, tree scaling and projection, as in the listing.

    """
    rng = np.random.default_rng(tickets.stream("linear treebank", seed, dim, size))
    truth = rng.normal(size=dim)
    truth /= np.linalg.norm(truth)
    learner = EdgeLearner(Full(dim, projection="sequential"), EdgeRule(ask="confusion", scale="tree"))
    ends = sorted({int(end) for end in np.rint(np.geomspace(min(100, rounds), rounds, marks))})
    words = np.arange(1, size + 1)
    total, sums = 0.0, []
    for t in range(1, rounds + 1):
        X = rng.normal(size=(size * size, dim))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        rewards = table_of(X @ truth, size)
        edges = as_rows(X, dim)
        choice = learner.choose(edges, rng)
        mine = learner.tree(edges)
        best = best_tree(rewards)
        total += float(rewards[words, best].mean() - rewards[words, mine].mean())
        if len(choice.shown) == 2:
            first, second = (X[edge] @ truth for edge in choice.shown)
            prefers = rng.random() < 0.5 * (1.0 + 0.5 * (first - second) / size)
            learner.learn(edges, choice, 1.0 if prefers else -1.0)
        if t in ends:
            sums.append(total)
    return ends, sums


def test_regret_is_below_the_bound_and_grows_slower_than_time():
    ends, sums = linear_regret(3000, 2, 2, seed=1, marks=4)
    for rounds, regret in zip(ends, sums, strict=True):
        assert 0.0 <= regret <= min(theorem2(rounds, 2, 2), 2.0 * rounds)
    early, late = sums[0] / ends[0], (sums[-1] - sums[-2]) / (ends[-1] - ends[-2])
    assert late < 0.5 * early


def test_the_bound_is_below_the_worst_case_only_at_long_horizons():
    assert theorem2(1_000_000, 2, 2) < 0.66 * 2 * 1_000_000
    assert theorem2(20_000, 20, 10) > 2 * 20_000
