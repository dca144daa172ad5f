"""The board: items by score, who is surely better than whom, and who may still be best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conquer.boards.stopping import Stop
from conquer.boards.widths import Width
from conquer.checks import LARGEST, number
from conquer.types import Floats, Ints

MOST = 5000
"""Items on one board: it holds several K x K matrices of 8 bytes, of which one is then 0.2 GB."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Board:
    """K items compared. Positions are places in the list that the board was made of; scores matter as differences.

    >>> V = 0.01 * (1 - np.eye(3))
    >>> board = board_of([0.0, 1.0, 0.1], V, 0 * V, lam=1.0, U=1.0, spread=0.0, answers=9, names=["a", "b", "c"])
    >>> board.order.tolist(), board.best.tolist(), board.better.astype(int).tolist()
    ([1, 2, 0], [1], [[0, 0, 0], [1, 0, 1], [0, 0, 0]])
    >>> board.stop(0.5).text
    'you may stop: nothing is better than b by more than 0.5, a win chance of 62 %'
    """

    order: Ints
    """(K,): positions, best first; equal scores in the order of the list."""
    scores: Floats
    """(K,): the model's scores."""
    low: Floats
    """(K,): the lower end of each score minus the board's mean, which is all that pairs can tell."""
    high: Floats
    """(K,): its upper end."""
    better: NDArray[np.bool_]
    """(K, K): whether the row is surely better than the column."""
    best: Ints
    """Positions of the items that may be best, rising."""
    more: Floats
    """(K-1,): about how many direct questions would separate each item of the order from the next; may be infinite."""
    upper: Floats
    """(K,): the most by which each item may be better than the leader; the leader's own is 0."""
    names: tuple[str, ...] | None
    """(K,): the items' ids, where they have any."""
    width: Width
    """The kind of interval and its constants."""
    apart: Floats
    """(2, K): V and B of each item less the leader."""

    @property
    def interval(self) -> str:
        return self.width.interval

    @property
    def delta(self) -> float:
        return self.width.delta

    @property
    def answers(self) -> int:
        """How many answers the model has learnt."""
        return self.width.answers

    @property
    def leader(self) -> int:
        """The position with the highest score."""
        return int(self.order[0])

    def __len__(self) -> int:
        return self.order.size

    def name(self, position: int) -> str:
        """The item's id, or "item 3" where it has none."""
        return f"item {position}" if self.names is None else self.names[position]

    def stop(self, tolerance: float) -> Stop:
        """Whether one may stop: at level delta no item is better than the leader by more than `tolerance`."""
        from conquer.boards.drawing import printable

        tolerance, leader = number("tolerance", tolerance, 0, LARGEST), self.leader
        open_ = np.flatnonzero(self.upper > tolerance)
        V, B = self.apart[:, open_]
        gap = tolerance + self.scores[leader] - self.scores[open_]
        # As if only the leader were compared, with each of them: an answer about one says nothing of the others.
        more = float(self.width.more(V, B, gap, max(1, len(self) - 1)).sum())
        stop = Stop(not open_.size, leader, tolerance, more, "")
        chance, first = f"a win chance of {100 * stop.chance:.0f} %", printable(self.name(leader))
        if stop.done:
            text = f"you may stop: nothing is better than {first} by more than {tolerance:g}, {chance}"
        else:
            worst = open_[int(self.upper[open_].argmax())]
            bound = f" by up to {self.upper[worst]:.2g}" if np.isfinite(self.upper[worst]) else " by any amount"
            text = f"not yet: {printable(self.name(worst))} may be better than {first}{bound}"
            text += f"; about {more:,.0f} more answers" if np.isfinite(more) else "; a billion answers are not enough"
        return Stop(stop.done, leader, tolerance, more, text)

    def to_frame(self) -> Any:
        """A polars frame, best first: rank, item, score, low, high, beats, may_be_best, more (to the next one)."""
        import polars as pl

        k = self.order
        return pl.DataFrame(
            {
                "rank": np.arange(1, len(self) + 1),
                "item": [self.name(i) if self.names is not None else i for i in k.tolist()],
                "score": self.scores[k],
                "low": self.low[k],
                "high": self.high[k],
                "beats": self.better.sum(axis=1)[k],
                "may_be_best": np.isin(k, self.best),
                "more": [*self.more.tolist(), None],
            },
            schema_overrides={"more": pl.Float64},
        )

    def __repr__(self) -> str:
        from conquer.boards.drawing import drawn

        return drawn(self)

    def _repr_html_(self) -> str:
        from conquer.boards.drawing import as_html

        return as_html(self)


def board_of(
    scores: ArrayLike,
    V: ArrayLike,
    B: ArrayLike,
    *,
    lam: float,
    U: float,
    spread: float,
    answers: int,
    delta: float = 0.05,
    interval: str = "anytime",
    tau2: float = 0.25,
    names: Sequence[str] | None = None,
) -> Board:
    """The board of K items with these scores; V and B (K, K) are x' A^-1 x and ||A^-1 x||^2 of their differences x.

    `better` shares the chance delta among all pairs, `best` and `upper` among K - 1 (all pairs with the truly best
    item), `low` and `high` among K; "proved" needs no sharing and "fixed" has none.
    """
    width = Width(interval, delta, tau2, lam, U, max(0.0, float(spread)), answers)
    s, V, B = (np.asarray(array, np.float64) for array in (scores, V, B))
    count = s.size
    if s.ndim != 1 or not 1 <= count <= MOST:
        raise ValueError(f"a board has 1 to {MOST:,} items, got scores of shape {s.shape}")
    if V.shape != (count, count) or B.shape != (count, count):
        raise ValueError(f"V and B must be {count} x {count} matrices, got {V.shape} and {B.shape}")
    ids = _checked(names, count)
    order = np.argsort(-s, kind="stable")
    leader, gaps = order[0], s[:, None] - s
    # Items with the same features cannot be told apart, whatever rounding makes of their scores.
    gaps[V == 0.0] = 0.0
    better = gaps > width.half(V, B, max(1, count * (count - 1) // 2))
    half = width.half(V, B, max(1, count - 1))
    best = np.flatnonzero(~(gaps > half).any(axis=0))
    upper = gaps[:, leader] + half[:, leader]
    upper[leader] = 0.0
    middle = width.half(_to_mean(V), _to_mean(B), count)
    centred = s - s.mean()
    ahead, behind = order[:-1], order[1:]
    pairs = max(1, count * (count - 1) // 2)
    more = width.more(V[ahead, behind], B[ahead, behind], gaps[ahead, behind], pairs)
    apart = np.stack([V[:, leader], B[:, leader]])
    return Board(order, s, centred - middle, centred + middle, better, best, more, upper, ids, width, apart)


def _to_mean(squares: Floats) -> Floats:
    """(K,): squared distances from the mean of the points, from those (K, K) between them."""
    distances: Floats = np.maximum(0.0, squares.mean(axis=1) - 0.5 * squares.mean())
    return distances


def _checked(names: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    ids = tuple(names)
    if bad := [name for name in ids if not isinstance(name, str)]:
        raise TypeError(f"the names of a board's items must be strings, got {bad[0]!r:.80}")
    if len(ids) != count:
        raise ValueError(f"need one name per item, got {len(ids)} names for {count} items")
    if len(set(ids)) != count:
        raise ValueError(f"names must be unique, got {next(n for n in ids if ids.count(n) > 1)!r:.80} twice")
    return ids
