"""First-order rivals: dueling bandit gradient descent and the preference perceptron."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.contextual.covariance import over_features
from conquer.rivals.learner import Arrays, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats


class DBGD:
    """Yue & Joachims 2009: the argmax of w meets the argmax of w + delta e, e uniform on the sphere.

    If the second wins, w += gamma e (delta and gamma are the paper's exploration and exploitation steps). Normals 0 to
    D - 1 of the round's ticket give e, so it need not be remembered.
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


class PreferencePerceptron:
    """Shivaswamy & Joachims 2011, 2012: show the argmax beside the next; if the other wins, w += other - argmax."""

    duels = True
    shows = 2

    def __init__(self, dim: int) -> None:
        self.w: Floats = np.zeros(dim)

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        values = self.scores(X)
        first = draws.largest(values)
        return duel(first, draws.largest(values, tie=1, skip=first))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        if answer < 0.0:
            columns, items = over_features(X.take(list(choice.shown)))
            self.w[columns] += -answer * (items[1] - items[0])

    def scores(self, X: SparseRows) -> Floats:
        columns, items = over_features(X)
        return np.asarray(items @ self.w[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"w": self.w}

    def restore(self, arrays: Arrays) -> None:
        (self.w,) = adopt(arrays, {"w": self.w.shape})
