"""Dueling bandit gradient descent: w against a random step from it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import positive
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.items import over_features
from conquer.rivals.learner import Arrays, Method, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats


class DBGD:
    """The argmax of w meets the argmax of w + delta e, e uniform on the sphere. If the second wins, w += gamma e.

    Yisong Yue and Thorsten Joachims: Interactively optimizing information retrieval systems as a dueling bandits
    problem, 2009. Normals 0 to D - 1 of the round's ticket give e, so it need not be remembered.

    `delta`: how far it looks. `gamma`: how far it steps.

    >>> from conquer.registry import make
    >>> learner = make("dbgd", dim=3, delta=1.0, gamma=0.1)
    >>> learner.learn(np.eye(3), learner.choose(np.eye(3), 7), -1)
    >>> round(float(np.linalg.norm(learner.model.w)), 3)
    0.1
    """

    duels = True
    shows = 2

    def __init__(self, dim: int, *, delta: float, gamma: float) -> None:
        self.delta, self.gamma = delta, gamma
        self.w: Floats = np.zeros(dim)

    def _direction(self, draws: Draws) -> Floats:
        e = draws.normals(self.w.size)
        return np.asarray(e / np.linalg.norm(e))

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        columns, items = over_features(X)
        mine = items @ self.w[columns]
        theirs = mine + self.delta * (items @ self._direction(draws)[columns])
        return duel(draws.largest(mine), draws.largest(theirs, tie=1))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        if answer < 0.0:
            self.w += -answer * self.gamma * self._direction(Draws(choice.ticket))

    def scores(self, X: SparseRows) -> Floats:
        columns, items = over_features(X)
        return np.asarray(items @ self.w[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"w": self.w}

    def restore(self, arrays: Arrays) -> None:
        (self.w,) = adopt(arrays, {"w": self.w.shape})


def build(dim: int, model: str, values: Values) -> Method:
    return DBGD(
        dim,
        delta=positive("delta", values["delta"]),
        gamma=positive("gamma", values["gamma"]),
    )
