"""Rank breaking: the picked one of k beats each other shown."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import shares_of
from conquer.checks import number
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.build import estimator_of
from conquer.rivals.estimators.estimator import Estimator
from conquer.rivals.learner import Arrays, Method, Pick, finite
from conquer.rivals.several.multinomial import show_of, top
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class RankBreaking:
    """The best mean and the next upper bounds; the picked item beats every other shown item, at weight 1/(k - 1).

    A common reduction of choices to duels (as in Aadirupa Saha and Aditya Gopalan: Combinatorial bandits with relative
    feedback, 2019), here over any estimator of duels.

    `show`: the number of items shown. `eta`: the factor of the widths.

    >>> from conquer.registry import make
    >>> learner = make("rank-breaking", dim=4, show=3)
    >>> choice = learner.choose(np.eye(4), 7)
    >>> learner.learn(np.eye(4), choice, 1)  # the second of the three
    >>> int(learner.scores(np.eye(4)).argmax()) == choice.shown[1]
    True
    """

    duels = True

    def __init__(self, estimator: Estimator, *, show: int, eta: float) -> None:
        self.estimator, self.shows, self.eta = estimator, show, eta

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        mean, own, _ = self.estimator.measure(X)
        finite(mean, own)
        first = draws.largest(mean)
        values = mean + self.eta * np.sqrt(own)
        values[first] = np.inf
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shown = choice.shown
        if len(shown) == 2:
            self.estimator.learn(X, shown[0], shown[1], answer)
            return
        shares = shares_of(answer, len(shown))
        if shares[-1] > 0:
            raise ValueError(f"the answer must name one of the {len(shown)} shown items, got none ({answer!r})")
        winner, trial = shown[int(shares.argmax())], copy.deepcopy(self.estimator)
        for loser in shown:
            if loser != winner:
                trial.learn(X, winner, loser, 1.0, 1.0 / (len(shown) - 1))
        self.estimator = trial  # all steps or none

    def scores(self, X: SparseRows) -> Floats:
        return self.estimator.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.estimator.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.estimator.restore(arrays)


def build(dim: int, model: str, values: Values) -> Method:
    estimator = estimator_of(dim, model, values)
    return RankBreaking(estimator, show=show_of(values), eta=number("eta", values["eta"], 0.0))
