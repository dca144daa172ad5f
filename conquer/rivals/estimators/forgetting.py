"""Tastes that move: the linear link with a forgetting factor or a sliding window over its additive statistics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.covariance import inverse
from conquer.rivals.estimators.stepwise import Sloped
from conquer.rivals.learner import Arrays, finite
from conquer.rows import SparseRows
from conquer.types import Floats


class Forgetting(Sloped):
    """V - lam I = sum_s f^(t-s) z z' and b = sum_s f^(t-s) 2 y z over all answers, or over the last `window`.

    With f = 1 and no window it is the linear link exactly. Whole matrices are refactored at every answer (D^3).
    The diagonal form keeps per-feature sums (the coordinate reading), decayed all at once.

    >>> from conquer.rows import as_rows
    >>> estimator, X = Forgetting(2, lam=1.0, model="full", window=1), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.learn(X, 1, 0, +1.0)
    >>> estimator.weights().round(3).tolist()
    [-0.667, 0.667]
    """

    def __init__(self, dim: int, *, lam: float, model: str, forget: float = 1.0, window: int | None = None) -> None:
        super().__init__(dim, lam=lam, model=model)
        self.lam, self.forget, self.window = lam, forget, window
        self.whole = model == "full"
        self.sums: Floats = np.zeros((dim, dim) if self.whole else dim)
        self.b: Floats = np.zeros(dim)
        self.Z: Floats = np.zeros((0, dim))
        self.gains: Floats = np.zeros((0, 2))

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        columns, items = self.spread.local(X.take([i, j]))
        z = np.zeros(self.dim)
        z[columns] = items[0] - items[1]
        told = np.array([[weight, 2.0 * answer * weight]])
        if self.window is None:
            sums, b, Z, gains = self.forget * self.sums, self.forget * self.b, self.Z, self.gains
            self._count(sums, b, z[None], told)
        else:
            Z = np.concatenate([self.Z, z[None]])[-self.window :]
            gains = np.concatenate([self.gains, told])[-self.window :]
            # Recounted, not subtracted: differences of large sums would drift for ever.
            sums, b = np.zeros_like(self.sums), np.zeros_like(self.b)
            self._count(sums, b, Z, gains)
        self._solve(sums, b)
        self.sums, self.b, self.Z, self.gains = sums, b, Z, gains

    def _count(self, sums: Floats, b: Floats, Z: Floats, gains: Floats) -> None:
        """Add these answers to the sums."""
        for z, (weight, gain) in zip(Z, gains, strict=True):
            sums += weight * (np.outer(z, z) if self.whole else z * z)
            b += gain * z

    def _solve(self, sums: Floats, b: Floats) -> None:
        """S and theta of these sums."""
        S = inverse(sums + self.lam * np.eye(self.dim), self.lam) if self.whole else 1.0 / (sums + self.lam)
        theta = S @ b if self.whole else S * b
        finite(S, theta)
        self.spread.S, self.theta = S, theta

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"sums": self.sums, "b": self.b, "Z": self.Z, "gains": self.gains}

    def restore(self, arrays: Arrays) -> None:
        shapes = {"sums": self.sums.shape, "b": (self.dim,), "Z": (-1, self.dim), "gains": (-1, 2)}
        sums, b, Z, gains = adopt(arrays, shapes)
        if len(Z) != len(gains) or len(Z) > (self.window or 0):
            raise ValueError(f"a window of {self.window} cannot hold {len(Z)} pairs and {len(gains)} answers")
        diagonal = sums.diagonal() if self.whole else sums
        if (diagonal < 0).any() or (self.whole and not np.array_equal(sums, sums.T)):
            raise ValueError("array 'sums' must be symmetric with no negative diagonal")
        self.sums, self.b, self.Z, self.gains = sums, b, Z, gains
        if diagonal.any():
            self._solve(sums, b)
