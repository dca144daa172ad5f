"""Selector x estimator: what most contextual rivals are, with random rounds first and a gate before the selector."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, one_of, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.contextual.gates import GATES
from conquer.rivals.contextual.view import Selector, look, random_pair
from conquer.rivals.estimators.build import estimator_of
from conquer.rivals.estimators.estimator import Estimator
from conquer.rivals.learner import Arrays, Method, MethodBuilder, Pick
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query

Warmup = Callable[[int], int]
"""How many random rounds come first, given K."""


class Contextual:
    """`warmup(K)` random pairs, then the selector's, unless the gate keeps silent."""

    duels = True
    shows = 2

    def __init__(
        self,
        estimator: Estimator,
        select: Selector,
        *,
        warmup: Warmup,
        gate: str | None = None,
        gate_eta: float = 1.0,
    ) -> None:
        self.estimator, self.select, self.warmup = estimator, select, warmup
        self.gate, self.gate_eta = GATES[gate], gate_eta
        self.count = 0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        random = self.warmup(len(X))
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
    """The `build` of a rival that is a selector over any estimator; `select(dim, values)` makes the selector."""

    def build(dim: int, model: str, values: Values) -> Method:
        one_of("gate", values["gate"], dict.fromkeys(GATES, 0))
        return Contextual(
            estimator_of(dim, model, values),
            select(dim, values),
            warmup=_warmup(dim, values["warmup"]),
            gate=values["gate"],
            gate_eta=number("gate_eta", values["gate_eta"], 0.0),
        )

    return build


def eta_of(dim: int, values: Values) -> float:
    """The factor of the widths."""
    eta, usual = values["eta"], practice(dim, values)  # a wrong horizon is refused where eta is given, too
    return usual if eta == "practice" else number("eta", eta, 0.0)


def practice(dim: int, values: Values) -> float:
    """sqrt(D ln T): the width factor of MaxInP's and CoLSTIM's experiments."""
    return math.sqrt(dim * math.log(whole("horizon", values["horizon"], 2)))


def _warmup(dim: int, value: Any) -> Warmup:
    if value == "practice":
        return dim.__mul__
    return partial(_always, whole("warmup", value, 0))


def _always(rounds: int, count: int) -> int:
    return rounds
