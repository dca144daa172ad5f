"""What an estimator is, the linear link over CONQUER's own models, and weights against corrupted answers."""

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conquer.models.model import CompiledModel
from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats

Measured = tuple[Floats, Floats, Floats]
"""Means (K,), squared widths of the items x'V^-1 x (K,), and of their differences z'V^-1 z (K, K)."""


class Estimator(Protocol):
    """A parameter theta with a covariance, learnt from duels.

    Every estimator uses z = x_i - x_j and V = lam I + sum z z', so that eta means the same for all of them. `answer` is
    y in [-1, 1] for item i against item j. An error leaves the state unchanged.
    """

    def scores(self, X: SparseRows) -> Floats: ...
    def measure(self, X: SparseRows) -> Measured: ...
    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: Arrays) -> None: ...


def sigmoid(x: Any) -> Any:
    """1/(1 + e^-x) without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x)))


class Linear:
    """CONQUER's own link E[y] = theta.z/2 over any of its models; V = 4 A, so lam here is 4 times lam there.

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


class Robust:
    """RCDB: an answer is learnt with weight min(1, alpha/|z|), where |z| is the width before the answer.

    Qiwei Di, Jiafan He and Quanquan Gu: Nearly optimal algorithms for contextual dueling bandits from adversarial
    feedback, 2025. Uncertain pairs are learnt slowly, so a few wrong answers cannot reverse the estimate.

    >>> from conquer.rivals.estimators.online import Logistic
    >>> from conquer.rows import as_rows
    >>> X, plain = as_rows(np.eye(2), 2), Logistic(2, lam=1.0, model="full")
    >>> careful = Robust(Logistic(2, lam=1.0, model="full"), alpha=0.5)
    >>> for estimator in (plain, careful):
    ...     estimator.learn(X, 0, 1, +1.0)
    >>> bool(careful.scores(X)[0] < plain.scores(X)[0])
    True
    """

    def __init__(self, inner: Estimator, alpha: float) -> None:
        self.inner, self.alpha = inner, alpha

    def scores(self, X: SparseRows) -> Floats:
        return self.inner.scores(X)

    def measure(self, X: SparseRows) -> Measured:
        return self.inner.measure(X)

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        width = math.sqrt(float(self.inner.measure(X.take([i, j]))[2][0, 1]))
        self.inner.learn(X, i, j, answer, weight * (min(1.0, self.alpha / width) if width > 0 else 1.0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.inner.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.inner.restore(arrays)
