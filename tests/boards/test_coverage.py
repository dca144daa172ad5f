"""What breaks intervals: peeking, designs that look at their answers, and groups that were never compared."""

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.boards import board_from, city, play, world
from conquer.boards.widths import Width

DELTA = 0.05


def biased_by_design(interval, seed, rounds=100, asked=40):
    """Whether the board of all-equal items says 0 beats 1, after a design that looks at its answers.

    (0, k) is asked 40 times for each k; only where 0 leads k, (k, 1) is asked 40 times too.
    """
    rng, items, lam = np.random.default_rng(seed), rounds + 2, 1.0
    A, b = lam * np.eye(items), np.zeros(items)

    def ask(i, j):
        total = 2.0 * rng.binomial(asked, 0.5) - asked
        u = np.zeros(items)
        u[i], u[j] = 0.5, -0.5
        A[:] += asked * np.outer(u, u)
        b[:] += total * u
        return total

    answers = 0
    for k in range(2, items):
        answers += 2 if ask(0, k) > 0 and ask(k, 1) is not None else 1
    inverse = np.linalg.inv(A)
    x = np.eye(items)[0] - np.eye(items)[1]
    gain = np.linalg.slogdet(A + (32.0 - lam) * np.eye(items))[1] - items * np.log(32.0)
    width = Width(interval, DELTA, 0.25, lam, ((32.0, gain, 1.0),), answers * asked)
    V, B = np.array([x @ inverse @ x]), np.array([((inverse @ x) ** 2).sum()])
    return bool(x @ inverse @ b > width.half(V, B, np.sqrt(B), 1)[0])


def test_the_counterexample():
    """A design that looks at its answers deceives `anytime`, not `proved`."""
    wrong = sum(biased_by_design("anytime", seed) for seed in range(100))
    assert wrong > binom.isf(1e-9, 100, DELTA)
    assert sum(biased_by_design("proved", seed) for seed in range(100)) <= binom.isf(1e-4, 100, DELTA)


@pytest.mark.parametrize(("claim", "rule"), [("anytime", "sep"), ("fixed", "gnr")])
def test_what_fails_under_rules_that_look(claim, rule):
    """Between equal items `anytime` is false under sep, and `fixed` under any rule as soon as one looks twice."""
    truth, means = world("equal", 10, 0)
    place = ("proved", "direct", "anytime", "fixed").index(claim)
    wrong = sum(play(seed, means, truth, rule, every=100).false[place] >= 0 for seed in range(20))
    assert wrong > binom.isf(1e-4, 20, DELTA)


@pytest.mark.parametrize("bound", [1.0, 0.0])
def test_groups_never_compared_are_not_separated(bound):
    """Five items worth 0 to -1 and five worth 1 to 0 that are only compared among themselves, with a penalty of 30."""
    truth = np.concatenate([np.linspace(0.0, -1.0, 5), np.linspace(1.0, 0.0, 5)])
    rng, n = np.random.default_rng(0), 2_000
    group, place = 5 * rng.integers(0, 2, n), rng.integers(0, 5, n)
    first, second = group + place, group + (place + rng.integers(1, 5, n)) % 5
    y = np.where(rng.random(n) < 0.5 + 0.25 * (truth[first] - truth[second]), 1.0, -1.0)
    board, _, _ = board_from(
        first, second, y, 10, None, lam=30.0, interval="anytime", pull=lambda inverse: bound * city(inverse)
    )
    assert (board.better & (truth[:, None] <= truth)).any() == (bound == 0.0)
