"""Bradley-Terry over a kernel, refitted after every answer: the estimator of MaxMinLCB's paper."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.covariance import inverse
from conquer.rivals.estimators.estimator import Measured, sigmoid
from conquer.rivals.estimators.items import all_features, pairs
from conquer.rivals.estimators.newton import minimise
from conquer.rivals.learner import Arrays, finite
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
        if self.kernel == "rbf":
            from scipy.spatial.distance import cdist  # from differences: squared lengths would cancel

            return np.asarray(np.exp(-self.scale * cdist(X, Y, "sqeuclidean")))
        xx, yy = (X * X).sum(axis=1)[:, None], (Y * Y).sum(axis=1)[None, :]
        norms = np.sqrt((self.scale * xx + 1.0) * (self.scale * yy + 1.0))
        return np.asarray(((self.scale * product + 1.0) / norms) ** self.degree)

    def cross(self, X: Floats) -> Floats:
        """(K, n): k(x, z_s)."""
        if self.kernel == "linear":
            return np.asarray(X @ (self.pairs[:, 0] - self.pairs[:, 1]).T)
        return self.values(X, self.pairs[:, 0]) - self.values(X, self.pairs[:, 1])

    def _prepare(self) -> None:
        """The Gram matrix of the differences, and the inverse that widths need."""
        if self.kernel == "linear":
            self.G = self.cross(self.pairs[:, 0] - self.pairs[:, 1])
        else:
            self.G = self.cross(self.pairs[:, 0]) - self.cross(self.pairs[:, 1])
        root = np.sqrt(self.shares)
        self.inverse = inverse(self.lam * np.eye(root.size) + root[:, None] * self.G * root, self.lam)

    def scores(self, X: SparseRows) -> Floats:
        return np.asarray(self.cross(all_features(X)) @ self.a)

    def measure(self, X: SparseRows) -> Measured:
        items = all_features(X)
        cross = self.cross(items)
        own = (items * items).sum(axis=1) if self.kernel == "linear" else np.ones(len(items))
        rows, columns = pairs(len(items))
        squares = np.zeros((len(items), len(items)))
        squares[rows, columns] = squares[columns, rows] = self._left(*self._apart(items, cross))
        return cross @ self.a, self._left(own, cross), squares

    def _apart(self, items: Floats, cross: Floats) -> tuple[Floats, Floats]:
        """|x_i - x_j|^2 in the kernel's space and k(x_i - x_j, z_s), for all i < j; k(x, x) = 1 but for linear."""
        rows, columns = pairs(len(items))
        if self.kernel == "linear":
            Z = items[rows] - items[columns]
            return (Z * Z).sum(axis=1), self.cross(Z)
        return 2.0 - 2.0 * self.values(items, items)[rows, columns], cross[rows] - cross[columns]

    def _left(self, squares: Floats, cross: Floats) -> Floats:
        """(n,): squared widths, from squared lengths in the kernel's space and products with the pairs learnt."""
        weighed = cross * np.sqrt(self.shares)
        left = squares - ((weighed @ self.inverse) * weighed).sum(axis=1)
        return np.asarray(np.maximum(left, 0.0) / self.lam)

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        trial = copy.copy(self)
        trial.pairs = np.concatenate([self.pairs, all_features(X.take([i, j]))[None]])
        trial.targets, trial.shares = np.append(self.targets, 0.5 * (1.0 + answer)), np.append(self.shares, weight)
        trial._prepare()
        trial.a = trial._fit(np.append(self.a, 0.0))
        finite(trial.a)
        vars(self).update(vars(trial))

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
