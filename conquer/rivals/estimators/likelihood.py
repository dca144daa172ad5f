"""The exact logistic estimate from all answers so far, over features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.covariance import FullSpread, inverse
from conquer.rivals.estimators.estimator import Measured, sigmoid
from conquer.rivals.estimators.items import between
from conquer.rivals.estimators.newton import minimise
from conquer.rivals.learner import Arrays, finite
from conquer.rows import SparseRows
from conquer.types import Floats


def fit(Z: Floats, targets: Floats, weights: Floats, lam: float, start: Floats) -> Floats:
    """(D,): the root of lam theta = sum_s weights_s (targets_s - sigma(theta.z_s)) z_s, by damped Newton steps.

    >>> fit(np.array([[1.0]]), np.array([1.0]), np.array([1.0]), 1.0, np.zeros(1)).round(4).tolist()
    [0.4011]
    """

    def loss(theta: Floats) -> float:
        margins = Z @ theta
        costs = (1.0 - targets) * np.logaddexp(0.0, margins) + targets * np.logaddexp(0.0, -margins)
        return float(0.5 * lam * theta @ theta + weights @ costs)

    def step(theta: Floats) -> Floats:
        margins = Z @ theta
        # Both tails by themselves: 1 - sigma would lose the digits that a small lam is weighed against.
        up, down = np.exp(-np.logaddexp(0.0, -margins)), np.exp(-np.logaddexp(0.0, margins))
        slope = lam * theta + Z.T @ (weights * ((1.0 - targets) * up - targets * down))
        bend = lam * np.eye(theta.size) + (Z * (weights * up * down)[:, None]).T @ Z
        return np.asarray(np.linalg.solve(bend, slope), np.float64)

    return minimise(start, loss, step, "logistic")


class Likelihood:
    """Bradley-Terry by maximum likelihood with the penalty lam |theta|^2/2, refitted after every answer.

    Widths from V = lam I + sum z z' as in the papers that use it, or with `curved` from the Hessian
    lam I + sum sigma'(theta.z) z z' at the estimate. Time and memory grow with the answers. `penalty`: another
    number in place of lam for the estimate alone.

    >>> from conquer.rows import as_rows
    >>> estimator, X = Likelihood(2, lam=1.0), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.weights().round(3).tolist()
    [0.337, -0.337]
    """

    def __init__(self, dim: int, *, lam: float, curved: bool = False, penalty: float | None = None) -> None:
        self.dim, self.lam, self.curved = dim, lam, curved
        self.penalty = lam if penalty is None else penalty
        self.theta: Floats = np.zeros(dim)
        self.spread = FullSpread(dim, lam)
        self.count = 0
        self._room(16)

    def _room(self, size: int) -> None:
        Z, y, w = np.zeros((size, self.dim)), np.zeros(size), np.zeros(size)
        if self.count:
            Z[: self.count], y[: self.count], w[: self.count] = self.history()
        self.Z, self.targets, self.shares = Z, y, w

    def history(self) -> tuple[Floats, Floats, Floats]:
        """Differences (n, D), targets (n,) in [0, 1] and weights (n,) so far."""
        return self.Z[: self.count], self.targets[: self.count], self.shares[: self.count]

    def weights(self) -> Floats:
        """(D,): a copy of theta."""
        return self.theta.copy()

    def scores(self, X: SparseRows) -> Floats:
        return np.asarray(self.spread.local(X)[1] @ self.theta)

    def measure(self, X: SparseRows) -> Measured:
        columns, items = self.spread.local(X)
        squares = between(items, lambda Z: self.spread.variances(Z, columns))
        return items @ self.theta, self.spread.variances(items, columns), squares

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        items = self.spread.local(X.take([i, j]))[1]
        z = items[0] - items[1]
        if self.count == self.targets.size:
            self._room(2 * self.count)
        at = self.count
        self.Z[at], self.targets[at], self.shares[at] = z, 0.5 * (1.0 + answer), weight
        known = slice(0, at + 1)
        theta = fit(self.Z[known], self.targets[known], self.shares[known], self.penalty, self.theta)
        finite(theta)
        if self.curved:
            Z, shares = self.Z[known], self.shares[known]
            chances = sigmoid(Z @ theta)
            bend = self.lam * np.eye(self.dim) + (Z * (shares * chances * (1.0 - chances))[:, None]).T @ Z
            self.spread.S = inverse(bend, self.lam)
        else:
            self.spread.add(z, slice(None), weight)
        self.count, self.theta = at + 1, theta

    def arrays(self) -> dict[str, NDArray[Any]]:
        Z, targets, shares = self.history()
        return {"theta": self.theta, "Z": Z, "targets": targets, "shares": shares, **self.spread.arrays()}

    def restore(self, arrays: Arrays) -> None:
        shapes = {"theta": (self.dim,), "Z": (-1, self.dim), "targets": (-1,), "shares": (-1,)}
        theta, Z, targets, shares = adopt(arrays, shapes)
        if not len(Z) == targets.size == shares.size:
            raise ValueError(
                f"expected one target and one weight per difference, got {len(Z)}, {targets.size} and {shares.size}"
            )
        if targets.size and not (targets.min() >= 0 and targets.max() <= 1 and shares.min() >= 0):
            raise ValueError("targets must be in [0, 1] and weights not negative")
        self.spread.restore(arrays)
        self.theta, self.Z, self.targets, self.shares, self.count = theta, Z, targets, shares, targets.size
        if self.count < 16:
            self._room(16)
