"""How well a fresh panel of voters would agree with a board: from the posterior, with the spread of worth estimated.

Pairs chosen by the answers do not bias a likelihood: the chance of all answers is the product of each one's given those
before it, whatever was asked. They do bias the share of the scores' variance that standard errors leave, and the
correlation of halves, whose pairs were chosen by both halves' answers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.boards.fragility import Support
from conquer.types import Floats

_LAMS = np.logspace(-4, 5, 361)
"""What lam is chosen from: the variance of an answer over that of an item's weight."""
_DROP = 1.92
"""By how much the log-likelihood falls at the ends of a 95 % interval of one parameter."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """The agreement of a board with a fresh panel's, from 0 to 1; coin tosses have about 0, whatever was asked.

    Attributes
    ----------
    value : float
        The expected correlation of the scores with those by as many fresh answers to the same questions.
    low, high : float
        The same at the ends of the 95 % interval of the spread of worth, by the profile likelihood.
    lam : float
        The penalty that the estimated spread of worth calls for.
    """

    value: float
    low: float
    high: float
    lam: float


def reliability(support: Support) -> Reliability:
    """The reliability of a board's scores; ValueError: it has fewer than three items."""
    count = support.X.shape[0]
    if count < 3:
        raise ValueError("two items have no correlation: a board's reliability needs at least three")
    square, answers = support.square(support.counts), float(support.counts.sum())
    squares, axes = np.linalg.eigh(0.5 * (square + square.T))
    squares = np.maximum(squares, 0.0)
    gains = axes.T @ (support.R.T @ (support.counts * support.values))
    power = float(support.counts @ np.square(support.values))
    centred: Any = support.X.toarray()
    spread = np.square((centred - centred.mean(axis=0)) @ axes).mean(axis=0)

    def likelihood(lam: float) -> float:
        left = max(1e-12 * power, power - float((gains**2 / (lam + squares)).sum()))
        return -0.5 * (float(np.log1p(squares / lam).sum()) + answers * float(np.log(left)))

    def explained(lam: float) -> float:
        """One less the posterior's share of the prior's variance of an item's worth less the mean."""
        return 1.0 - float(spread @ (lam / (lam + squares))) / float(spread.sum())

    found: Floats = np.array([likelihood(lam) for lam in _LAMS])
    best = int(found.argmax())
    inside = _LAMS[found >= found[best] - _DROP]
    return Reliability(explained(_LAMS[best]), explained(inside[-1]), explained(inside[0]), float(_LAMS[best]))
