"""The linear link over CONQUER's own models."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.models.model import CompiledModel
from conquer.rivals.estimators.estimator import Measured
from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats


class Linear:
    """CONQUER's own link E[y] = theta.z/2 over any of its models; V = 4 A, hence lam here is 4 times lam there.

    >>> from conquer.models.full import Full
    >>> from conquer.rows import as_rows
    >>> estimator, X = Linear(Full(2, lam=0.25)), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> [part.round(3).tolist() for part in estimator.measure(X)]
    [[0.667, -0.667], [0.667, 0.667], [[0.0, 0.667], [0.667, 0.0]]]
    """

    def __init__(self, model: CompiledModel) -> None:
        self.model = model

    def scores(self, X: SparseRows) -> Floats:
        return self.model.scores(X)

    def measure(self, X: SparseRows) -> Measured:
        """Scores, variances and contrasts, which every model has."""
        count = len(X)
        squares = np.zeros((count, count))
        for pivot in range(count - 1):
            # Only the items after the pivot: with a kernel each one costs a solve.
            contrasts = self.model.contrasts(X.take(np.arange(pivot, count)), 0)[1:]
            squares[pivot, pivot + 1 :] = squares[pivot + 1 :, pivot] = 0.25 * contrasts
        return self.model.scores(X), 0.25 * self.model.variances(X), squares

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        root = math.sqrt(weight)
        self.model.update(X, {i: 0.5 * root, j: -0.5 * root}, root * answer)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.model.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.model.restore(arrays)
