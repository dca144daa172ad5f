"""First-order rivals: a weight vector that moves by gradient steps, without widths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import positive
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.covariance import over_features
from conquer.rivals.learner import Arrays, Method, Pick, duel, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats


class _Weights:
    """The weight vector w and its files."""

    duels = True
    shows = 2

    def __init__(self, dim: int) -> None:
        self.w: Floats = np.zeros(dim)

    def scores(self, X: SparseRows) -> Floats:
        columns, items = over_features(X)
        return np.asarray(items @ self.w[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"w": self.w}

    def restore(self, arrays: Arrays) -> None:
        (self.w,) = adopt(arrays, {"w": self.w.shape})


class DBGD(_Weights):
    """The argmax of w meets the argmax of w + delta e, e uniform on the sphere. If the second wins, w += gamma e.

    Yisong Yue and Thorsten Joachims: Interactively optimizing information retrieval systems as a dueling bandits
    problem, 2009. Normals 0 to D - 1 of the round's ticket give e, so it need not be stored.

    `delta`: the length of the proposed step. `gamma`: the length of the step taken.

    >>> from conquer.registry import make
    >>> learner = make("dbgd", dim=3, delta=1.0, gamma=0.1)
    >>> learner.learn(np.eye(3), learner.choose(np.eye(3), 7), -1)
    >>> round(float(np.linalg.norm(learner.model.w)), 3)
    0.1
    """

    def __init__(self, dim: int, *, delta: float, gamma: float) -> None:
        super().__init__(dim)
        self.delta, self.gamma = delta, gamma

    def _direction(self, draws: Draws) -> Floats:
        e = draws.normals(self.w.size)
        return np.asarray(e / np.linalg.norm(e))

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        columns, items = over_features(X)
        current = items @ self.w[columns]
        proposed = current + self.delta * (items @ self._direction(draws)[columns])
        return duel(draws.largest(current), draws.largest(proposed, tie=1))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        if answer < 0.0:
            self.w += -answer * self.gamma * self._direction(Draws(choice.ticket))


class PreferencePerceptron(_Weights):
    """The argmax beside the next best; if the other wins, w += other - argmax.

    Pannaga Shivaswamy and Thorsten Joachims: Online structured prediction via coactive learning, 2012 (a first form in
    Online learning with preference feedback, 2011). It has no parameters.

    >>> from conquer.registry import make
    >>> learner = make("preference-perceptron", dim=3)
    >>> choice = learner.choose(np.eye(3), 7)
    >>> learner.learn(np.eye(3), choice, -1)
    >>> choice.shown, learner.scores(np.eye(3)).tolist()
    ((2, 1), [0.0, 1.0, -1.0])
    """

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        values = self.scores(X)
        first = draws.largest(values)
        return duel(first, draws.largest(values, tie=1, skip=first))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        if answer < 0.0:
            columns, items = over_features(X.take(list(choice.shown)))
            w = self.w[columns] - answer * (items[1] - items[0])
            finite(w)
            self.w[columns] = w


def dbgd(dim: int, model: str, values: Values) -> Method:
    return DBGD(dim, delta=positive("delta", values["delta"]), gamma=positive("gamma", values["gamma"]))


def preference_perceptron(dim: int, model: str, values: Values) -> Method:
    return PreferencePerceptron(dim)
