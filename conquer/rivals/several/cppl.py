"""CPPL: a Plackett-Luce bandit, the k best by worth and width, with averaged gradient steps."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import shares_of
from conquer.checks import number, positive
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.covariance import all_features
from conquer.rivals.learner import Arrays, Method, Pick, finite
from conquer.rivals.several.multinomial import show_of, top
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class CPPL:
    """Plackett-Luce: the top k of e^(theta.x) plus its width.

    Adil El Mesaoudi-Paul, Viktor Bengs and Eyke Hüllermeier: Online preselection with context information under the
    Plackett-Luce model, 2020.

    theta is the average of steps pace t^-1/2 along the slope of the log-likelihood of "this one of the shown". Widths
    are the sandwich's: omega e^(theta.x) sqrt((2 ln t + d + 2 sqrt(d ln t)) x'V^-1 S V^-1 x), with S the sum of slope
    slope' and V = lam I + the sum of the log-likelihood's curvature.

    `show`: the number of items shown. `omega`: the factor of the widths. `pace`: the first gradient step. `lam`: V
    starts at lam I.

    >>> from conquer.registry import make
    >>> learner = make("cppl", dim=4, show=3)
    >>> len(learner.choose(np.eye(4), 7).shown)
    3
    """

    duels = True

    def __init__(self, dim: int, *, show: int, omega: float, pace: float, lam: float) -> None:
        self.dim, self.shows, self.omega, self.pace = dim, show, omega, pace
        self.theta: Floats = np.zeros(dim)
        self.mean: Floats = np.zeros(dim)
        self.V: Floats = lam * np.eye(dim)
        self.S: Floats = np.zeros((dim, dim))
        self.count = 0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        items = all_features(X)
        worth = np.exp(np.clip(items @ self.mean, -30.0, 30.0))
        inside = _solved(self.V, items.T)
        spread = np.einsum("ik,ij,jk->k", inside, self.S, inside)
        log = math.log(self.count + 1.0)
        reach = 2.0 * log + self.dim + 2.0 * math.sqrt(self.dim * log)
        values = worth + self.omega * worth * np.sqrt(np.maximum(reach * spread, 0.0))
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shares = shares_of(answer, len(choice.shown))
        items = all_features(X.take(list(choice.shown)))
        if len(items) == 2:  # a tie is half of each
            shares[:2] += 0.5 * shares[2]
        elif shares[-1] > 0:
            raise ValueError(f"the answer must name one of the {len(items)} shown items, got none ({answer!r})")
        slope, bend = self._expand(items, shares[:-1])
        count = self.count + 1
        theta = self.theta + self.pace / math.sqrt(count) * slope
        V, S, mean = self.V + bend, self.S + np.outer(slope, slope), self.mean + (theta - self.mean) / count
        finite(V, S, mean, theta)
        self.V, self.S, self.mean, self.theta, self.count = V, S, mean, theta, count

    def _expand(self, items: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Slope and negated curvature of the log-likelihood at theta."""
        utilities = items @ self.theta
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
            raise ValueError("V must have a positive diagonal; S's diagonal and the count must not be negative")
        self.theta, self.mean, self.V, self.S, self.count = theta, mean, V, S, int(count[0])


def _solved(V: Floats, right: Floats) -> Floats:
    """V^-1 right, or the shortest solution where rounding has made V singular."""
    try:
        return np.asarray(np.linalg.solve(V, right), np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(V, right, rcond=None)[0], np.float64)


def build(dim: int, model: str, values: Values) -> Method:
    return CPPL(
        dim,
        show=show_of(values),
        omega=number("omega", values["omega"], 0.0),
        pace=positive("pace", values["pace"]),
        lam=positive("lam", values["lam"]),
    )
