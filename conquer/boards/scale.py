"""The scale people know: win chances by a calibrated slope, ties, Elo points, ranks and tiers."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conquer.boards.evidence import Answers
from conquer.types import Floats, Ints

ELO, POINTS = 1500.0, 400.0 / math.log(10.0)
_STEPS = 30


class Slope(NamedTuple):
    """P(i beats j) is in proportion to e^t, P(j beats i) to e^-t and a tie to `ties`, t = c (s_i - s_j)/2.

    `answers` forecasts decided it; 0: it is the linear law's slope at equal scores.

    >>> Slope(2.0, 0.0, 9).chance(np.array([0.0, 1.0])).round(3).tolist()
    [0.5, 0.881]
    """

    c: float
    ties: float
    answers: int

    def chance(self, gap: Floats) -> Floats:
        """The probability that the first of two items wins; a tie counts as half."""
        t = np.clip(0.5 * self.c * gap, -300.0, 300.0)
        win, loss = np.exp(t), np.exp(-t)
        chance: Floats = (win + 0.5 * self.ties) / (win + loss + self.ties)
        return chance


LINEAR = Slope(1.0, 0.0, 0)
"""The linear law's slope between equal items."""


def calibrated(answers: Answers) -> Slope:
    """The slope fitted to the forecasts of the later half of the answers, each made before its answer.

    Davidson's model by Newton's method, with a prior on ln c of variance 1 around the linear law's slope, c = 1. An
    answer of strength y counts |y| as a win and the rest as a tie.

    >>> gaps = np.array([0.5, -0.5] * 200)
    >>> made = Answers(*(np.zeros(400),) * 2, gaps, *(np.zeros(400),) * 5, np.sign(gaps) * np.tile([1, 1, -1, 1], 100))
    >>> round(calibrated(made).c, 1)
    2.2
    """
    gap, answer = (each[answers.total // 2 :] for each in (answers.gap, answers.answer))
    used = gap != 0.0
    gap, answer = gap[used], answer[used]
    if not gap.size:
        return LINEAR
    half, tied = 0.5 * gap, 1.0 - np.abs(answer)
    share = float(tied.mean())
    has_ties = 0.0 < share < 1.0
    # a = ln c, b = ln ties.
    a, b = 0.0, math.log(2.0 * share / (1.0 - share)) if has_ties else -math.inf
    for _ in range(_STEPS):
        c = math.exp(a)
        t = np.clip(c * half, -300.0, 300.0)
        win, loss, tie = np.exp(t), np.exp(-t), math.exp(b)
        total = win + loss + tie
        lead, even = (win - loss) / total, tie / total
        slope = float(((answer - lead) * t).sum()) - a
        # Expected second derivatives: they keep every step uphill.
        curve = float(((1.0 - even - lead**2) * t * t).sum()) + 1.0
        steps = [slope / curve, 0.0]
        if has_ties:
            rise, bend, cross = (
                float((tied - even).sum()),
                float((even * (1.0 - even)).sum()),
                float((-lead * even * t).sum()),
            )
            det = max(curve * bend - cross * cross, 1e-12 * curve * bend)
            steps = [(bend * slope - cross * rise) / det, (curve * rise - cross * slope) / det]
        a, b = a + max(-1.0, min(1.0, steps[0])), b + max(-1.0, min(1.0, steps[1]))
        a, b = max(-5.0, min(5.0, a)), b if not has_ties else max(-20.0, min(20.0, b))
        if abs(steps[0]) + abs(steps[1]) < 1e-10:
            break
    return Slope(math.exp(a), math.exp(b) if has_ties else 0.0, int(gap.size))


def ranks_of(better: NDArray[np.bool_]) -> Ints:
    """(K, 2): the best and the worst rank of each item that `better` allows, from 1."""
    return np.stack([1 + better.sum(axis=0), len(better) - better.sum(axis=1)], axis=1)


def tiers_of(order: Ints, better: NDArray[np.bool_]) -> Ints:
    """(K,): the tier of each item, from 1: the order is cut where everything above beats everything below.

    >>> better = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool)
    >>> tiers_of(np.array([0, 1, 2]), better).tolist()
    [1, 2, 2]
    """
    count = order.size
    sorted_ = better[np.ix_(order, order)]
    # The column from which on a row beats everything, and the farthest of these so far.
    misses = count - np.argmax(~sorted_[:, ::-1], axis=1)
    cuts = np.maximum.accumulate(misses)[:-1] <= np.arange(1, count)
    tiers = np.empty(count, np.int64)
    tiers[order] = 1 + np.concatenate([[0], np.cumsum(cuts)]).astype(np.int64)
    return tiers
