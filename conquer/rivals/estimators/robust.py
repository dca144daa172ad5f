"""Weights against corrupted answers, as an option of any estimator."""

import math
from typing import Any

from numpy.typing import NDArray

from conquer.rivals.estimators.estimator import Estimator, Measured
from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats


class Robust:
    """RCDB: an answer counts min(1, alpha/|z|), with |z| from before it.

    Qiwei Di, Jiafan He and Quanquan Gu: Nearly optimal algorithms for contextual dueling bandits from adversarial
    feedback, 2025. What is little known is learnt slowly, so that a few wrong answers cannot turn it round.

    >>> import numpy as np
    >>> from conquer.rivals.estimators.stepwise import Logistic
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
