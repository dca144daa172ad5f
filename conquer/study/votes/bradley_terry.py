"""Bradley-Terry by maximum likelihood, what a fit of votes is compared with."""

import numpy as np

from conquer.types import Floats

_STEPS, _CLOSE = 200, 1e-10


def strengths(wins: Floats) -> Floats:
    """(K,): the likeliest log-strengths, mean 0, from wins[i, j], how often i beat j; a tie is half a win for each.

    By Newton's method, halved where it would overshoot. There must be a way of wins from every item to every other.

    >>> strengths(np.array([[0.0, 3.0], [1.0, 0.0]])).round(3).tolist()
    [0.549, -0.549]
    """
    count = len(wins)
    total = wins + wins.T
    theta = np.zeros(count)

    def likelihood(theta: Floats) -> float:
        return -float((wins * np.logaddexp(0.0, theta[None, :] - theta[:, None])).sum())

    best = likelihood(theta)
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
        slope = (wins - total * chance).sum(axis=1)
        curve = total * chance * chance.T
        hessian = np.diag(curve.sum(axis=1)) - curve
        step = np.linalg.lstsq(hessian, slope, rcond=None)[0]
        while likelihood(theta + step) < best and np.abs(step).max() > _CLOSE:
            step /= 2.0
        theta = theta + step
        theta -= theta.mean()
        best = likelihood(theta)
        if np.abs(step).max() < _CLOSE:
            return np.asarray(theta)
    raise ArithmeticError("Bradley-Terry has no likeliest strengths: some items never lost, or never won")
