"""A run's answers once more, with the board's numbers after each: scores, variances, pulls and the spread."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from conquer.types import Floats, Ints

_LOOKS = 128
"""Looks that are computed together: enough for whole-array arithmetic, and still little memory with 100 items."""


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """L looks at K items, P pairs (i < j): scores (L, K), gaps, V and B (L, P), spread (L, 1).

    V = x' A^-1 x and B = ||A^-1 x||^2 of a pair's difference x; `first` is the number of the first look, from 1.
    """

    first: int
    scores: Floats
    gaps: Floats
    V: Floats
    B: Floats
    spread: Floats


def replayed(pairs: Ints, answers: Floats, count: int, lam: float) -> Iterator[Looks]:
    """The looks of a run over `count` items of one feature each: what the full model has after every answer.

    Each answer changes A^-1 by one rank, and with it V and B of all pairs: their courses are running sums.

    >>> looks = next(replayed(np.array([[0, 1], [1, 2]]), np.array([1.0, 1.0]), 3, 1.0))
    >>> looks.V.shape, looks.scores.argmax(axis=1).tolist()
    ((2, 3), [0, 0])
    """
    one, two = np.triu_indices(count, 1)
    inverse, w = np.eye(count) / lam, np.zeros(count)
    V, B, spread = np.full(one.size, 2.0 / lam), np.full(one.size, 2.0 / lam**2), 0.0
    for start in range(0, len(pairs), _LOOKS):
        part = range(start, min(start + _LOOKS, len(pairs)))
        gains, backs, scores = (np.empty((len(part), count)) for _ in range(3))
        scales, spreads = np.empty((len(part), 1)), np.empty((len(part), 1))
        for k, t in enumerate(part):
            i, j = pairs[t]
            gain = 0.5 * (inverse[i] - inverse[j])
            h = 0.5 * (gain[i] - gain[j])
            loss = answers[t] - 0.5 * (w[i] - w[j])
            gains[k], backs[k], scales[k] = gain, inverse @ gain, 1.0 / (1.0 + h)
            w = w + loss / (1.0 + h) * gain
            inverse = inverse - np.outer(gain / (1.0 + h), gain)
            spread += loss * loss * h / (1.0 + h)
            scores[k], spreads[k] = w, spread
        along, back = gains[:, one] - gains[:, two], backs[:, one] - backs[:, two]
        length = (gains * gains).sum(axis=1, keepdims=True)
        V_here = V - np.cumsum(scales * along * along, axis=0)
        B_here = B + np.cumsum(scales * along * (scales * length * along - 2.0 * back), axis=0)
        V, B = V_here[-1], B_here[-1]
        yield Looks(start + 1, scores, scores[:, one] - scores[:, two], V_here, B_here, spreads)
