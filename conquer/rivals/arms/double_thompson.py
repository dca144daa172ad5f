"""Double Thompson sampling: a sampled champion and its sampled challenger."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from conquer.checks import positive
from conquer.rivals.arms.method import ArmRule, fixed_arms, shares_and_bonus
from conquer.tickets import Draws
from conquer.types import Floats


class DoubleThompson(ArmRule):
    """A champion by sampled preferences among the optimistic Copeland winners, then its challenger.

    Huasen Wu and Xin Liu: Double Thompson sampling for dueling bandits, 2016.

    The challenger has the largest fresh sample of the champion's column among arms that the champion does not certainly
    beat. Draws 0 to K(K-1)/2 - 1 sample the pairs i < j in order, the next K the column. Time counts answers: rounds of
    the champion against itself are not learnt and not counted.

    `alpha`: the widths are sqrt(alpha ln t/n).

    >>> from conquer.registry import make
    >>> learner = make("double-thompson", dim=3, alpha=0.51)
    >>> learner.choose(np.eye(3), 7).shown
    (1, 0)
    """

    def __init__(self, *, alpha: float) -> None:
        self.alpha = alpha

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        from scipy.special import betaincinv

        count = len(wins)
        share, bonus = shares_and_bonus(wins, self.alpha, clock)
        upper, lower = share + bonus, share - bonus
        np.fill_diagonal(upper, 0.5)
        np.fill_diagonal(lower, 0.5)
        copeland = (upper > 0.5).sum(axis=1)
        rows, columns = np.triu_indices(count, 1)
        uniforms = draws.uniforms(rows.size + count)
        sampled = np.full((count, count), 0.5)
        sampled[rows, columns] = betaincinv(wins[rows, columns] + 1, wins[columns, rows] + 1, uniforms[: rows.size])
        sampled[columns, rows] = 1.0 - sampled[rows, columns]
        beaten = np.where(copeland == copeland.max(), (sampled > 0.5).sum(axis=1), -1)
        champion = draws.largest(beaten.astype(np.float64))
        column = betaincinv(wins[:, champion] + 1, wins[champion] + 1, uniforms[rows.size :])
        column[champion] = 0.5
        column[lower[:, champion] > 0.5] = -1.0
        return champion, draws.largest(np.asarray(column, np.float64), tie=1), {}


build = fixed_arms(lambda values: DoubleThompson(alpha=positive("alpha", values["alpha"])))
