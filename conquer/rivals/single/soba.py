"""SOBA: one item, explored at a fixed rate, for a second-order perceptron."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, positive
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.covariance import SPREADS, Columns, Spread
from conquer.rivals.learner import Arrays, Method, Pick, drawn, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class SOBA:
    """Second-order Banditron. Draw 0 is the item.

    Alina Beygelzimer, Francesco Orabona and Chicheng Zhang: Efficient online bandit multiclass learning with
    O~(sqrt(T)) regret, 2017. Classes are items here, as for Newtron.

    It shows the argmax, or with chance gamma a random item. Only "yes" is learnt: g = (phi_other - phi_y)/p_y against
    the best other item, z = sqrt(p_y) g, m = ((w.z)^2 + 2 w.g)/(1 + z'A^-1 z). The step A += z z', theta -= g,
    w = A^-1 theta is taken if m plus the sum of the earlier steps' m is not negative.

    `model`: A "full" or "diagonal". `gamma`: the share of exploration. `lam`: A starts at lam I.

    >>> from conquer.registry import make
    >>> learner = make("soba", dim=3, gamma=0.3)
    >>> choice = learner.choose(np.eye(3), 7)
    >>> learner.learn(np.eye(3), choice, +1)
    >>> bool(learner.scores(np.eye(3)).argmax() == choice.shown[0])
    True
    """

    duels = False
    shows = 1

    def __init__(self, dim: int, *, model: str, gamma: float, lam: float) -> None:
        self.dim, self.gamma = dim, gamma
        self.spread: Spread = SPREADS[model](dim, lam)
        self.theta: Floats = np.zeros(dim)
        self.taken = 0.0

    def _weights(self, columns: Columns) -> Floats:
        if isinstance(columns, slice):
            return self.spread.times(self.theta, columns)
        return self.spread.times(self.theta[columns], columns)

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        count = len(X)
        chances = np.full(count, self.gamma / count)
        chances[draws.largest(self.scores(X))] += 1.0 - self.gamma
        shown = drawn(chances, draws.uniform(0))
        return Pick((shown,), Query.BEST, {}, float(chances[shown]))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        chance = choice.memo.get("chance")
        if not isinstance(chance, float) or not 0 < chance <= 1:
            raise ValueError(f"the choice must keep its chance in (0, 1] in its memo, got {chance!r}")
        if answer < 0 or len(X) < 2:
            return
        columns, items = self.spread.local(X)
        w = self._weights(columns)
        values = items @ w
        shown = choice.shown[0]
        values[shown] = -math.inf
        g = (items[int(values.argmax())] - items[shown]) / chance
        z = math.sqrt(chance) * g
        lead, width = float(w @ g), float(z @ self.spread.times(z, columns))
        m = (float(w @ z) ** 2 + 2.0 * lead) / (1.0 + width)
        if m + self.taken >= 0.0:
            theta = self.theta[columns] - g
            finite(theta, m)
            self.spread.add(z, columns, 1.0)
            self.taken += m
            self.theta[columns] = theta

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self._weights(columns))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"theta": self.theta, "taken": np.array([self.taken]), **self.spread.arrays()}

    def restore(self, arrays: Arrays) -> None:
        theta, taken = adopt(arrays, {"theta": (self.dim,), "taken": (1,)})
        self.spread.restore(arrays)
        self.theta, self.taken = theta, float(taken[0])


def build(dim: int, model: str, values: Values) -> Method:
    gamma = number("gamma", values["gamma"], 0.0, 1.0, above=True)
    return SOBA(dim, model=model, gamma=gamma, lam=positive("lam", values["lam"]))
