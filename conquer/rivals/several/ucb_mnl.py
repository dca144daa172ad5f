"""UCB for the multinomial logit: the k best upper bounds; "none of these" is an answer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import shares_of
from conquer.checks import number, one_of, positive
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.covariance import SPREADS, Spread, rolled_back
from conquer.rivals.learner import Arrays, Method, Pick, finite
from conquer.rivals.several.multinomial import fit, outside_chances, show_of, top
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


class UCBMNL:
    """The top k of theta.x + eta |x| under p(i|S) = e^(theta.x_i)/(1 + sum_S e^(theta.x)).

    Min-hwan Oh and Garud Iyengar: Multinomial logit contextual bandits: provable optimality and practicality, 2021.

    The 1 is "none of these". V = lam I + sum x x' over shown items. With `refit` (the paper's) theta maximises the
    likelihood of all answers, penalised by lam; otherwise it takes one online Newton step per answer on the multinomial
    loss, with V times `curve` (the least share of curvature) as the Hessian. A tie of two counts as none.

    `model`: V "full" or "diagonal". `show`: the number of items shown. `eta`: the factor of the widths. `lam`: V starts
    at lam I.

    >>> from conquer.registry import make
    >>> learner = make("ucb-mnl", dim=4, show=3)
    >>> len(learner.choose(np.eye(4), 7).shown)
    3
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
        widths = np.sqrt(self.spread.variances(items, columns))
        values = items @ self.theta[columns] + self.eta * widths
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL, {"outside": True})

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shares = shares_of(answer, len(choice.shown))[:-1]
        columns, items = self.spread.local(X.take(list(choice.shown)))
        history = self._with(items, shares) if self.refit else (self.items, self.shares)
        slope = (shares - outside_chances(items @ self.theta[columns])) @ items
        with rolled_back(self.spread, columns):
            for x in items:
                self.spread.add(x, columns, 1.0)
            newton = self.theta[columns] + self.spread.times(slope, columns) / self.curve
            theta = fit(*history, self.lam, self.theta) if self.refit else newton
            finite(theta)
        self.theta[columns], (self.items, self.shares) = theta, history

    def _with(self, items: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """All choices with this one appended."""
        row, picked = np.full((1, self.shows, self.dim), np.nan), np.zeros((1, self.shows))
        row[0, : len(items)], picked[0, : len(items)] = items, shares
        return np.concatenate([self.items, row]), np.concatenate([self.shares, picked])

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self.theta[columns])

    def arrays(self) -> dict[str, NDArray[Any]]:
        own = {"theta": self.theta, **self.spread.arrays()}
        # Files hold no NaN: the number of items shown tells which places are empty.
        shown = (~np.isnan(self.items[:, :, 0])).sum(axis=1)
        history = {"items": np.nan_to_num(self.items), "shares": self.shares, "shown": shown.astype(np.int64)}
        return {**own, **history} if self.refit else own

    def restore(self, arrays: Arrays) -> None:
        (theta,) = adopt(arrays, {"theta": (self.dim,)})
        if self.refit:
            items, shares = adopt(arrays, {"items": (-1, self.shows, self.dim), "shares": (-1, self.shows)})
            (shown,) = adopt(arrays, {"shown": (-1,)}, np.int64)
            if not len(items) == len(shares) == shown.size or (shown.size and not 1 <= shown.min() <= self.shows):
                raise ValueError(f"expected one choice per round, got {len(items)}, {len(shares)}, {shown.size}")
            if shares.size and not (shares.min() >= 0 and shares.sum(axis=1).max() <= 1):
                raise ValueError("the shares of a round must be in [0, 1] and sum to at most 1")
            items[np.arange(self.shows) >= shown[:, None]] = np.nan
            self.items, self.shares = items, shares
        self.spread.restore(arrays)
        self.theta = theta


def build(dim: int, model: str, values: Values) -> Method:
    refit = bool(one_of("estimator", values["estimator"], {"newton": 0, "mle": 1}))
    if refit and model != "full":
        raise ValueError(f"estimator='mle' needs model='full', got {model!r}")
    return UCBMNL(
        dim,
        model=model,
        show=show_of(values),
        eta=number("eta", values["eta"], 0.0),
        lam=positive("lam", values["lam"]),
        curve=positive("curve", values["curve"]),
        refit=refit,
    )
