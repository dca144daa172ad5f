"""Rivals that can show more than two items: rank breaking, UCB for the multinomial logit, and CPPL."""

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import shares_of
from conquer.checks import number, one_of, positive, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.build import estimator_of
from conquer.rivals.estimators.covariance import Posterior, all_features, rolled_back
from conquer.rivals.estimators.estimator import Estimator
from conquer.rivals.estimators.likelihood import minimise
from conquer.rivals.learner import Arrays, Method, Pick, finite
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query


def show_of(values: Values) -> int:
    """The checked number of items to show."""
    return whole("show", values["show"], 2, 1000)


def top(values: Floats, count: int, draws: Draws) -> tuple[int, ...]:
    """The positions of the largest values, best first; draws from 0 order equal ones."""
    order = np.lexsort((draws.uniforms(values.size), -values))
    return tuple(int(k) for k in order[:count])


def outside_chances(utilities: Floats) -> Floats:
    """e^u/(1 + sum e^u): the chance of each item where "none of these" is an answer."""
    most = max(float(utilities.max()), 0.0)
    weights = np.exp(utilities - most)
    return np.asarray(weights / (math.exp(-most) + weights.sum()))


def fit(items: Floats, shares: Floats, lam: float, start: Floats) -> Floats:
    """(D,): the minimiser of lam |theta|^2/2 - sum_n ln p(picked), by damped Newton steps.

    `items` (n, k, D) has a row of NaN for an empty place; `shares` (n, k) sum to the chance that an item was picked.
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


class RankBreaking:
    """The best mean and the next upper bounds; the picked item beats every other shown item, at weight 1/(k - 1).

    A common reduction of choices to duels (as in Aadirupa Saha and Aditya Gopalan: Combinatorial bandits with relative
    feedback, 2019), here over any estimator of duels.

    `show`: the number of items shown. `eta`: the factor of the widths.

    >>> from conquer.registry import make
    >>> learner = make("rank-breaking", dim=4, show=3)
    >>> choice = learner.choose(np.eye(4), 7)
    >>> learner.learn(np.eye(4), choice, 1)  # the second of the three
    >>> int(learner.scores(np.eye(4)).argmax()) == choice.shown[1]
    True
    """

    duels = True

    def __init__(self, estimator: Estimator, *, show: int, eta: float) -> None:
        self.estimator, self.shows, self.eta = estimator, show, eta

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        mean, own, _ = self.estimator.measure(X)
        finite(mean, own)
        first = draws.largest(mean)
        values = mean + self.eta * np.sqrt(own)
        values[first] = np.inf
        return Pick(top(values, min(self.shows, len(X)), draws), Query.DUEL)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        shown = choice.shown
        if len(shown) == 2:
            self.estimator.learn(X, shown[0], shown[1], answer)
            return
        shares = shares_of(answer, len(shown))
        if shares[-1] > 0:
            raise ValueError(f"the answer must name one of the {len(shown)} shown items, got none ({answer!r})")
        winner, trial = shown[int(shares.argmax())], copy.deepcopy(self.estimator)
        for loser in shown:
            if loser != winner:
                trial.learn(X, winner, loser, 1.0, 1.0 / (len(shown) - 1))
        self.estimator = trial  # all steps or none

    def scores(self, X: SparseRows) -> Floats:
        return self.estimator.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.estimator.arrays()

    def restore(self, arrays: Arrays) -> None:
        self.estimator.restore(arrays)


def rank_breaking(dim: int, model: str, values: Values) -> Method:
    estimator = estimator_of(dim, model, values)
    return RankBreaking(estimator, show=show_of(values), eta=number("eta", values["eta"], 0.0))


class UCBMNL(Posterior):
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
        super().__init__(dim, lam=lam, model=model)
        self.shows, self.eta, self.lam, self.curve, self.refit = show, eta, lam, curve, refit
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

    def arrays(self) -> dict[str, NDArray[Any]]:
        # Files hold no NaN: the number of items shown tells which places are empty.
        shown = (~np.isnan(self.items[:, :, 0])).sum(axis=1)
        history = {"items": np.nan_to_num(self.items), "shares": self.shares, "shown": shown.astype(np.int64)}
        return super().arrays() | (history if self.refit else {})

    def restore(self, arrays: Arrays) -> None:
        items, shares = self.items, self.shares
        if self.refit:
            items, shares = adopt(arrays, {"items": (-1, self.shows, self.dim), "shares": (-1, self.shows)})
            (shown,) = adopt(arrays, {"shown": (-1,)}, np.int64)
            if not len(items) == len(shares) == shown.size or (shown.size and not 1 <= shown.min() <= self.shows):
                raise ValueError(f"expected one choice per round, got {len(items)}, {len(shares)}, {shown.size}")
            if shares.size and not (shares.min() >= 0 and shares.sum(axis=1).max() <= 1):
                raise ValueError("the shares of a round must be in [0, 1] and sum to at most 1")
            items[np.arange(self.shows) >= shown[:, None]] = np.nan
        super().restore(arrays)
        self.items, self.shares = items, shares


def ucb_mnl(dim: int, model: str, values: Values) -> Method:
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


def cppl(dim: int, model: str, values: Values) -> Method:
    return CPPL(
        dim,
        show=show_of(values),
        omega=number("omega", values["omega"], 0.0),
        pace=positive("pace", values["pace"]),
        lam=positive("lam", values["lam"]),
    )
