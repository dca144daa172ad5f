"""Second-order single-item rivals that explore at a fixed rate: Newtron and SOBA, in the item setting.

A class label i with features x is here an item phi_i: e_i (x) x becomes phi_i, and (1/K) 1 (x) x the mean item.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.contextual.covariance import SPREADS, Spread, all_features, over_features
from conquer.rivals.learner import Arrays, Pick
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


def drawn(chances: Floats, u: float) -> int:
    """The position where u in [0, 1) falls among the chances.

    >>> drawn(np.array([0.5, 0.5]), 0.6)
    1
    """
    return min(int(np.searchsorted(np.cumsum(chances), u, side="right")), chances.size - 1)


class Newtron:
    """Hazan & Kale 2011: follow the approximate leader of log losses, from one bit a round. Draw 0 is the item.

    p = softmax(alpha s), shown from p' = (1 - gamma) p + gamma/K. The estimate g of the slope of the log loss is
    ((1 - p_y)/p'_y)(mean - phi_y) if right, (p_y/p'_y)(phi_y - mean) if wrong: its mean over the draw is sum p phi -
    phi_right, the slope itself. kappa = p'_y if right, else 1: A += kappa beta g g', b += (1 - kappa beta g.w) g,
    w = argmin w'Aw/2 + b.w in the ball of `radius`, A_0 = I/radius.
    """

    duels = False
    shows = 1

    def __init__(self, dim: int, *, model: str, alpha: float, beta: float, gamma: float, radius: float) -> None:
        self.dim, self.alpha, self.beta, self.gamma, self.radius = dim, alpha, beta, gamma, radius
        self.whole = model == "full"
        self.A: Floats = np.eye(dim) / radius if self.whole else np.full(dim, 1.0 / radius)
        self.b: Floats = np.zeros(dim)
        self.w: Floats = np.zeros(dim)

    def _local(self, X: SparseRows) -> tuple[Any, Floats]:
        return (slice(None), all_features(X)) if self.whole else over_features(X)

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        scores = self.alpha * self.scores(X)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        mixed = (1.0 - self.gamma) * p + self.gamma / p.size
        shown = drawn(mixed, draws.uniform(0))
        return Pick((shown,), Query.BEST, {"p": float(p[shown])}, float(mixed[shown]))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        p, chance = choice.memo.get("p"), choice.memo.get("chance")
        if not isinstance(p, float) or not isinstance(chance, float) or not (0 <= p <= 1 and 0 < chance <= 1):
            raise ValueError(f"the choice must remember its chances, got {p!r} and {chance!r}")
        columns, items = self._local(X)
        away = items[choice.shown[0]] - items.mean(axis=0)
        g = -((1.0 - p) / chance) * away if answer > 0 else (p / chance) * away
        step = (chance if answer > 0 else 1.0) * self.beta
        gain = 1.0 - step * float(g @ self.w[columns])
        A, b = self.A.copy(), self.b.copy()
        if self.whole:
            A += step * np.outer(g, g)
        else:
            A[columns] += step * g * g
        b[columns] += gain * g
        self.w = self._leader(A, b)
        self.A, self.b = A, b

    def _leader(self, A: Floats, b: Floats) -> Floats:
        """argmin w'Aw/2 + b.w within the ball: -(A + mu I)^-1 b with the smallest mu >= 0 that fits."""
        if self.whole:
            values, vectors = np.linalg.eigh(A)
            return np.asarray(vectors @ _shrunk(vectors.T @ b, values, self.radius))
        return _shrunk(b, A, self.radius)

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self._local(X)
        return np.asarray(items @ self.w[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"A": self.A, "b": self.b, "w": self.w}

    def restore(self, arrays: Arrays) -> None:
        A, b, w = adopt(arrays, {"A": self.A.shape, "b": (self.dim,), "w": (self.dim,)})
        if ((A.diagonal() if self.whole else A) <= 0).any() or (self.whole and not np.array_equal(A, A.T)):
            raise ValueError("array 'A' must be symmetric with a positive diagonal")
        self.A, self.b, self.w = A, b, w


def _shrunk(b: Floats, a: Floats, radius: float) -> Floats:
    """-b/(a + mu) with the smallest mu >= 0 of norm at most the radius: Newton on 1/norm, which never overshoots."""
    mu = 0.0
    for _ in range(100):
        w = -b / (a + mu)
        norm = float(np.sqrt(w @ w))
        if norm <= radius * (1.0 + 1e-12):
            return np.asarray(w)
        mu += (norm / radius - 1.0) * norm * norm / float((w * w / (a + mu)).sum())
    raise ArithmeticError(f"no multiplier found for the ball of radius {radius}")


class SOBA:
    """Beygelzimer, Orabona, Zhang 2017: second-order Banditron. Draw 0 is the item.

    The argmax, or with chance gamma any. Only right answers teach: g = (phi_other - phi_y)/p_y against the best other
    item, z = sqrt(p_y) g, m = ((w.z)^2 + 2 w.g)/(1 + z'A^-1 z); taken when m plus the sum of those taken is not
    negative: A += z z', theta -= g, w = A^-1 theta.
    """

    duels = False
    shows = 1

    def __init__(self, dim: int, *, model: str, gamma: float, lam: float) -> None:
        self.dim, self.gamma = dim, gamma
        self.spread: Spread = SPREADS[model](dim, lam)
        self.theta: Floats = np.zeros(dim)
        self.taken = 0.0

    def _weights(self, columns: Any) -> Floats:
        if isinstance(columns, slice):
            return self.spread.times(self.theta, columns)
        return self.spread.times(self.theta[columns], columns)

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        count = len(X)
        chances = np.full(count, self.gamma / count)
        chances[draws.largest(self.scores(X))] += 1.0 - self.gamma
        shown = drawn(chances, draws.uniform(0))
        return Pick((shown,), Query.BEST, {}, float(chances[shown]))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        chance = choice.memo.get("chance")
        if not isinstance(chance, float) or not 0 < chance <= 1:
            raise ValueError(f"the choice must remember its chance in (0, 1], got {chance!r}")
        if answer < 0 or len(X) < 2:
            return
        columns, items = self.spread.local(X)
        w = self._weights(columns)
        values = items @ w
        shown = choice.shown[0]
        values[shown] = -math.inf
        g = (items[int(values.argmax())] - items[shown]) / chance
        z = math.sqrt(chance) * g
        lead, width = float(w @ g), float(z @ self.spread.times(z, columns))
        m = (float(w @ z) ** 2 + 2.0 * lead) / (1.0 + width)
        if m + self.taken >= 0.0:
            self.taken += m
            self.spread.add(z, columns, 1.0)
            self.theta[columns] -= g

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self._weights(columns))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"theta": self.theta, "taken": np.array([self.taken]), **self.spread.arrays()}

    def restore(self, arrays: Arrays) -> None:
        theta, taken = adopt(arrays, {"theta": (self.dim,), "taken": (1,)})
        self.spread.restore(arrays)
        self.theta, self.taken = theta, float(taken[0])
