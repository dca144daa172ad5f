"""Rivals over ridge regression on single items: epoch-greedy and KWIK."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import positive
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.models.model import CompiledModel
from conquer.rivals.estimators.build import item_model
from conquer.rivals.learner import Arrays, Method, Pick
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query

_MOST = 2**53
"""The largest number of greedy rounds in a row: whole numbers up to here are exact in floating point."""


class EpochGreedy:
    """One round of exploration, then as many greedy rounds as the fit is worth.

    John Langford and Tong Zhang: The epoch-greedy algorithm for multi-armed bandits with side information, 2007.

    Only exploring rounds are learnt, by ridge regression with importance weight K. After n of them,
    floor(pace sqrt(n/K)) greedy rounds follow: one over the width of n uniform samples. Draw 0 is the explored item.

    `model`: the ridge regression. `pace`: the factor of the greedy rounds per exploring one.

    >>> from conquer.registry import make
    >>> learner = make("epoch-greedy", dim=3, pace=3.0)
    >>> learner.learn(np.eye(3), learner.choose(np.eye(3), 7), +1)
    >>> learner.model.explored, learner.model.left
    (1, 1)
    """

    duels = False
    shows = 1

    def __init__(self, model: CompiledModel, *, pace: float) -> None:
        self.model, self.pace = model, pace
        self.explored, self.left = 0, 0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        count = len(X)
        if self.left == 0:
            return Pick((draws.below(0, count),), Query.BEST, {"explore": True}, 1.0 / count)
        return Pick((draws.largest(self.model.scores(X)),), Query.BEST, {"explore": False}, 1.0)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        if choice.memo.get("explore"):
            root = math.sqrt(len(X))
            self.model.update(X, {choice.shown[0]: root}, root * answer)
            self.explored += 1
            self.left = int(min(self.pace * math.sqrt(self.explored / len(X)), _MOST))
        else:
            self.left = max(self.left - 1, 0)

    def scores(self, X: SparseRows) -> Floats:
        return self.model.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"epoch": np.array([self.explored, self.left], np.int64), **self.model.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (epoch,) = adopt(arrays, {"epoch": (2,)}, np.int64)
        if (epoch < 0).any():
            raise ValueError(f"the epoch must not be negative, got {epoch.tolist()}")
        self.model.restore(arrays)
        self.explored, self.left = (int(n) for n in epoch)


class Kwik:
    """Knows what it knows: asks about an item wider than `threshold`, otherwise shows the best and asks nothing.

    Thomas J. Walsh, Istvan Szita, Carlos Diuk and Michael L. Littman: Exploring compact reinforcement-learning
    representations with linear regression, 2009.

    `model`: the ridge regression. `threshold`: the width below which an item is certain.

    >>> from conquer.registry import make
    >>> make("kwik", dim=3, threshold=0.3).choose(np.eye(3), 7).query.name
    'BEST'
    >>> make("kwik", dim=3, threshold=2.0).choose(np.eye(3), 7).query.name
    'NONE'
    """

    duels = False
    shows = 1

    def __init__(self, model: CompiledModel, *, threshold: float) -> None:
        self.model, self.threshold = model, threshold

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        variances = self.model.variances(X)
        if variances.max() > self.threshold**2:
            return Pick((draws.largest(variances),), Query.BEST)
        return Pick((draws.largest(self.model.scores(X)),), Query.NONE)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        self.model.update(X, {choice.shown[0]: 1.0}, answer)

    def scores(self, X: SparseRows) -> Floats:
        return self.model.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.model.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.model.restore(arrays)


def epoch_greedy(dim: int, model: str, values: Values) -> Method:
    return EpochGreedy(item_model(dim, model, values), pace=positive("pace", values["pace"]))


def kwik(dim: int, model: str, values: Values) -> Method:
    return Kwik(item_model(dim, model, values), threshold=positive("threshold", values["threshold"]))
