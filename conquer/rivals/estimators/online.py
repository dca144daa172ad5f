"""Estimators that take one step per answer, over a full or a diagonal matrix: logistic, probit, linear with decay."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.covariance import Columns, Posterior, inverse
from conquer.rivals.estimators.estimator import sigmoid
from conquer.rivals.learner import Arrays, finite
from conquer.rows import SparseRows
from conquer.types import Floats


class Online(Posterior):
    """An estimator that takes one step per answer."""

    def learn(self, X: SparseRows, i: int, j: int, answer: float, weight: float = 1.0) -> None:
        columns, items = self.spread.local(X.take([i, j]))
        self.step(items[0] - items[1], columns, answer, weight)

    def step(self, z: Floats, columns: Columns, answer: float, weight: float) -> None:
        """Learn the answer to a pair whose difference is z at these columns, 0 elsewhere."""
        raise NotImplementedError


class Logistic(Online):
    """Bradley-Terry by one Newton step per answer: V += s' z z', theta += V^-1 (p - s) z with s = sigma(theta.z).

    That minimises |theta' - theta|_V^2/2 plus the second-order expansion of the new loss. p = (1 + y)/2. Over a
    diagonal V the step uses the V before the answer (the full step), as in the implicit update.

    >>> from conquer.rows import as_rows
    >>> estimator, X = Logistic(2, lam=1.0, model="full"), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.theta.round(3).tolist()
    [0.333, -0.333]
    """

    def step(self, z: Floats, columns: Columns, answer: float, weight: float) -> None:
        chance = float(sigmoid(self.theta[columns] @ z))
        curvature = weight * max(chance * (1.0 - chance), 1e-12)
        direction = self.spread.times(z, columns)
        gain = weight * (0.5 * (1.0 + answer) - chance) / (1.0 + curvature * max(0.0, float(z @ direction)))
        theta = self.theta[columns] + gain * direction
        finite(theta)
        self.spread.add(z, columns, curvature)
        self.theta[columns] = theta


class Probit(Online):
    """P(first) = Phi(theta.z) with a normal posterior whose first two moments are matched after every answer.

    A strength |y| < 1 and a weight scale the step; a tie changes nothing.

    >>> from conquer.rows import as_rows
    >>> estimator, X = Probit(2, lam=1.0, model="full"), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.theta.round(3).tolist()
    [0.461, -0.461]
    """

    def step(self, z: Floats, columns: Columns, answer: float, weight: float) -> None:
        if answer == 0.0:
            return
        side, share = math.copysign(1.0, answer), abs(answer) * weight
        direction = self.spread.times(z, columns)
        scale = math.sqrt(max(0.0, float(z @ direction)) + 1.0)
        m = side * float(self.theta[columns] @ z) / scale
        v = hazard(m)
        theta = self.theta[columns] + direction * (share * side * v / scale)
        finite(theta)
        self.spread.shrink(z, columns, share * min(v * (v + m), 1.0) / scale**2)
        self.theta[columns] = theta


def hazard(m: float) -> float:
    """phi(m)/Phi(m) of the standard normal, stable far in the lower tail.

    >>> round(hazard(0.0), 6), round(hazard(-40.0), 3)
    (0.797885, 40.025)
    """
    from scipy.special import log_ndtr

    return math.exp(-0.5 * m * m - 0.5 * math.log(2.0 * math.pi) - float(log_ndtr(m)))


class Forgetting(Online):
    """The linear link with a forgetting factor f: V - lam I = sum_s f^(t-s) z z' and b = sum_s f^(t-s) 2 y z.

    With f = 1 it equals the linear link. A full matrix is inverted at every answer (D^3). The diagonal form keeps sums
    per feature (the coordinate reading).

    >>> from conquer.rows import as_rows
    >>> estimator, X = Forgetting(2, lam=1.0, model="full", forget=0.5), as_rows(np.eye(2), 2)
    >>> estimator.learn(X, 0, 1, +1.0)
    >>> estimator.learn(X, 1, 0, +1.0)
    >>> estimator.theta.round(3).tolist()
    [-0.25, 0.25]
    """

    def __init__(self, dim: int, *, lam: float, model: str, forget: float) -> None:
        super().__init__(dim, lam=lam, model=model)
        self.lam, self.forget, self.full = lam, forget, model == "full"
        self.sums: Floats = np.zeros((dim, dim) if self.full else dim)
        self.b: Floats = np.zeros(dim)

    def step(self, z: Floats, columns: Columns, answer: float, weight: float) -> None:
        sums, b = self.forget * self.sums, self.forget * self.b
        sums[columns] += weight * (np.outer(z, z) if self.full else z * z)
        b[columns] += 2.0 * answer * weight * z
        self._solve(sums, b)
        self.sums, self.b = sums, b

    def _solve(self, sums: Floats, b: Floats) -> None:
        """S and theta of these sums."""
        S = inverse(sums + self.lam * np.eye(self.dim), self.lam) if self.full else 1.0 / (sums + self.lam)
        theta = S @ b if self.full else S * b
        finite(S, theta)
        self.spread.S, self.theta = S, theta

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"sums": self.sums, "b": self.b}

    def restore(self, arrays: Arrays) -> None:
        sums, b = adopt(arrays, {"sums": self.sums.shape, "b": (self.dim,)})
        diagonal = sums.diagonal() if self.full else sums
        if (diagonal < 0).any() or (self.full and not np.array_equal(sums, sums.T)):
            raise ValueError("array 'sums' must be symmetric with no negative diagonal")
        self.sums, self.b = sums, b
        if diagonal.any():
            self._solve(sums, b)
