"""More than two shown: rank breaking and Plackett-Luce bandits."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import decode
from conquer.files import adopt
from conquer.rivals.contextual.covariance import all_features
from conquer.rivals.contextual.estimators import Estimator
from conquer.rivals.learner import Arrays, Pick
from conquer.rivals.several.multinomial import outside_chances, top
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class RankBreaking:
    """The best mean and the next upper bounds; the picked item beats every other shown one, at weight 1/(k - 1)."""

    duels = True

    def __init__(self, estimator: Estimator, *, show: int, eta: float) -> None:
        self.estimator, self.shows, self.eta = estimator, show, eta

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        mean, gram = self.estimator.measure(X)
        first = draws.largest(mean)
        values = mean + self.eta * np.sqrt(np.maximum(gram.diagonal(), 0.0))
        values[first] = np.inf
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shown = choice.shown
        if len(shown) == 2:
            self.estimator.learn(X, shown[0], shown[1], answer)
            return
        shares = decode(answer, len(shown))
        if shares[-1] > 0:
            raise ValueError(f"one of the {len(shown)} shown items must be named, got none ({answer!r})")
        winner = shown[int(shares.argmax())]
        for loser in shown:
            if loser != winner:
                self.estimator.learn(X, winner, loser, 1.0, 1.0 / (len(shown) - 1))

    def scores(self, X: SparseRows) -> Floats:
        return self.estimator.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.estimator.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.estimator.restore(arrays)


class CPPL:
    """Mesaoudi-Paul, Bengs, Hullermeier 2020: Plackett-Luce, the top k of e^(theta.x) plus its width.

    theta is the average of steps pace t^-1/2 along the slope of the log-likelihood of "this one of the shown". Widths
    are the sandwich's: omega e^(theta.x) sqrt((2 ln t + d + 2 sqrt(d ln t)) x'V^-1 S V^-1 x), with S the sum of slope
    slope' and V = lam I + the sum of the log-likelihood's curvature.
    """

    duels = True

    def __init__(self, dim: int, *, show: int, omega: float, pace: float, lam: float, outside: bool) -> None:
        self.dim, self.shows, self.omega, self.pace, self.outside = dim, show, omega, pace, outside
        self.theta: Floats = np.zeros(dim)
        self.mean: Floats = np.zeros(dim)
        self.V: Floats = lam * np.eye(dim)
        self.S: Floats = np.zeros((dim, dim))
        self.count = 0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        items = all_features(X)
        worth = np.exp(np.clip(items @ self.mean, -30.0, 30.0))
        inside = np.linalg.solve(self.V, items.T)
        spread = np.einsum("ik,ij,jk->k", inside, self.S, inside)
        log = math.log(self.count + 1.0)
        reach = 2.0 * log + self.dim + 2.0 * math.sqrt(self.dim * log)
        values = worth + self.omega * worth * np.sqrt(np.maximum(reach * spread, 0.0))
        memo = {"outside": True} if self.outside else {}
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL, memo)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shares = decode(answer, len(choice.shown))
        items = all_features(X.take(list(choice.shown)))
        if not self.outside:
            if len(items) == 2:  # a tie is half of each
                shares[:2] += 0.5 * shares[2]
            elif shares[-1] > 0:
                raise ValueError(f"one of the {len(items)} shown items must be named, got none ({answer!r})")
        slope, bend = self._expand(items, shares[:-1])
        count = self.count + 1
        theta = self.theta + self.pace / math.sqrt(count) * slope
        self.V, self.S = self.V + bend, self.S + np.outer(slope, slope)
        self.mean, self.theta, self.count = self.mean + (theta - self.mean) / count, theta, count

    def _expand(self, items: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Slope and negated curvature of the log-likelihood at theta."""
        utilities = items @ self.theta
        if self.outside:
            p = outside_chances(utilities)
        else:
            p = np.exp(utilities - utilities.max())
            p /= p.sum()
        centre = p @ items
        return (shares - p) @ items, (items * p[:, None]).T @ items - np.outer(centre, centre)

    def scores(self, X: SparseRows) -> Floats:
        return np.asarray(all_features(X) @ self.mean)

    def arrays(self) -> dict[str, NDArray[Any]]:
        count = np.array([self.count], np.int64)
        return {"theta": self.theta, "mean": self.mean, "V": self.V, "S": self.S, "count": count}

    def restore(self, arrays: Arrays) -> None:
        square = (self.dim, self.dim)
        theta, mean, V, S = adopt(arrays, {"theta": (self.dim,), "mean": (self.dim,), "V": square, "S": square})
        (count,) = adopt(arrays, {"count": (1,)}, np.int64)
        if count[0] < 0 or (V.diagonal() <= 0).any() or (S.diagonal() < 0).any():
            raise ValueError("V must have a positive diagonal, S no negative one, and the count not be negative")
        self.theta, self.mean, self.V, self.S, self.count = theta, mean, V, S, int(count[0])
