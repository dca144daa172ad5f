"""The preference perceptron: when the second best wins, move towards it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.items import over_features
from conquer.rivals.learner import Arrays, Method, Pick, duel, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats


class PreferencePerceptron:
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
            w = self.w[columns] - answer * (items[1] - items[0])
            finite(w)
            self.w[columns] = w

    def scores(self, X: SparseRows) -> Floats:
        columns, items = over_features(X)
        return np.asarray(items @ self.w[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"w": self.w}

    def restore(self, arrays: Arrays) -> None:
        (self.w,) = adopt(arrays, {"w": self.w.shape})


def build(dim: int, model: str, values: Values) -> Method:
    return PreferencePerceptron(dim)
