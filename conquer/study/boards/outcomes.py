"""What is seen in one run: a false `better` at any look, how close its order is to the true one, when it may stop."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from conquer.boards.widths import INTERVALS, Interval, Width
from conquer.study.boards.replay import Looks
from conquer.types import Floats


def false_claims(looks: Iterable[Looks], truth: Floats, delta: float, lam: float) -> dict[str, bool]:
    """For each interval, whether `better` was ever said of an item that is not better.

    `fixed` is the narrowest, a normal tail being below exp(-z^2/2): the others are asked only about what it claims.
    """
    one, two = np.triu_indices(truth.size, 1)
    ahead = truth[one] - truth[two]
    wrong: dict[str, bool] = dict.fromkeys(INTERVALS, False)
    for part in looks:
        claimed = np.abs(part.gaps) > _width("fixed", part.spread, truth.size, delta, lam).half(part.V, part.B, 1)
        claimed &= part.gaps * ahead <= 0.0
        if claimed.any():
            gaps, V, B = np.abs(part.gaps[claimed]), part.V[claimed], part.B[claimed]
            spread = np.broadcast_to(part.spread, claimed.shape)[claimed]
            for name in INTERVALS:
                half = _width(name, spread, truth.size, delta, lam).half(V, B, one.size)
                wrong[name] |= bool((gaps > half).any())
    return wrong


def taus(looks: Iterable[Looks], truth: Floats) -> Floats:
    """(T,): Kendall's tau between the board's order and the true one after every answer; a tie counts as half."""
    one, two = np.triu_indices(truth.size, 1)
    ahead = np.sign(truth[one] - truth[two])
    return np.concatenate([(np.sign(part.gaps) * ahead).mean(axis=1) for part in looks])


def endings(looks: Iterable[Looks], truth: Floats, delta: float, lam: float, tolerance: float) -> dict[str, Any]:
    """`done`: after how many answers one may stop, or None; `behind` (T,): how far the leader is behind the best."""
    count, done, behind = truth.size, None, []
    one, two = np.triu_indices(count, 1)
    place = np.zeros((count, count), np.int64)
    place[one, two] = place[two, one] = np.arange(one.size)
    for part in looks:
        leader = part.scores.argmax(axis=1)
        rows = np.arange(leader.size)[:, None]
        half = _width("anytime", part.spread, count, delta, lam).half(part.V, part.B, count - 1)[rows, place[leader]]
        upper = part.scores - part.scores[rows, leader[:, None]] + half
        upper[rows[:, 0], leader] = 0.0
        behind.append(truth.max() - truth[leader])
        settled = (upper <= tolerance).all(axis=1)
        if done is None and settled.any():
            done = part.first + int(settled.argmax())
    return {"done": done, "behind": np.concatenate(behind)}


def _width(interval: Interval, spread: Floats, count: int, delta: float, lam: float) -> Width:
    """A board's width where every look has its own spread. One-hot items worth [-1, 1] have |w*| <= sqrt(K)."""
    return Width(interval, delta, 0.25, lam, float(np.sqrt(count)), cast(float, spread), 1)
