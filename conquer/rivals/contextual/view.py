"""What a selector sees of a round, and the picks that several selectors share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from conquer.rivals.estimators.estimator import Estimator
from conquer.rivals.estimators.items import pairs
from conquer.rivals.learner import Pick, duel, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Floats, Ints


@dataclass(frozen=True)
class View:
    """What a selector sees of a round: means, squared widths of items and of differences, and the answers learnt.

    `mean` (K,), `own` (K,) x'V^-1 x, `between` (K, K) z'V^-1 z with z = x_i - x_j.

    >>> view = View(np.array([1.0, 0.0]), np.ones(2), 2.0 - 2.0 * np.eye(2))
    >>> view.width.tolist(), view.pairwidth.round(3).tolist()
    ([1.0, 1.0], [[0.0, 1.414], [1.414, 0.0]])
    """

    mean: Floats
    own: Floats
    between: Floats
    answers: int = 0

    @cached_property
    def width(self) -> Floats:
        """(K,): |x_i|."""
        return np.sqrt(self.own)

    @cached_property
    def pairwidth(self) -> Floats:
        """(K, K): |z_ij|, 0 on the diagonal."""
        return np.sqrt(self.between)

    @cached_property
    def relative(self) -> Floats:
        """(K, K): Y V^-1 Y' with y_i = x_i - x_0, the covariance of all differences from the first item."""
        first = self.between[0]
        return np.asarray(0.5 * (first[:, None] + first[None, :] - self.between))

    @cached_property
    def lead(self) -> Floats:
        """(K, K): mean_i - mean_j."""
        return self.mean[:, None] - self.mean[None, :]

    def __len__(self) -> int:
        return self.mean.size


def look(estimator: Estimator, X: SparseRows, answers: int = 0) -> View:
    """What a selector sees of these items; an ArithmeticError where they are too large for it."""
    measured = estimator.measure(X)
    finite(*measured)
    return View(*measured, answers)


Selector = Callable[[View, Draws], Pick]
"""Which pair to play: the rule of a contextual rival, written once for every estimator."""


def plausible(view: View, eta: float, strict: bool = True) -> Floats:
    """(K,) bool: the items that no other one beats by more than eta |z|."""
    upper = view.lead + eta * view.pairwidth
    np.fill_diagonal(upper, 1.0)
    return np.asarray((upper > 0.0).all(axis=1) if strict else (upper >= 0.0).all(axis=1))


def only_plausible(view: View, candidates: Ints, draws: Draws) -> Pick:
    """The one item left to be shown alone.

    Two equal items exclude each other, so that no candidate may be left: then the best mean is shown.
    """
    alone = candidates[0] if candidates.size else draws.largest(view.mean)
    return duel(alone, alone)


def better_first(view: View, i: int, j: int) -> Pick:
    """A pair without an order of its own, the better mean first."""
    return duel(i, j) if view.mean[i] >= view.mean[j] else duel(j, i)


def largest_pair(values: Floats, draws: Draws) -> tuple[int, int]:
    """The pair i < j with the largest value of a symmetric (K, K) table; draw 1 breaks ties."""
    rows, columns = pairs(values.shape[0])
    best = draws.largest(values[rows, columns], tie=1)
    return int(rows[best]), int(columns[best])


def random_pair(count: int, draws: Draws) -> Pick:
    """Any two items, from draws 0 and 1."""
    first = draws.below(0, count)
    second = draws.below(1, count - 1)
    return duel(first, second + (second >= first), chance=1.0 / (count * (count - 1)))
