"""More than two shown: rank breaking, UCB for the multinomial logit, and Plackett-Luce bandits."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.rivals.estimators import Estimator
from conquer.rivals.learner import Arrays, Draws, Pick, adopt
from conquer.rivals.picks import decode
from conquer.rivals.spread import SPREADS, Spread, all_features
from conquer.rows import SparseRows
from conquer.types import Choice, Floats, Query


def top(values: Floats, count: int, draws: Draws) -> tuple[int, ...]:
    """The positions of the largest values, best first; uniform draws from 0 order equal ones."""
    order = np.lexsort((draws.uniforms(values.size), -values))
    return tuple(int(k) for k in order[:count])


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


class UCBMNL:
    """Oh & Iyengar 2021: the top k of theta.x + eta |x| under p(i|S) = e^(theta.x_i)/(1 + sum_S e^(theta.x)).

    The 1 is "none of these". V = lam I + sum x x' over shown items; theta by one online Newton step an answer on the
    multinomial loss, with V times `curve` (the least share of curvature) as its Hessian. Ties of duels read as none.
    """

    duels = True

    def __init__(self, dim: int, *, model: str, show: int, eta: float, lam: float, curve: float) -> None:
        self.dim, self.shows, self.eta, self.curve = dim, show, eta, curve
        self.spread: Spread = SPREADS[model](dim, lam)
        self.theta: Floats = np.zeros(dim)

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        columns, items = self.spread.local(X)
        widths = np.sqrt(np.maximum(self.spread.gram(items, columns).diagonal(), 0.0))
        values = items @ self.theta[columns] + self.eta * widths
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL, {"outside": True})

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shares = decode(answer, len(choice.shown))[:-1]
        columns, items = self.spread.local(X.take(list(choice.shown)))
        slope = (shares - outside_chances(items @ self.theta[columns])) @ items
        for x in items:
            self.spread.add(x, columns, 1.0)
        self.theta[columns] += self.spread.times(slope, columns) / self.curve

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self.theta[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"theta": self.theta, **self.spread.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (theta,) = adopt(arrays, {"theta": (self.dim,)})
        self.spread.restore(arrays)
        self.theta = theta


def outside_chances(utilities: Floats) -> Floats:
    """e^u/(1 + sum e^u), the choice among these items and none of them.

    >>> outside_chances(np.zeros(3)).tolist()
    [0.25, 0.25, 0.25]
    """
    top_one = max(float(utilities.max()), 0.0)
    weights = np.exp(utilities - top_one)
    return np.asarray(weights / (math.exp(-top_one) + weights.sum()))


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
