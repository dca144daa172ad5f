"""Contextual rivals: a selector over an estimator, what it sees of a round, and gates that ask nothing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, one_of, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.build import estimator_of
from conquer.rivals.estimators.covariance import pairs
from conquer.rivals.estimators.estimator import Estimator
from conquer.rivals.learner import Arrays, Method, MethodBuilder, Pick, duel, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Ints, Query


@dataclass(frozen=True)
class View:
    """What a selector sees of a round.

    `mean` (K,); `own` (K,) x'V^-1 x; `between` (K, K) z'V^-1 z with z = x_i - x_j; `answers`, the number learnt since
    the random rounds.

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
    """The view of these items; an ArithmeticError where their values are too large for it."""
    measured = estimator.measure(X)
    finite(*measured)
    return View(*measured, answers)


Selector = Callable[[View, Draws], Pick]
"""Which pair to play: the rule of a contextual rival, for any estimator."""


def plausible(view: View, eta: float, strict: bool = True) -> Floats:
    """(K,) bool: the items that no other item beats by more than eta |z|."""
    upper = view.lead + eta * view.pairwidth
    np.fill_diagonal(upper, 1.0)
    return np.asarray((upper > 0.0).all(axis=1) if strict else (upper >= 0.0).all(axis=1))


def only_plausible(view: View, candidates: Ints, draws: Draws) -> Pick:
    """The only candidate, shown alone; the best mean where there is none, since two equal items exclude each other."""
    alone = candidates[0] if candidates.size else draws.largest(view.mean)
    return duel(alone, alone)


def better_first(view: View, i: int, j: int) -> Pick:
    """A duel of these two, the better mean first."""
    return duel(i, j) if view.mean[i] >= view.mean[j] else duel(j, i)


def largest_pair(values: Floats, draws: Draws) -> tuple[int, int]:
    """The pair i < j with the largest value of a symmetric (K, K) table; draw 1 breaks ties."""
    rows, columns = pairs(values.shape[0])
    best = draws.largest(values[rows, columns], tie=1)
    return int(rows[best]), int(columns[best])


def random_pair(count: int, draws: Draws) -> Pick:
    """Two random items, from draws 0 and 1."""
    first = draws.below(0, count)
    second = draws.below(1, count - 1)
    return duel(first, second + (second >= first), chance=1.0 / (count * (count - 1)))


Gate = Callable[[View, float, Draws], int | None]
"""(view, eta, draws) -> the item to show without a question, or None to ask. Widths are sqrt(eta) |z|."""


def aurora(view: View, eta: float, draws: Draws) -> int | None:
    """Asks unless at most one item may be the best.

    Ayush Sekhari, Karthik Sridharan, Wen Sun and Runzhe Wu: Contextual bandits and imitation learning via
    preference-based active queries, 2023.
    """
    candidates = np.flatnonzero(plausible(view, eta**0.5, strict=False))
    return None if candidates.size > 1 else int(candidates[0]) if candidates.size else draws.largest(view.mean)


def confident(view: View, eta: float, draws: Draws) -> int | None:
    """GNC's gate: asks unless the best mean leads its most likely challenger by more than the width of the two."""
    best = draws.largest(view.mean)
    widths = eta**0.5 * view.pairwidth[best]
    other = draws.largest(view.mean + widths, tie=1, skip=best)
    return best if view.mean[best] - view.mean[other] > widths[other] else None


def selective(view: View, eta: float, draws: Draws) -> int | None:
    """Asks if the squared margin of the two best means is at most their squared width.

    Ofer Dekel, Claudio Gentile and Karthik Sridharan: Selective sampling and active learning from single and multiple
    teachers, 2012.
    """
    best = draws.largest(view.mean)
    other = draws.largest(view.mean, tie=1, skip=best)
    margin = float(view.mean[best] - view.mean[other])
    return None if margin * margin <= eta * float(view.pairwidth[best, other]) ** 2 else best


GATES: dict[str | None, Gate | None] = {None: None, "aurora": aurora, "gnc": confident, "selective": selective}


class Contextual:
    """`warmup + per_item * K` random pairs, then the selector's pairs, unless the gate asks nothing."""

    duels = True
    shows = 2

    def __init__(
        self,
        estimator: Estimator,
        select: Selector,
        *,
        warmup: int,
        per_item: int,
        gate: Gate | None,
        gate_eta: float,
    ) -> None:
        self.estimator, self.select, self.warmup, self.per_item = estimator, select, warmup, per_item
        self.gate, self.gate_eta = gate, gate_eta
        self.count = 0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        random = self.warmup + self.per_item * len(X)
        if self.count < random:
            return random_pair(len(X), draws)
        view = look(self.estimator, X, self.count - random)
        if self.gate is not None:
            alone = self.gate(view, self.gate_eta, draws)
            if alone is not None:
                return Pick((alone,), Query.NONE)
        return self.select(view, draws)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        self.estimator.learn(X, choice.shown[0], choice.shown[1], answer)
        self.count += 1

    def scores(self, X: SparseRows) -> Floats:
        return self.estimator.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"count": np.array([self.count], np.int64), **self.estimator.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (count,) = adopt(arrays, {"count": (1,)}, np.int64)
        self.estimator.restore(arrays)
        self.count = int(count[0])


def contextual(select: Callable[[int, Values], Selector]) -> MethodBuilder:
    """The builder of a rival that is a selector over any estimator; `select(dim, values)` makes the selector."""

    def build(dim: int, model: str, values: Values) -> Method:
        one_of("gate", values["gate"], dict.fromkeys(GATES, 0))
        practice = values["warmup"] == "practice"
        return Contextual(
            estimator_of(dim, model, values),
            select(dim, values),
            warmup=0 if practice else whole("warmup", values["warmup"], 0),
            per_item=dim if practice else 0,
            gate=GATES[values["gate"]],
            gate_eta=number("gate_eta", values["gate_eta"], 0.0),
        )

    return build


def eta_of(dim: int, values: Values) -> float:
    """The factor of the widths."""
    eta, usual = values["eta"], practice(dim, values)  # a wrong horizon is refused even where eta is given
    return usual if eta == "practice" else number("eta", eta, 0.0)


def practice(dim: int, values: Values) -> float:
    """sqrt(D ln T): the width factor of MaxInP's and CoLSTIM's experiments."""
    return math.sqrt(dim * math.log(whole("horizon", values["horizon"], 2)))
