"""Voters weighed when all votes are known: how likely each follows the others instead of tossing a coin.

The scale of judges' tastes is known then too.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from conquer.data.votes import Vote, VoteBlock
from conquer.fitting.vote_sums import Where
from conquer.learners.believer import Believer, believer
from conquer.learners.voters import NOISE, SQUARES, TOGETHER
from conquer.models.full import Full
from conquer.rows import SparseRows
from conquer.types import Floats, Learner

TASTES = (0.125, 0.25, 0.5, 1.0, 2.0)
"""What the scale of judges' tastes is chosen from."""
REVISIONS = 2
"""Passes after the first: weights of the first still weigh careless voters in."""
_STEPS, _CAREFUL = 50, 0.8
"""Steps of the EM algorithm, and the share of careful voters that it starts from."""
Weights = dict[tuple[str, str], float]
Blocks = Iterable[tuple[Where, VoteBlock]]
Rows = Callable[[Vote], SparseRows]
"""The rows of the two items of a vote."""


def chances(together: Floats, squares: Floats, noise: Floats) -> Floats:
    """(V,): the chance of each voter to follow the others, slope 1, and not to toss a coin, slope 0.

    `together` and `squares` sum y p and p^2 over a voter's answers y and what others predict, p; `noise` is the
    variance of an answer. The share of careful voters is estimated with them, by the EM algorithm.

    >>> chances(np.array([90.0, 1.0, -80.0]), np.full(3, 100.0), np.ones(3)).round(2).tolist()
    [1.0, 0.0, 0.0]
    """
    odds = np.clip((together - squares / 2) / noise, -500.0, 500.0)
    careful, found = _CAREFUL, np.ones(odds.size)
    for _ in range(_STEPS):
        found = 1.0 / (1.0 + np.exp(-odds) * (1.0 - careful) / careful)
        careful = (found.sum() + 0.5) / (odds.size + 1.0)
    return found


def taught(
    fresh: Callable[[float | None], Learner],
    passes: Callable[[], Blocks],
    learn: Callable[[Learner, Blocks], None],
    rows: Rows,
    *,
    chooses_taste: bool,
) -> Learner:
    """A learner that has learnt the votes, and if it weighs voters, again with revised weights.

    `fresh` makes a learner with this scale of judges' tastes, None: its own. `passes` gives all votes from the first.
    `chooses_taste`: where judges are among the voters, the scale with the greatest marginal likelihood is taken.
    """
    taste = None
    learner = fresh(taste)
    learn(learner, passes())
    weighing = believer(learner)
    if chooses_taste and weighing is not None and weighing.table.judges and type(weighing.model) is Full:
        found = {}
        for taste in TASTES:
            learner = fresh(taste)
            power = np.zeros(2)
            learn(learner, _measured(passes(), power))
            found[taste] = (_evidence(learner, power), -taste)
        taste = max(found, key=lambda each: found[each])
        learner = fresh(taste)
        learn(learner, passes())
    return _revise(learner, lambda: fresh(taste), passes, learn, rows)


def _measured(blocks: Blocks, power: Floats) -> Blocks:
    """The blocks; `power` gets their number of votes and the sum of their squared answers."""
    for where, block in blocks:
        power += block.numbers.sum(), block.numbers @ np.square(block.values)
        yield where, block


def _evidence(learner: Any, power: Floats) -> float:
    """The logarithm of the votes' marginal likelihood, the variance of an answer profiled out."""
    model = learner.model
    _, log_det = np.linalg.slogdet(model.inverse * model.lam)
    explained = float(model.w @ np.linalg.solve(model.inverse, model.w))
    return 0.5 * float(log_det - power[0] * np.log(max(1e-12 * power[1], power[1] - explained)))


def _revise(
    learner: Learner,
    fresh: Callable[[], Learner],
    passes: Callable[[], Blocks],
    learn: Callable[[Learner, Blocks], None],
    rows: Rows,
) -> Learner:
    """The learner that has learnt the votes again with revised weights, or itself if it does not weigh voters."""
    weighing = believer(learner)
    for _ in range(REVISIONS if weighing is not None else 0):
        assert weighing is not None
        weights = revised(weighing, passes(), rows)
        learner = fresh()
        learn(learner, weighed(passes(), weights))
        weighing = believer(learner)
    if weighing is not None:
        revised(weighing, passes(), rows)
    return learner


def revised(learner: Believer, blocks: Blocks, rows: Rows) -> Weights:
    """{(kind, name): weight} of all named voters by a learner of all votes; its table takes the new sums.

    A voter's answers are predicted by the model of the half that they are not in.
    """
    table, cross = learner.table, learner.cross
    keys = list(table.names)
    if not cross.models:
        return dict.fromkeys(keys, 1.0)
    sides, _ = learner.sides()
    sums = np.zeros((len(keys), 4))
    for _, block in blocks:
        for vote in block:
            if vote.voter is None:
                continue
            voter = table.names[vote.kind, vote.voter]
            side = {None: 0, "first": 1, "second": -1}[vote.left]
            net = vote.value - side * min(1.0, max(-1.0, sides[min(voter, len(sides) - 1)]))
            predicted = cross.predict(cross.models, voter, vote.kind, rows(vote).widened(learner.width))
            sums[voter] += vote.count * np.array([net * predicted, predicted**2, net * net, 1.0])
    own = table.sums[: len(keys)]
    own[:, [TOGETHER, SQUARES, NOISE]] = sums[:, :3]
    noise = (1.0 + sums[:, 2]) / (1.0 + sums[:, 3])
    weights: Weights = {}
    for kind in dict.fromkeys(kind for kind, _ in keys):
        some = np.array([k for k, key in enumerate(keys) if key[0] == kind])
        for k, chance in zip(some.tolist(), chances(sums[some, 0], sums[some, 1], noise[some]).tolist(), strict=True):
            weights[keys[k]] = chance
    return weights


def weighed(blocks: Blocks, weights: Weights) -> Blocks:
    """The blocks with the weight of each vote that has none of its own."""
    for where, block in blocks:
        found = np.full(len(block), np.nan) if block.weights is None else block.weights.copy()
        for k in np.flatnonzero(np.isnan(found)).tolist():
            voter = None if block.voters is None else block.voters[k]
            if voter is not None:
                found[k] = weights["person" if block.kinds is None else block.kinds[k], voter]
        yield where, replace(block, weights=found)
