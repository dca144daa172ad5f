"""Epoch-greedy: a random item, then greedy ones as long as the fit is worth."""

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
"""Greedy rounds in a row: more than anybody lives to see, and a number that a file holds."""


class EpochGreedy:
    """One round of exploration, then as many greedy ones as the fit is worth.

    John Langford and Tong Zhang: The epoch-greedy algorithm for multi-armed bandits with side information, 2007.

    Exploring rounds alone are learnt, by ridge with importance weight K. After n of them, floor(pace sqrt(n/K)) greedy
    rounds follow: one over the width of n uniform samples. Draw 0 is the explored item.

    `model`: the ridge regression. `pace`: how many greedy rounds follow one of exploration.

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


def build(dim: int, model: str, values: Values) -> Method:
    ridge = item_model(dim, model, values)
    return EpochGreedy(ridge, pace=positive("pace", values["pace"]))
