"""Partial feedback: the set of items with the least estimated ranking loss; which is right?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import shares_of
from conquer.checks import number, one_of, positive, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.covariance import SPREADS, Spread, rolled_back
from conquer.rivals.estimators.estimator import sigmoid
from conquer.rivals.learner import Arrays, Method, Pick, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class PartialFeedback:
    """Shows the set of items with the least estimated ranking loss and asks which one is right.

    Claudio Gentile and Francesco Orabona: On multilabel classification and ranking with partial feedback, 2012, and
    with bandit feedback, 2014.

    With p_i from the upper bound min(s_i + eps_i, 1), the prefix of size s of items sorted by p that minimises
    sum_j c(j, s) - (a/(1-a) + c(j, s)) p_j, c(j, s) = (s - j + 1)/s; at least one item, at most `show`. Here one item
    is right: the answer names it, or none. Every shown item is learnt, with y = 1 if right and -1 if not: A += x x',
    w += g(y s) y A^-1 x / curve, with g(m) = 1 - m (square) or 1/(1 + e^m) (logistic).

    `model`: A "full" or "diagonal". `eta`: widths are sqrt(eta v). `a`: the cost of a right item that is not shown.
    `lam`: A starts at lam I. `loss` and `curve`: the loss and its least curvature. `show`: the size of the largest set.

    >>> from conquer.registry import make
    >>> learner = make("partial-feedback", dim=3, show=2, eta=10.0)
    >>> learner.choose(np.eye(3), 7).shown
    (0, 2)
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
        widths = np.sqrt(self.eta * self.spread.variances(items, columns))
        margins = np.clip(items @ self.w[columns] + widths, -1.0, 1.0)
        p = 1.0 / (1.0 + np.exp(-margins)) if self.logistic else 0.5 * (1.0 + margins)
        # Draws of the ticket break ties.
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
        shares = shares_of(answer, len(choice.shown))
        columns, items = self.spread.local(X.take(list(choice.shown)))
        w = self.w[columns].copy()
        with rolled_back(self.spread, columns):
            for x, share in zip(items, shares, strict=False):
                side, margin = 2.0 * share - 1.0, float(w @ x)
                self.spread.add(x, columns, 1.0)
                gain = 0.5 * (1.0 + side) - float(sigmoid(margin)) if self.logistic else side - margin
                w += (gain / self.curve) * self.spread.times(x, columns)
                finite(w)
        self.w[columns] = w

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self.w[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"w": self.w, **self.spread.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (w,) = adopt(arrays, {"w": (self.dim,)})
        self.spread.restore(arrays)
        self.w = w


def build(dim: int, model: str, values: Values) -> Method:
    one_of("loss", values["loss"], {"square": 0, "logistic": 1})
    return PartialFeedback(
        dim,
        model=model,
        eta=number("eta", values["eta"], 0.0),
        a=number("a", values["a"], 0.0, 0.999),
        lam=positive("lam", values["lam"]),
        loss=values["loss"],
        curve=positive("curve", values["curve"]),
        show=whole("show", values["show"], 1, 1000),
    )
