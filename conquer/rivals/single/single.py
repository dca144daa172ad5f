"""Rivals that show one item, or a set, and hear whether it is the best: epoch-greedy, KWIK, partial feedback."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import decode
from conquer.files import adopt
from conquer.models.model import CompiledModel
from conquer.rivals.contextual.covariance import SPREADS, Spread
from conquer.rivals.contextual.estimators import sigmoid
from conquer.rivals.learner import Arrays, Pick
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class EpochGreedy:
    """Langford & Zhang 2007: one round of exploration, then as many greedy ones as the fit is worth.

    Exploring rounds alone are learnt, by ridge with importance weight K. After n of them, floor(pace sqrt(n/K)) greedy
    rounds follow: one over the width of n uniform samples. Draw 0 is the explored item.
    """

    duels = False
    shows = 1

    def __init__(self, model: CompiledModel, *, pace: float) -> None:
        self.model, self.pace = model, pace
        self.explored, self.left = 0, 0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        count = len(X)
        if self.left == 0:
            return Pick((draws.below(0, count),), Query.BEST, {"explore": True}, 1.0 / count)
        return Pick((draws.largest(self.model.scores(X)),), Query.BEST, {"explore": False}, 1.0)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        if choice.memo.get("explore"):
            root = math.sqrt(len(X))
            self.model.update(X, {choice.shown[0]: root}, root * answer)
            self.explored += 1
            self.left = int(self.pace * math.sqrt(self.explored / len(X)))
        else:
            self.left = max(self.left - 1, 0)

    def scores(self, X: SparseRows) -> Floats:
        return self.model.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"epoch": np.array([self.explored, self.left], np.int64), **self.model.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (epoch,) = adopt(arrays, {"epoch": (2,)}, np.int64)
        if (epoch < 0).any():
            raise ValueError(f"the epoch must not be negative, got {epoch.tolist()}")
        self.model.restore(arrays)
        self.explored, self.left = (int(n) for n in epoch)


class Kwik:
    """Walsh et al. 2009: knows what it knows. An item wider than `threshold` is asked about, else the best is shown."""

    duels = False
    shows = 1

    def __init__(self, model: CompiledModel, *, threshold: float) -> None:
        self.model, self.threshold = model, threshold

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        variances = self.model.variances(X)
        if variances.max() > self.threshold**2:
            return Pick((draws.largest(variances),), Query.BEST)
        return Pick((draws.largest(self.model.scores(X)),), Query.NONE)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        self.model.update(X, {choice.shown[0]: 1.0}, answer)

    def scores(self, X: SparseRows) -> Floats:
        return self.model.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.model.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.model.restore(arrays)


class PartialFeedback:
    """Gentile & Orabona 2012, 2014: shows the set that minimises an estimated ranking loss and hears which are right.

    With p_i from the upper bound min(s_i + eps_i, 1), the prefix of size s of items sorted by p that minimises
    sum_j c(j, s) - (a/(1-a) + c(j, s)) p_j, c(j, s) = (s - j + 1)/s; at least one item, at most `show`. Here one item
    is right: the answer names it or none. Right items are pushed up, the other shown ones down: A += x x',
    w += g(y s) y A^-1 x / curve, with g(m) = 1 - m (square) or 1/(1 + e^m) (logistic).
    """

    duels = False

    def __init__(
        self, dim: int, *, model: str, eta: float, a: float, lam: float, loss: str, curve: float, show: int
    ) -> None:
        self.dim, self.eta, self.a, self.curve, self.shows = dim, eta, a, curve, show
        self.logistic = loss == "logistic"
        self.spread: Spread = SPREADS[model](dim, lam)
        self.w: Floats = np.zeros(dim)

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        columns, items = self.spread.local(X)
        widths = np.sqrt(self.eta * self.spread.gram(items, columns).diagonal())
        margins = np.clip(items @ self.w[columns] + widths, -1.0, 1.0)
        p = 1.0 / (1.0 + np.exp(-margins)) if self.logistic else 0.5 * (1.0 + margins)
        # Equal chances keep the ticket's order, so that nothing but the ticket breaks ties.
        order = np.lexsort((draws.uniforms(len(X)), -p))[: self.shows]
        sizes = range(1, order.size + 1)
        best = min(sizes, key=lambda size: self.cost(p[order[:size]]))
        shown = tuple(int(k) for k in order[:best])
        return Pick(shown, Query.BEST) if best == 1 else Pick(shown, Query.DUEL, {"outside": True})

    def cost(self, p: Floats) -> float:
        """The estimated loss of showing items of these chances, largest first, over showing none."""
        size = p.size
        c = np.arange(size, 0, -1) / size
        return float((c - (self.a / (1.0 - self.a) + c) * p).sum())

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shares = decode(answer, len(choice.shown))
        for position, k in enumerate(choice.shown):
            columns, items = self.spread.local(X.take([k]))
            x, side = items[0], 2.0 * shares[position] - 1.0
            margin = float(self.w[columns] @ x)
            self.spread.add(x, columns, 1.0)
            gain = 0.5 * (1.0 + side) - float(sigmoid(margin)) if self.logistic else side - margin
            self.w[columns] += (gain / self.curve) * self.spread.times(x, columns)

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self.w[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"w": self.w, **self.spread.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (w,) = adopt(arrays, {"w": (self.dim,)})
        self.spread.restore(arrays)
        self.w = w
