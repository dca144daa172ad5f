"""Rivals that learn about single items: Newtron, SOBA, partial feedback, epoch-greedy and KWIK."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import shares_of
from conquer.checks import number, one_of, positive, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.models.model import CompiledModel
from conquer.rivals.estimators.build import item_model
from conquer.rivals.estimators.covariance import (
    LARGEST_RATIO,
    TOO_LARGE,
    Columns,
    Posterior,
    all_features,
    over_features,
    rolled_back,
)
from conquer.rivals.estimators.estimator import sigmoid
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


def newtron(dim: int, model: str, values: Values) -> Method:
    return Newtron(
        dim,
        model=model,
        alpha=positive("alpha", values["alpha"]),
        beta=positive("beta", values["beta"]),
        gamma=number("gamma", values["gamma"], 0.0, 1.0, above=True),
        radius=positive("radius", values["radius"]),
    )


class SOBA(Posterior):
    """Second-order Banditron. Draw 0 is the item.

    Alina Beygelzimer, Francesco Orabona and Chicheng Zhang: Efficient online bandit multiclass learning with
    O~(sqrt(T)) regret, 2017. Classes are items here, as for Newtron.

    It shows the argmax, or with chance gamma a random item. Only "yes" is learnt: g = (phi_other - phi_y)/p_y against
    the best other item, z = sqrt(p_y) g, m = ((w.z)^2 + 2 w.g)/(1 + z'A^-1 z). The step A += z z', theta -= g,
    w = A^-1 theta is taken if m plus the sum of the earlier steps' m is not negative.

    `model`: A "full" or "diagonal". `gamma`: the share of exploration. `lam`: A starts at lam I.

    >>> from conquer.registry import make
    >>> learner = make("soba", dim=3, gamma=0.3)
    >>> choice = learner.choose(np.eye(3), 7)
    >>> learner.learn(np.eye(3), choice, +1)
    >>> bool(learner.scores(np.eye(3)).argmax() == choice.shown[0])
    True
    """

    duels = False
    shows = 1

    def __init__(self, dim: int, *, model: str, gamma: float, lam: float) -> None:
        super().__init__(dim, lam=lam, model=model)
        self.gamma, self.taken = gamma, 0.0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        count = len(X)
        chances = np.full(count, self.gamma / count)
        chances[draws.largest(self.scores(X))] += 1.0 - self.gamma
        shown = drawn(chances, draws.uniform(0))
        return Pick((shown,), Query.BEST, {}, float(chances[shown]))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        chance = choice.memo.get("chance")
        if not isinstance(chance, float) or not 0 < chance <= 1:
            raise ValueError(f"the choice must keep its chance in (0, 1] in its memo, got {chance!r}")
        if answer < 0 or len(X) < 2:
            return
        columns, items = self.spread.local(X)
        w = self.spread.times(self.theta[columns], columns)
        values = items @ w
        shown = choice.shown[0]
        values[shown] = -math.inf
        g = (items[int(values.argmax())] - items[shown]) / chance
        z = math.sqrt(chance) * g
        lead, width = float(w @ g), float(z @ self.spread.times(z, columns))
        m = (float(w @ z) ** 2 + 2.0 * lead) / (1.0 + width)
        if m + self.taken >= 0.0:
            theta = self.theta[columns] - g
            finite(theta, m)
            self.spread.add(z, columns, 1.0)
            self.taken += m
            self.theta[columns] = theta

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self.spread.times(self.theta[columns], columns))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"taken": np.array([self.taken]), **super().arrays()}

    def restore(self, arrays: Arrays) -> None:
        (taken,) = adopt(arrays, {"taken": (1,)})
        super().restore(arrays)
        self.taken = float(taken[0])


def soba(dim: int, model: str, values: Values) -> Method:
    gamma = number("gamma", values["gamma"], 0.0, 1.0, above=True)
    return SOBA(dim, model=model, gamma=gamma, lam=positive("lam", values["lam"]))


class PartialFeedback(Posterior):
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
        super().__init__(dim, lam=lam, model=model)
        self.eta, self.a, self.curve, self.shows = eta, a, curve, show
        self.logistic = loss == "logistic"

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        columns, items = self.spread.local(X)
        widths = np.sqrt(self.eta * self.spread.variances(items, columns))
        margins = np.clip(items @ self.theta[columns] + widths, -1.0, 1.0)
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
        w = self.theta[columns].copy()
        with rolled_back(self.spread, columns):
            for x, share in zip(items, shares, strict=False):
                side, margin = 2.0 * share - 1.0, float(w @ x)
                self.spread.add(x, columns, 1.0)
                gain = 0.5 * (1.0 + side) - float(sigmoid(margin)) if self.logistic else side - margin
                w += (gain / self.curve) * self.spread.times(x, columns)
                finite(w)
        self.theta[columns] = w


def partial_feedback(dim: int, model: str, values: Values) -> Method:
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


_MOST = 2**53
"""The largest number of greedy rounds in a row: whole numbers up to here are exact in floating point."""


class EpochGreedy:
    """One round of exploration, then as many greedy rounds as the fit is worth.

    John Langford and Tong Zhang: The epoch-greedy algorithm for multi-armed bandits with side information, 2007.

    Only exploring rounds are learnt, by ridge regression with importance weight K. After n of them,
    floor(pace sqrt(n/K)) greedy rounds follow: one over the width of n uniform samples. Draw 0 is the explored item.

    `model`: the ridge regression. `pace`: the factor of the greedy rounds per exploring one.

    >>> from conquer.registry import make
    >>> learner = make("epoch-greedy", dim=3, pace=3.0)
    >>> learner.learn(np.eye(3), learner.choose(np.eye(3), 7), +1)
    >>> learner.model.explored, learner.model.left
    (1, 1)
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
            self.left = int(min(self.pace * math.sqrt(self.explored / len(X)), _MOST))
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
    """Knows what it knows: asks about an item wider than `threshold`, otherwise shows the best and asks nothing.

    Thomas J. Walsh, Istvan Szita, Carlos Diuk and Michael L. Littman: Exploring compact reinforcement-learning
    representations with linear regression, 2009.

    `model`: the ridge regression. `threshold`: the width below which an item is certain.

    >>> from conquer.registry import make
    >>> make("kwik", dim=3, threshold=0.3).choose(np.eye(3), 7).query.name
    'BEST'
    >>> make("kwik", dim=3, threshold=2.0).choose(np.eye(3), 7).query.name
    'NONE'
    """

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


def epoch_greedy(dim: int, model: str, values: Values) -> Method:
    return EpochGreedy(item_model(dim, model, values), pace=positive("pace", values["pace"]))


def kwik(dim: int, model: str, values: Values) -> Method:
    return Kwik(item_model(dim, model, values), threshold=positive("threshold", values["threshold"]))
