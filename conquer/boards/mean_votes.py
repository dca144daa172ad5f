"""Each item's mean vote against the others, from logged chances: no law of the answers is assumed.

For K items, f a prediction of all pairs made before the answer, and the asked pair chosen with a logged chance,

    psi_i = mean over j of f_ij + 1{asked i and j} (y - f_ij) / (2 (K - 1) chance)

has the mean mu_i, i's mean answer against the others, whatever f is: the two orders of a pair are two choices. psi less
m is bounded by what the smallest chance allows, so the wealth of betting on psi_i - m is a supermartingale where m is
mu_i, and the m whose wealth stays below 2K/delta are an interval that holds for all items and looks at once.
"""

import math
from typing import NamedTuple

import numpy as np

from conquer.boards.evidence import Answers
from conquer.types import Floats, Ints

_REFITS = 1.25
"""f is fitted anew each time there are this many times more answers."""
_HALVINGS = 50


class MeanVotes(NamedTuple):
    """(K,) each: the estimate, and the ends of the interval."""

    mean: Floats
    low: Floats
    high: Floats


def mean_votes(answers: Answers, count: int, share: float, delta: float) -> MeanVotes:
    """The items' mean votes; `share`: at least this share of the pairs was drawn uniformly among all `count` items.

    Answers whose chance is not known are left out: whether it is known does not depend on the pair that was drawn.
    """
    if share <= 0.0:
        raise ValueError("mean votes need a positive chance of every pair: make the learner with explore= above 0")
    if (answers.size != count).any():
        raise ValueError(f"mean votes need every question to be about the same {count} items")
    least = share / (count * (count - 1))
    if np.nanmin(answers.chance, initial=1.0) < least * (1.0 - 1e-9):
        raise ValueError(f"a logged chance is below {least:g}, which explore={share:g} makes the smallest one")
    known = ~np.isnan(answers.chance)
    first, second, y, chance = answers.first[known], answers.second[known], answers.answer[known], answers.chance[known]
    base, own = _predicted(first, second, y, count)
    size = y.size
    if size == 0:
        return MeanVotes(np.zeros(count), np.full(count, -1.0), np.full(count, 1.0))
    residual = (y - own) / (2.0 * (count - 1) * chance)
    reach = 2.0 / (2.0 * (count - 1) * least) + 2.0
    mean, low, high = np.empty(count), np.empty(count), np.empty(count)
    for i in range(count):
        psi = base[:, i] + np.where(first == i, residual, 0.0) - np.where(second == i, residual, 0.0)
        mean[i] = psi.mean()
        low[i], high[i] = _ends(psi, reach, 0.5 * delta / count)
    return MeanVotes(np.clip(mean, -1.0, 1.0), low, high)


def _predicted(first: Ints, second: Ints, y: Floats, count: int) -> tuple[Floats, Floats]:
    """(n, K) the mean over j of f_ij, and (n,) f of the asked pair, from scores of the answers before each block."""
    base, own = np.zeros((y.size, count)), np.zeros(y.size)
    start = 0
    gram, gains = np.eye(count), np.zeros(count)
    while start < y.size:
        stop = min(y.size, max(start + count, int(start * _REFITS)))
        scores = np.linalg.solve(gram, gains)
        f = np.clip(0.5 * (scores[:, None] - scores), -1.0, 1.0)
        part = slice(start, stop)
        one, two = first[part], second[part]
        base[part], own[part] = f.sum(axis=1) / (count - 1), f[one, two]
        for places, sign in (((one, one), 0.25), ((two, two), 0.25), ((one, two), -0.25), ((two, one), -0.25)):
            np.add.at(gram, places, sign)
        np.add.at(gains, one, 0.5 * y[part])
        np.add.at(gains, two, -0.5 * y[part])
        start = stop
    return base, own


def _ends(psi: Floats, reach: float, alpha: float) -> tuple[float, float]:
    """The m in [-1, 1] that neither of two bettors has refuted at level alpha, by any answer so far."""
    n = np.arange(1, psi.size + 1)
    before = np.concatenate([[0.0], np.cumsum(psi)[:-1] / n[:-1]]) if psi.size else psi
    spread = np.cumsum((psi - np.clip(before, -1.0, 1.0)) ** 2)
    variance = (1.0 + np.concatenate([[0.0], spread[:-1]])) / n
    # Predictable bets (Waudby-Smith and Ramdas 2024), small enough that no answer loses more than half.
    bets = np.minimum(np.sqrt(2.0 * math.log(1.0 / alpha) / (variance * n * np.log1p(n))), 0.5 / reach)
    limit = -math.log(alpha)

    def refuted(m: float, sign: float) -> bool:
        return bool(np.cumsum(np.log1p(sign * bets * (psi - m))).max(initial=0.0) >= limit)

    ends = []
    for sign in (1.0, -1.0):
        inside, outside = sign, -sign  # a bettor on "above m" refutes small m: at -1 most easily
        if refuted(outside, sign):
            for _ in range(_HALVINGS):
                middle = 0.5 * (inside + outside)
                inside, outside = (inside, middle) if refuted(middle, sign) else (middle, outside)
        ends.append(outside)
    return ends[0], ends[1]
