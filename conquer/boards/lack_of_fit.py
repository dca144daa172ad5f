"""Whether the answers fit one score per item: a test that holds for every rule of choosing pairs and at every look.

The law says y = u . w + noise, u half the difference of two rows, the noise with mean 0 given the past and in an
interval of length 2, so 1-sub-Gaussian. An alternative adds z . theta: an effect of its own for each pair, or other
scores for each voter, for each stretch of time, or beside the features. With theta ~ N(0, I/c),

    E(w) = exp(r' Z (Z'Z + c I)^-1 Z' r / 2) / det(I + Z'Z/c)^(1/2),  r = y - U w,

has a mean of at most 1 at all times for the true w (a mixture of supermartingales), so its smallest value over all w
has, too, and so has the mean of several of these. By Ville's inequality it ever reaches 1/delta with probability at
most delta: 1/E is a p-value at any look. The smallest value over w is a least-squares problem.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from conquer.boards.evidence import Answers
from conquer.types import Floats, Ints

Kind = Literal["pairs", "voters", "time", "features"]
REMEDIES: dict[Kind, tuple[str, str]] = {
    "pairs": (
        "these votes do not add up to one score per item",
        'the order depends on which pairs were asked; ask pairs at random (explore=) and rank by target="mean vote"',
    ),
    "voters": (
        "voters differ in taste",
        "the order depends on who was asked; look at voters apart, or ask all of them alike",
    ),
    "time": (
        "the answers drift",
        "the order depends on when each pair was asked; leave out old answers, or use forget=",
    ),
    "features": (
        "the features do not explain which items win",
        "add features, or rank the items by their ids",
    ),
}
"""What a kind of misfit means, and what to do."""
_PAIRS, _TASTES, _STEP = (0.1, 0.2, 0.4), (0.15, 0.3, 0.6), 1.0
"""Standard deviations of the effects: of a pair on the mean answer, on the scores, of a step on one item's score."""
STRETCH = 250
"""Answers of a stretch of time, fixed before the first. One item's score may change after 1, 2, 4, 8, ... of them."""
_FIRM = (16.0, 128.0, 1024.0)
"""Precisions c of the scores besides a step: without effects on them other scores would absorb the step."""
MOST_STEPS, MOST_ITEMS, MOST_PAIRED = 30, 200, 2000
"""The most items for which steps, voters and time, and pairs, are tested: the work grows with the cube."""


class Fit(NamedTuple):
    """`p`: a p-value that holds at any look; `kind`: what fits worst; `values`: E of each kind as a logarithm.

    >>> Fit(0.5, None, {}).text
    ''
    """

    p: float
    kind: Kind | None
    values: dict[Kind, float]

    @property
    def text(self) -> str:
        """The warning in words; empty without one."""
        if self.kind is None:
            return ""
        what, remedy = REMEDIES[self.kind]
        return f"{what} (p {'< 0.0001' if self.p < 1e-4 else f'= {self.p:.2g}'}): {remedy}"


UNTESTED = Fit(1.0, None, {})


def fit_of(answers: Answers, count: int, rows: Floats | None = None, level: float = 0.05) -> Fit:
    """The test of answers between `count` items; `rows` (K, D): the items' features if not one column each.

    `kind` is None where p is above `level`.
    """
    values: dict[Kind, float] = {}
    if answers.total and count <= MOST_PAIRED:
        values["pairs"] = _pairs(answers, count)
    if answers.total and count <= MOST_ITEMS:
        if np.unique(answers.voter[answers.voter >= 0]).size > 1:
            values["voters"] = _tastes(answers, answers.voter, count)
        if answers.total > STRETCH:
            drift = [_tastes(answers, np.arange(answers.total) // STRETCH, count)]
            values["time"] = _mean(drift + ([_steps(answers, count)] if count <= MOST_STEPS else []))
        if rows is not None and (basis := _basis(rows)).shape[1] < count - 1:
            values["features"] = _tastes(answers, np.zeros(answers.total, np.int64), count, basis)
    if not values:
        return UNTESTED
    p = min(1.0, math.exp(-max(-700.0, min(700.0, _mean(list(values.values()))))))
    return Fit(p, max(values.items(), key=lambda found: found[1])[0] if p <= level else None, values)


def _basis(rows: Floats) -> Floats:
    """(K, r): an orthonormal basis of what the features can score, up to what all items share."""
    left, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(left[:, sizes > 1e-9 * max(1e-300, float(sizes.max(initial=0.0)))])


def _mean(logs: list[float]) -> float:
    """The logarithm of the mean of exp(logs)."""
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def _sums(places: Ints, values: Floats, count: int) -> Floats:
    """(count,): the sum of the values at each place."""
    return np.bincount(places, values, count).astype(np.float64)


def _pairs(answers: Answers, count: int) -> float:
    """ln E with an effect for every pair."""
    low, high = np.minimum(answers.first, answers.second), np.maximum(answers.first, answers.second)
    sign = np.where(answers.first < answers.second, 1.0, -1.0) * answers.weight
    keys, places = np.unique(low * count + high, return_inverse=True)
    n = _sums(places, sign * sign, keys.size)
    total = _sums(places, sign * answers.answer, keys.size)
    one, two = keys // count, keys % count
    mean = total / np.maximum(n, 1e-300)
    found = []
    for deviation in _PAIRS:
        c = 1.0 / deviation**2
        weight = n * n / (n + c)
        normal = _laplacian(one, two, weight, count)
        pull = _sums(one, weight * mean, count) - _sums(two, weight * mean, count)
        left = float((weight * mean * mean).sum()) - _explained(normal, pull)
        found.append(0.5 * left - 0.5 * float(np.log1p(n / c).sum()))
    return _mean(found)


def _tastes(answers: Answers, labels: Ints, count: int, basis: Floats | None = None) -> float:
    """ln E with scores of its own for every label; answers labelled -1 are left out."""
    order = np.argsort(labels, kind="stable")
    precisions = [1.0 / deviation**2 for deviation in _TASTES]
    logs, normals, pulls = (
        np.zeros(len(_TASTES)),
        np.zeros((len(_TASTES), count, count)),
        np.zeros((len(_TASTES), count)),
    )
    for part in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        if labels[part[0]] < 0:
            continue
        met, places = np.unique(np.concatenate([answers.first[part], answers.second[part]]), return_inverse=True)
        one, two = places[: part.size], places[part.size :]
        weight, said = answers.weight[part], 0.5 * answers.weight[part] * answers.answer[part]
        gains = _sums(one, said, met.size) - _sums(two, said, met.size)
        values, vectors = np.linalg.eigh(_laplacian(one, two, 0.25 * weight * weight, met.size))
        values, turned = np.maximum(values, 0.0), vectors.T @ gains
        for k, c in enumerate(precisions):
            kept = values / (values + c)
            logs[k] += 0.5 * float((turned * turned / (values + c)).sum() - np.log1p(values / c).sum())
            normals[k][np.ix_(met, met)] += (vectors * (kept * values)) @ vectors.T
            pulls[k][met] += vectors @ (kept * turned)
    return _mean([logs[k] - 0.5 * _explained(normals[k], pulls[k], basis) for k in range(len(_TASTES))])


def _steps(answers: Answers, count: int) -> float:
    """ln E with a step of one item's score at one time, mixed over items and times."""
    total = answers.total
    one, two, weight = answers.first, answers.second, answers.weight
    gram = _laplacian(one, two, 0.25 * weight * weight, count)
    said = 0.5 * weight * answers.answer
    gains = _sums(one, said, count) - _sums(two, said, count)
    found = []
    start = STRETCH
    while start < total:
        late = slice(start, total)
        after = _laplacian(one[late], two[late], 0.25 * weight[late] ** 2, count)
        late_gains = _sums(one[late], said[late], count) - _sums(two[late], said[late], count)
        # For every item: the scores and, as one more column, the item's score after the step.
        design = np.concatenate([np.tile(gram, (count, 1, 1)), after[:, None, :]], axis=1)
        met = np.concatenate([np.tile(gains, (count, 1)), late_gains[:, None]], axis=1)
        square = np.concatenate(
            [design, np.concatenate([after, after.diagonal()[:, None]], axis=1)[:, :, None]], axis=2
        )
        for firm in _FIRM:
            prior = np.append(np.full(count, firm), 1.0 / _STEP**2)
            solved = np.linalg.solve(square + np.diag(prior), np.concatenate([design, met[:, :, None]], axis=2))
            dets = np.linalg.slogdet(np.eye(count + 1) + square / prior)[1]
            normal = design.transpose(0, 2, 1) @ solved
            for i in range(count):
                left = float(met[i] @ solved[i, :, -1]) - _explained(normal[i, :, :-1], normal[i, :, -1])
                found.append(0.5 * left - 0.5 * float(dets[i]))
        start *= 2
    return _mean(found)


def _laplacian(one: Ints, two: Ints, weight: Floats, count: int) -> Floats:
    """(count, count): the sum of weight (e_one - e_two) (e_one - e_two)'."""
    places = np.concatenate([one * count + one, two * count + two, one * count + two, two * count + one])
    values = np.concatenate([weight, weight, -weight, -weight])
    return _sums(places, values, count * count).reshape(count, count)


def _explained(normal: Floats, pull: Floats, basis: Floats | None = None) -> float:
    """max over w of 2 pull'w - w' normal w: what scores, or scores in the basis, take from the sum of squares."""
    if basis is not None:
        normal, pull = basis.T @ normal @ basis, basis.T @ pull
    # The scores of a connected part may all be shifted: a shift explains nothing, and the ridge makes it harmless.
    ridge = 1e-11 * max(1e-300, float(normal.diagonal().max(initial=0.0)))
    return float(pull @ np.linalg.solve(normal + ridge * np.eye(len(normal)), pull))
