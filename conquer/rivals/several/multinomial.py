"""The multinomial logit with "none of these": UCB-MNL, by one step an answer or refitted on all of them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import decode
from conquer.files import adopt
from conquer.rivals.contextual.covariance import SPREADS, Spread
from conquer.rivals.learner import Arrays, Pick
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query

_STEPS, _TOLERANCE = 50, 1e-10


def top(values: Floats, count: int, draws: Draws) -> tuple[int, ...]:
    """The positions of the largest values, best first; uniform draws from 0 order equal ones."""
    order = np.lexsort((draws.uniforms(values.size), -values))
    return tuple(int(k) for k in order[:count])


def outside_chances(utilities: Floats) -> Floats:
    """e^u/(1 + sum e^u), the choice among these items and none of them.

    >>> outside_chances(np.zeros(3)).tolist()
    [0.25, 0.25, 0.25]
    """
    top_one = max(float(utilities.max()), 0.0)
    weights = np.exp(utilities - top_one)
    return np.asarray(weights / (math.exp(-top_one) + weights.sum()))


def fit(items: Floats, shares: Floats, lam: float, start: Floats) -> Floats:
    """(D,): the minimiser of lam |theta|^2/2 - sum_n ln p(picked), by damped Newton steps.

    `items` (n, k, D), a row of NaN for a place left empty; `shares` (n, k): what was picked, the rest none of these.

    >>> fit(np.array([[[1.0]]]), np.array([[1.0]]), 1.0, np.zeros(1)).round(4).tolist()
    [0.4011]
    """
    there = ~np.isnan(items[:, :, 0])
    X = np.where(there[:, :, None], items, 0.0)

    def measure(theta: Floats) -> tuple[float, Floats]:
        u = np.where(there, X @ theta, -np.inf)
        most = np.maximum(u.max(axis=1), 0.0)
        total = np.exp(-most) + np.exp(u - most[:, None]).sum(axis=1)
        loss = 0.5 * lam * theta @ theta + (most + np.log(total)).sum() - (shares * (X @ theta)).sum()
        return float(loss), np.exp(u - most[:, None]) / total[:, None]

    theta, (value, p) = start, measure(start)
    for _ in range(_STEPS):
        centres = (p[:, :, None] * X).sum(axis=1)
        slope = lam * theta - ((shares - p)[:, :, None] * X).sum(axis=(0, 1))
        flat = X.reshape(-1, theta.size)
        bend = lam * np.eye(theta.size) + (flat * p.reshape(-1, 1)).T @ flat - centres.T @ centres
        step = np.linalg.solve(bend, slope)
        if float(np.abs(step).max()) <= _TOLERANCE * max(1.0, float(np.abs(theta).max())):
            return np.asarray(theta - step)
        pace, (found, p) = 1.0, measure(theta - step)
        while found > value + 1e-12 * abs(value) and pace > 1e-6:
            pace *= 0.5
            found, p = measure(theta - pace * step)
        theta, value = theta - pace * step, found
    raise ArithmeticError(f"the multinomial estimate did not converge within {_STEPS} Newton steps")


class UCBMNL:
    """Oh & Iyengar 2021: the top k of theta.x + eta |x| under p(i|S) = e^(theta.x_i)/(1 + sum_S e^(theta.x)).

    The 1 is "none of these". V = lam I + sum x x' over shown items. theta with `refit` (the paper's) is the maximum of
    the likelihood of all answers, penalised by lam; else one online Newton step an answer on the multinomial loss, with
    V times `curve` (the least share of curvature) as its Hessian. Ties of duels read as none.
    """

    duels = True

    def __init__(
        self, dim: int, *, model: str, show: int, eta: float, lam: float, curve: float, refit: bool = False
    ) -> None:
        self.dim, self.shows, self.eta, self.lam, self.curve, self.refit = dim, show, eta, lam, curve, refit
        self.spread: Spread = SPREADS[model](dim, lam)
        self.theta: Floats = np.zeros(dim)
        self.items: Floats = np.zeros((0, show, dim))
        self.shares: Floats = np.zeros((0, show))

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        columns, items = self.spread.local(X)
        widths = np.sqrt(np.maximum(self.spread.gram(items, columns).diagonal(), 0.0))
        values = items @ self.theta[columns] + self.eta * widths
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL, {"outside": True})

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shares = decode(answer, len(choice.shown))[:-1]
        columns, items = self.spread.local(X.take(list(choice.shown)))
        if self.refit:
            self._refit(items, shares)
        slope = (shares - outside_chances(items @ self.theta[columns])) @ items
        for x in items:
            self.spread.add(x, columns, 1.0)
        if not self.refit:
            self.theta[columns] += self.spread.times(slope, columns) / self.curve

    def _refit(self, items: Floats, shares: Floats) -> None:
        row, picked = np.full((1, self.shows, self.dim), np.nan), np.zeros((1, self.shows))
        row[0, : len(items)], picked[0, : len(items)] = items, shares
        history = np.concatenate([self.items, row]), np.concatenate([self.shares, picked])
        self.theta = fit(*history, self.lam, self.theta)
        self.items, self.shares = history

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self.theta[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        own = {"theta": self.theta, **self.spread.arrays()}
        # Files hold no NaN: an empty place is known by the number of items shown.
        shown = (~np.isnan(self.items[:, :, 0])).sum(axis=1)
        history = {"items": np.nan_to_num(self.items), "shares": self.shares, "shown": shown.astype(np.int64)}
        return {**own, **history} if self.refit else own

    def restore(self, arrays: Arrays) -> None:
        (theta,) = adopt(arrays, {"theta": (self.dim,)})
        if self.refit:
            items, shares = adopt(arrays, {"items": (-1, self.shows, self.dim), "shares": (-1, self.shows)})
            (shown,) = adopt(arrays, {"shown": (-1,)}, np.int64)
            if not len(items) == len(shares) == shown.size or (shown.size and not 1 <= shown.min() <= self.shows):
                raise ValueError(f"one choice a round of shown items, got {len(items)}, {len(shares)}, {shown.size}")
            if shares.size and not (shares.min() >= 0 and shares.sum(axis=1).max() <= 1):
                raise ValueError("shares must be in [0, 1] and no round may have more than one")
            items[np.arange(self.shows) >= shown[:, None]] = np.nan
            self.items, self.shares = items, shares
        self.spread.restore(arrays)
        self.theta = theta
