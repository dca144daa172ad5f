"""Bradley-Terry over a kernel, refitted after every answer: the estimator of MaxMinLCB's paper."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.covariance import all_features
from conquer.rivals.estimators.estimator import sigmoid
from conquer.rivals.estimators.newton import minimise
from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats


class KernelLikelihood:
    """f = sum_s a_s k(z_s, .), the minimiser of lam |f|^2/2 plus the logistic loss: lam a = weight (target - sigma(f)).

    z_s stands for the difference of a pair's two items in the kernel's space. Widths from lam I + sum weight z z', as
    for features. An answer costs n^3, so this is for hundreds of them. Kernels as in `models.kernel`.

    >>> from conquer.rows import as_rows
    >>> estimator = KernelLikelihood(2, lam=1.0, kernel="linear", scale=1.0, degree=2)
    >>> X = as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.scores(X).round(3).tolist()
    [0.337, -0.337]
    """

    def __init__(self, dim: int, *, lam: float, kernel: str, scale: float, degree: int) -> None:
        self.dim, self.lam, self.kernel, self.scale, self.degree = dim, lam, kernel, scale, degree
        self.pairs: Floats = np.zeros((0, 2, dim))
        self.targets: Floats = np.zeros(0)
        self.shares: Floats = np.zeros(0)
        self.a: Floats = np.zeros(0)
        self._prepare()

    def values(self, X: Floats, Y: Floats) -> Floats:
        """(n, m): k(x, y)."""
        product = X @ Y.T
        if self.kernel == "linear":
            return np.asarray(product)
        xx, yy = (X * X).sum(axis=1)[:, None], (Y * Y).sum(axis=1)[None, :]
        if self.kernel == "rbf":
            return np.asarray(np.exp(-self.scale * np.maximum(xx + yy - 2.0 * product, 0.0)))
        norms = np.sqrt((self.scale * xx + 1.0) * (self.scale * yy + 1.0))
        return np.asarray(((self.scale * product + 1.0) / norms) ** self.degree)

    def cross(self, X: Floats) -> Floats:
        """(K, n): k(x, z_s)."""
        return self.values(X, self.pairs[:, 0]) - self.values(X, self.pairs[:, 1])

    def _prepare(self) -> None:
        """The Gram matrix of the differences, and the inverse that widths need."""
        self.G = self.cross(self.pairs[:, 0]) - self.cross(self.pairs[:, 1])
        root = np.sqrt(self.shares)
        self.inverse = np.linalg.inv(self.lam * np.eye(root.size) + root[:, None] * self.G * root)

    def scores(self, X: SparseRows) -> Floats:
        return np.asarray(self.cross(all_features(X)) @ self.a)

    def measure(self, X: SparseRows) -> tuple[Floats, Floats]:
        items = all_features(X)
        cross = self.cross(items)
        weighed = cross * np.sqrt(self.shares)
        gram = (self.values(items, items) - weighed @ self.inverse @ weighed.T) / self.lam
        return cross @ self.a, 0.5 * (gram + gram.T)

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        before = self.arrays()
        self.pairs = np.concatenate([self.pairs, all_features(X.take([i, j]))[None]])
        self.targets, self.shares = np.append(self.targets, 0.5 * (1.0 + answer)), np.append(self.shares, weight)
        self._prepare()
        try:
            self.a = self._fit(np.append(self.a, 0.0))
        except ArithmeticError:
            self.restore(before)
            raise

    def _fit(self, a: Floats) -> Floats:
        """Damped Newton steps on the coefficients."""

        def loss(a: Floats) -> float:
            f = self.G @ a
            return float(0.5 * self.lam * a @ f + self.shares @ (np.logaddexp(0.0, f) - self.targets * f))

        def step(a: Floats) -> Floats:
            chances = sigmoid(self.G @ a)
            curvature = self.shares * chances * (1.0 - chances)
            slope = self.lam * a - self.shares * (self.targets - chances)
            return np.linalg.solve(self.lam * np.eye(a.size) + curvature[:, None] * self.G, slope)

        return minimise(a, loss, step, "logistic")

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"pairs": self.pairs, "targets": self.targets, "shares": self.shares, "a": self.a}

    def restore(self, arrays: Arrays) -> None:
        shapes = {"pairs": (-1, 2, self.dim), "targets": (-1,), "shares": (-1,), "a": (-1,)}
        pairs, targets, shares, a = adopt(arrays, shapes)
        if not len(pairs) == targets.size == shares.size == a.size:
            raise ValueError(
                f"expected one target, weight and coefficient per pair, got {len(pairs)}, {targets.size}, {a.size}"
            )
        if targets.size and not (targets.min() >= 0 and targets.max() <= 1 and shares.min() >= 0):
            raise ValueError("targets must be in [0, 1] and weights not negative")
        self.pairs, self.targets, self.shares, self.a = pairs, targets, shares, a
        self._prepare()
