"""The linear link over CONQUER's own models."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.models.model import CompiledModel
from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats


class Linear:
    """CONQUER's own link E[y] = theta.z/2 over any of its models; V = 4 A, hence lam here is 4 times lam there.

    >>> from conquer.models.full import Full
    >>> from conquer.rows import as_rows
    >>> estimator, X = Linear(Full(2, lam=0.25)), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.scores(X).round(3).tolist(), estimator.measure(X)[1].round(3).tolist()
    ([0.667, -0.667], [[0.667, 0.333], [0.333, 0.667]])
    """

    def __init__(self, model: CompiledModel) -> None:
        self.model = model

    def scores(self, X: SparseRows) -> Floats:
        return self.model.scores(X)

    def measure(self, X: SparseRows) -> tuple[Floats, Floats]:
        """Scores, and X V^-1 X' put together from variances and contrasts, which every model has."""
        variances, count = self.model.variances(X), len(X)
        gram = np.diag(0.25 * variances)
        for pivot in range(count - 1):
            # Only the items after the pivot: with a kernel each one costs a solve.
            contrasts = self.model.contrasts(X.take(np.arange(pivot, count)), 0)[1:]
            row = 0.125 * (variances[pivot] + variances[pivot + 1 :] - contrasts)
            gram[pivot, pivot + 1 :] = gram[pivot + 1 :, pivot] = row
        return self.model.scores(X), gram

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        root = math.sqrt(weight)
        self.model.update(X, {i: 0.5 * root, j: -0.5 * root}, root * answer)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.model.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.model.restore(arrays)
