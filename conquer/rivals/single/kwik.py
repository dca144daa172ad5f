"""KWIK: asks about the item known least while any is too little known, then only shows the best."""

from typing import Any

from numpy.typing import NDArray

from conquer.checks import positive
from conquer.learners.algorithm import Values
from conquer.models.model import CompiledModel
from conquer.rivals.estimators.build import item_model
from conquer.rivals.learner import Arrays, Method, Pick
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class Kwik:
    """Knows what it knows: an item wider than `threshold` is asked about, else the best is shown and nothing asked.

    Thomas J. Walsh, Istvan Szita, Carlos Diuk and Michael L. Littman: Exploring compact reinforcement-learning
    representations with linear regression, 2009.

    `model`: the ridge regression. `threshold`: the width at which an item counts as known.

    >>> import numpy as np
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


def build(dim: int, model: str, values: Values) -> Method:
    ridge = item_model(dim, model, values)
    return Kwik(ridge, threshold=positive("threshold", values["threshold"]))
