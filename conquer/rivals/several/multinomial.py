"""The multinomial logit with "none of these": its chances, its fit, and the top items to show."""

import math

import numpy as np

from conquer.checks import whole
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.likelihood import minimise
from conquer.tickets import Draws
from conquer.types import Floats


def show_of(values: Values) -> int:
    """The checked number of items to show."""
    return whole("show", values["show"], 2, 1000)


def top(values: Floats, count: int, draws: Draws) -> tuple[int, ...]:
    """The positions of the largest values, best first; draws from 0 order equal ones."""
    order = np.lexsort((draws.uniforms(values.size), -values))
    return tuple(int(k) for k in order[:count])


def outside_chances(utilities: Floats) -> Floats:
    """e^u/(1 + sum e^u): the chance of each item where "none of these" is an answer.

    >>> outside_chances(np.zeros(3)).tolist()
    [0.25, 0.25, 0.25]
    """
    most = max(float(utilities.max()), 0.0)
    weights = np.exp(utilities - most)
    return np.asarray(weights / (math.exp(-most) + weights.sum()))


def fit(items: Floats, shares: Floats, lam: float, start: Floats) -> Floats:
    """(D,): the minimiser of lam |theta|^2/2 - sum_n ln p(picked), by damped Newton steps.

    `items` (n, k, D) has a row of NaN for an empty place; `shares` (n, k) sum to the chance that an item was picked.

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

    def step(theta: Floats) -> Floats:
        p = measure(theta)[1]
        centres = (p[:, :, None] * X).sum(axis=1)
        slope = lam * theta - ((shares - p)[:, :, None] * X).sum(axis=(0, 1))
        flat = X.reshape(-1, theta.size)
        bend = lam * np.eye(theta.size) + (flat * p.reshape(-1, 1)).T @ flat - centres.T @ centres
        return np.linalg.solve(bend, slope)

    return minimise(start, lambda theta: measure(theta)[0], step, "multinomial")
