"""The exact logistic estimate, refitted to all answers after each one: over features or over a kernel."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.covariance import Posterior, all_features, inverse, pairs
from conquer.rivals.estimators.estimator import Measured, sigmoid
from conquer.rivals.learner import Arrays, finite
from conquer.rows import SparseRows
from conquer.types import Floats

STEPS, TOLERANCE = 200, 1e-10


def minimise(start: Floats, loss: Callable[[Floats], float], step: Callable[[Floats], Floats], name: str) -> Floats:
    """The minimum of a convex `loss` by damped Newton steps; `step(x)` is the inverse Hessian times the slope at x.

    A step that would raise the loss is halved. Raises an ArithmeticError, which names the estimate, where the steps do
    not converge.
    """
    x, value = start, loss(start)
    for _ in range(STEPS):
        try:
            move = step(x)
        except np.linalg.LinAlgError as error:
            raise FloatingPointError(f"the {name} estimate's Hessian has lost its inverse to rounding") from error
        if float(np.abs(move).max()) <= TOLERANCE * max(1.0, float(np.abs(x).max())):
            return np.asarray(x - move)
        pace = 1.0
        while (found := loss(x - pace * move)) > value + 1e-12 * abs(value) and pace > 1e-18:
            pace *= 0.5
        x, value = x - pace * move, found
    raise ArithmeticError(f"the {name} estimate did not converge within {STEPS} Newton steps")


def fit(Z: Floats, targets: Floats, weights: Floats, lam: float, start: Floats) -> Floats:
    """(D,): the root of lam theta = sum_s weights_s (targets_s - sigma(theta.z_s)) z_s, by damped Newton steps."""

    def loss(theta: Floats) -> float:
        margins = Z @ theta
        costs = (1.0 - targets) * np.logaddexp(0.0, margins) + targets * np.logaddexp(0.0, -margins)
        return float(0.5 * lam * theta @ theta + weights @ costs)

    def step(theta: Floats) -> Floats:
        margins = Z @ theta
        # Each tail is computed directly: 1 - sigma would lose digits that matter beside a small lam.
        up, down = np.exp(-np.logaddexp(0.0, -margins)), np.exp(-np.logaddexp(0.0, margins))
        slope = lam * theta + Z.T @ (weights * ((1.0 - targets) * up - targets * down))
        bend = lam * np.eye(theta.size) + (Z * (weights * up * down)[:, None]).T @ Z
        return np.asarray(np.linalg.solve(bend, slope), np.float64)

    return minimise(start, loss, step, "logistic")


class Likelihood(Posterior):
    """Bradley-Terry by maximum likelihood with the penalty lam |theta|^2/2, refitted after every answer.

    Widths come from V = lam I + sum z z' as in the papers that use it, or with `curved` from the Hessian
    lam I + sum sigma'(theta.z) z z' at the estimate. Time and memory grow with the answers. `penalty` replaces lam in
    the estimate alone.

    >>> from conquer.rows import as_rows
    >>> estimator, X = Likelihood(2, lam=1.0), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.theta.round(3).tolist()
    [0.337, -0.337]
    """

    def __init__(self, dim: int, *, lam: float, curved: bool = False, penalty: float | None = None) -> None:
        super().__init__(dim, lam=lam, model="full")
        self.lam, self.curved = lam, curved
        self.penalty = lam if penalty is None else penalty
        self.Z: Floats = np.zeros((0, dim))
        self.targets: Floats = np.zeros(0)
        self.shares: Floats = np.zeros(0)

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        items = self.spread.local(X.take([i, j]))[1]
        z = items[0] - items[1]
        Z, targets = np.concatenate([self.Z, z[None]]), np.append(self.targets, 0.5 * (1.0 + answer))
        shares = np.append(self.shares, weight)
        theta = fit(Z, targets, shares, self.penalty, self.theta)
        finite(theta)
        if self.curved:
            chances = sigmoid(Z @ theta)
            bend = self.lam * np.eye(self.dim) + (Z * (shares * chances * (1.0 - chances))[:, None]).T @ Z
            self.spread.S = inverse(bend, self.lam)
        else:
            self.spread.add(z, slice(None), weight)
        self.Z, self.targets, self.shares, self.theta = Z, targets, shares, theta

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"Z": self.Z, "targets": self.targets, "shares": self.shares, **super().arrays()}

    def restore(self, arrays: Arrays) -> None:
        (Z,) = adopt(arrays, {"Z": (-1, self.dim)})
        targets, shares = _adopt_answers(arrays, len(Z))
        super().restore(arrays)
        self.Z, self.targets, self.shares = Z, targets, shares


def _adopt_answers(arrays: Arrays, count: int) -> tuple[Floats, Floats]:
    """The targets and weights of `count` answers."""
    targets, shares = adopt(arrays, {"targets": (count,), "shares": (count,)})
    if targets.size and not (targets.min() >= 0 and targets.max() <= 1 and shares.min() >= 0):
        raise ValueError("targets must be in [0, 1] and weights not negative")
    return targets, shares


class KernelLikelihood:
    """f = sum_s a_s k(z_s, .), the minimiser of lam |f|^2/2 plus the logistic loss: lam a = weight (target - sigma(f)).

    The estimator of MaxMinLCB's paper. z_s is the difference of a pair's two items in the kernel's space. Widths come
    from lam I + sum weight z z', as for features. An answer costs n^3: use it for hundreds of them. Kernels are those
    of `models.kernel`.

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
            from scipy.spatial.distance import cdist  # uses differences: squared lengths would cancel

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
        """Compute the Gram matrix of the differences, and the inverse that widths need."""
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
        (pairs,) = adopt(arrays, {"pairs": (-1, 2, self.dim)})
        (a,) = adopt(arrays, {"a": (len(pairs),)})
        self.targets, self.shares = _adopt_answers(arrays, len(pairs))
        self.pairs, self.a = pairs, a
        self._prepare()
