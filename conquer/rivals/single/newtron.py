"""Newtron: one item from a softmax of an online Newton step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, positive
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.covariance import LARGEST_RATIO, TOO_LARGE, Columns, all_features, over_features
from conquer.rivals.learner import Arrays, Method, Pick, drawn, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class Newtron:
    """Follow the approximate leader of log losses, from one bit per round. Draw 0 is the item.

    Elad Hazan and Satyen Kale: Newtron: an efficient bandit algorithm for online multiclass prediction, 2011. A class
    label i with features x is here an item phi_i: e_i (x) x becomes phi_i, and (1/K) 1 (x) x the mean item.

    p = softmax(alpha s), shown from p' = (1 - gamma) p + gamma/K. The estimate g of the slope of the log loss is
    ((1 - p_y)/p'_y)(mean - phi_y) if right, (p_y/p'_y)(phi_y - mean) if wrong: its mean over the draw is sum p phi -
    phi_right, the slope itself. kappa = p'_y if right, else 1: A += kappa beta g g', b += (1 - kappa beta g.w) g,
    w = argmin w'Aw/2 + b.w in the ball of `radius`, A_0 = I/radius.

    `model`: A "full" or "diagonal". `alpha`: the sharpness of the softmax. `beta`: the curvature of the losses.
    `gamma`: the share of exploration. `radius`: the largest norm of w.

    >>> from conquer.registry import make
    >>> learner = make("newtron", dim=3, gamma=0.3)
    >>> choice = learner.choose(np.eye(3), 7)
    >>> learner.learn(np.eye(3), choice, +1)
    >>> bool(learner.scores(np.eye(3)).argmax() == choice.shown[0])
    True
    """

    duels = False
    shows = 1

    def __init__(self, dim: int, *, model: str, alpha: float, beta: float, gamma: float, radius: float) -> None:
        self.dim, self.alpha, self.beta, self.gamma, self.radius = dim, alpha, beta, gamma, radius
        self.full = model == "full"
        self.A: Floats = np.eye(dim) / radius if self.full else np.full(dim, 1.0 / radius)
        self.b: Floats = np.zeros(dim)
        self.w: Floats = np.zeros(dim)

    def _local(self, X: SparseRows) -> tuple[Columns, Floats]:
        return (slice(None), all_features(X)) if self.full else over_features(X)

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
            raise ValueError(f"the choice must keep its chances in its memo, got {p!r} and {chance!r}")
        columns, items = self._local(X)
        away = items[choice.shown[0]] - items.mean(axis=0)
        g = -((1.0 - p) / chance) * away if answer > 0 else (p / chance) * away
        step = (chance if answer > 0 else 1.0) * self.beta
        gain = 1.0 - step * float(g @ self.w[columns])
        A, b = self.A.copy(), self.b.copy()
        if self.full:
            A += step * np.outer(g, g)
        else:
            A[columns] += step * g * g
        b[columns] += gain * g
        finite(A, b)
        w = self._leader(A, b)
        finite(w)
        self.A, self.b, self.w = A, b, w

    def _leader(self, A: Floats, b: Floats) -> Floats:
        """argmin w'Aw/2 + b.w within the ball: -(A + mu I)^-1 b with the smallest mu >= 0 that fits."""
        if self.full:
            if A.diagonal().sum() * self.radius > LARGEST_RATIO:
                raise ArithmeticError(TOO_LARGE.format(float(A.diagonal().max() ** 0.5)))
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
        if ((A.diagonal() if self.full else A) <= 0).any() or (self.full and not np.array_equal(A, A.T)):
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


def build(dim: int, model: str, values: Values) -> Method:
    return Newtron(
        dim,
        model=model,
        alpha=positive("alpha", values["alpha"]),
        beta=positive("beta", values["beta"]),
        gamma=number("gamma", values["gamma"], 0.0, 1.0, above=True),
        radius=positive("radius", values["radius"]),
    )
