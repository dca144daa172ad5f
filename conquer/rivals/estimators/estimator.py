"""What an estimator is, and the logistic function most of them share."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats

Measured = tuple[Floats, Floats, Floats]


class Estimator(Protocol):
    """A parameter theta with a covariance, learnt from duels.

    Every estimator speaks in z = x_i - x_j: V = lam I + sum z z', so that one eta means one thing for all linear V.
    `measure` gives means (K,), squared widths of the items x'V^-1 x (K,) and of their differences z'V^-1 z (K, K).
    `answer` is y in [-1, 1] for item i against item j. An error leaves the state as it was.
    """

    def scores(self, X: SparseRows) -> Floats: ...
    def measure(self, X: SparseRows) -> Measured: ...
    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: Arrays) -> None: ...


def sigmoid(x: Any) -> Any:
    """1/(1 + e^-x) without overflow.

    >>> float(sigmoid(0.0)), float(sigmoid(-1000.0))
    (0.5, 0.0)
    """
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x)))
