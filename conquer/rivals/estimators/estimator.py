"""What an estimator is, and the logistic function most of them share."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats


class Estimator(Protocol):
    """A parameter theta with a covariance, learnt from duels.

    Every estimator speaks in z = x_i - x_j: V = lam I + sum z z', so that one eta means one thing for all linear V.
    `measure` gives means (K,) and X V^-1 X' (K, K). `answer` is y in [-1, 1] for item i against item j.
    """

    def scores(self, X: SparseRows) -> Floats: ...
    def measure(self, X: SparseRows) -> tuple[Floats, Floats]: ...
    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: Arrays) -> None: ...


def sigmoid(x: Any) -> Any:
    """1/(1 + e^-x) without overflow.

    >>> float(sigmoid(0.0)), float(sigmoid(-1000.0))
    (0.5, 0.0)
    """
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x)))
