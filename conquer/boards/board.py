"""The board: items by score, which pairs are decided, which items may still be best, and the board as text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conquer.boards.widths import Interval, Width
from conquer.checks import LARGEST, number
from conquer.types import Floats, Ints

if TYPE_CHECKING:
    import polars

    from conquer.boards.fragility import Fragility, Reasons, Support
    from conquer.boards.reliability import Reliability

MOST = 5000
"""The most items on a board; a K x K matrix then takes 0.2 GB."""
_ITEM, _BAR = 22, 31
_ROWS = 60
"""Rows of the text."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Whether the answers so far are enough: `Board.stop`'s result.

    Attributes
    ----------
    done : bool
        No item is better than the leader by more than the tolerance, at the board's level.
    leader : int
        The position of the item with the highest score.
    tolerance : float
        The tolerated difference of scores.
    more : float
        About how many more answers are needed; 0 when done, infinite above a billion.
    text : str
        The same in one sentence.

    Examples
    --------
    >>> Stop(True, leader=0, tolerance=0.5, more=0.0, text="you may stop").chance
    0.625
    """

    done: bool
    leader: int
    tolerance: float
    more: float
    text: str

    @property
    def chance(self) -> float:
        """The probability that an item better by the whole tolerance is picked over the leader: (1 + tolerance/2)/2."""
        return min(1.0, (1.0 + self.tolerance / 2.0) / 2.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Board:
    """K items compared. Positions refer to the list that the board was made of; only differences of scores matter.

    Made by `learner.board`, `session.board` or `board_of`; printed as a table with intervals as bars.

    Examples
    --------
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
    """(K,): the lower end of each score less the board's mean."""
    high: Floats
    """(K,): its upper end."""
    better: NDArray[np.bool_]
    """(K, K): whether the row is better than the column, at level delta."""
    best: Ints
    """Positions of the items that may be best, ascending."""
    more: Floats
    """(K-1,): about how many direct questions would separate each item of the order from the next; infinite above a
    billion."""
    upper: Floats
    """(K,): the most by which each item may be better than the leader; 0 for the leader."""
    names: tuple[str, ...] | None
    """(K,): the items' ids; None without ids."""
    width: Width
    """The kind of interval and its constants."""
    apart: Floats
    """(2, K): V and B of each item less the leader."""
    support: "Callable[[], Support] | None" = None
    """Makes the votes behind the board, for `fragile` and `why`."""

    @property
    def interval(self) -> Interval:
        return self.width.interval

    @property
    def delta(self) -> float:
        return self.width.delta

    @property
    def answers(self) -> int:
        """The number of answers the model has learnt."""
        return self.width.answers

    @property
    def leader(self) -> int:
        """The position with the highest score."""
        return int(self.order[0])

    def __len__(self) -> int:
        return self.order.size

    def name(self, position: int) -> str:
        """The item's id, or "item 3" on a board without ids."""
        return f"item {position}" if self.names is None else self.names[position]

    def stop(self, tolerance: float) -> Stop:
        """Whether to stop: at level delta no item is better than the leader by more than `tolerance`.

        Parameters
        ----------
        tolerance : float
            At least 0, in units of scores. An item better by t is picked with probability (1 + t/2)/2.

        Returns
        -------
        Stop

        Raises
        ------
        ValueError
            `tolerance` is not a number in [0, 1e100].
        """
        tolerance, leader = number("tolerance", tolerance, 0, LARGEST), self.leader
        open_ = np.flatnonzero(self.upper > tolerance)
        V, B = self.apart[:, open_]
        gap = tolerance + self.scores[leader] - self.scores[open_]
        # Assumes direct comparisons with the leader, each informative about its own pair alone.
        more = float(self.width.more(V, B, gap, max(1, len(self) - 1)).sum())
        stop = Stop(not open_.size, leader, tolerance, more, "")
        chance, first = f"a win chance of {100 * stop.chance:.0f} %", _printable(self.name(leader))
        if stop.done:
            text = f"you may stop: nothing is better than {first} by more than {tolerance:g}, {chance}"
        else:
            worst = open_[int(self.upper[open_].argmax())]
            bound = f" by up to {self.upper[worst]:.2g}" if np.isfinite(self.upper[worst]) else " by any amount"
            text = f"not yet: {_printable(self.name(worst))} may be better than {first}{bound}"
            text += f"; about {more:,.0f} more answers" if np.isfinite(more) else "; more than a billion answers needed"
        return Stop(stop.done, leader, tolerance, more, text)

    def rows(self) -> list[dict[str, Any]]:
        """The items, best first, as JSON-able dicts: rank, id, score, low, high, beats, may_be_best and more.

        `beats` is the number of items it is better than, `more` that of answers to the next item; infinite is None.
        """
        beats, maybe, more = self.better.sum(axis=1).tolist(), {*self.best.tolist()}, [*self.more.tolist(), math.inf]
        return [
            {
                "rank": rank,
                "id": self.name(k),
                "score": float(self.scores[k]),
                "low": finite(self.low[k]),
                "high": finite(self.high[k]),
                "beats": beats[k],
                "may_be_best": k in maybe,
                "more": finite(more[rank - 1]),
            }
            for rank, k in enumerate(self.order.tolist(), 1)
        ]

    def fragile(self) -> "Fragility":
        """How few votes, and voters, would change the first place or two neighbours; an upper bound, found greedily.

        Raises
        ------
        ValueError
            The board does not know its votes: its session has no ledger and was not fitted, or has learnt others.
        """
        from conquer.boards.fragility import fragility

        return fragility(self._support(), self.order, self.name)

    def why(self, one: str | int, other: str | int) -> "Reasons":
        """The votes, voters and features that make the difference of two items, given by name or position.

        ValueError: as for `fragile`.
        """
        from conquer.boards.fragility import reasons

        at = [self.names.index(k) if isinstance(k, str) and self.names else int(k) for k in (one, other)]
        return reasons(self._support(), at[0], at[1])

    def reliability(self) -> "Reliability":
        """How well a fresh panel would agree with these scores; adaptive pairs do not inflate it.

        ValueError: as for `fragile`, or fewer than three items.
        """
        from conquer.boards.reliability import reliability

        return reliability(self._support())

    def _support(self) -> "Support":
        if self.support is None:
            raise ValueError(
                "this board does not know its votes: a session with a ledger does, or one of conquer.fit (or attach)"
            )
        return self.support()

    def to_frame(self) -> "polars.DataFrame":
        """A polars frame, best first: rank, item, score, low, high, beats, may_be_best, more (to the next item)."""
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
        """The board in at most 80 columns: rank, item, score, interval, how many it beats; * may be best.

        >>> V = 0.001 * (1 - np.eye(3))
        >>> print(board_of([0, 1, 0.1], V, 0 * V, lam=1.0, U=1.0, spread=0.0, answers=9, names=["a", "b", "c"]))
           #  item                      score  score less the mean              beats
           1* b                         1.000             .              |-o-|      2
           2  c                         0.100     |o-|    .                         0
           3  a                         0.000  |-o-|      .                         0
        3 items, 9 answers, 95 % "anytime": 1 may be best (*), 2 of 3 pairs decided
        """
        beats, maybe, mean = self.better.sum(axis=1), set(self.best.tolist()), self.scores.mean()
        ends = np.concatenate([self.low, self.high, self.scores - mean])
        ends = ends[np.isfinite(ends)]
        low, high = (ends.min(), ends.max()) if ends.max() > ends.min() else (ends.min() - 1.0, ends.max() + 1.0)
        lines = [f"   #  {'item':{_ITEM}} {'score':>8}  {'score less the mean':{_BAR}}  beats"]
        for rank, k in enumerate(self.order[:_ROWS].tolist(), 1):
            name, mark = _short(self.name(k)), "*" if k in maybe else " "
            bar = _bar(self.low[k], self.scores[k] - mean, self.high[k], low, high)
            lines.append(f"{rank:4}{mark} {name:{_ITEM}} {self.scores[k]:8.3f}  {bar}  {beats[k]:5}")
        count, level = len(self), f"{100 * (1 - self.delta):g} %"
        if count > _ROWS:
            lines.append(f"      and {count - _ROWS:,} more")
        lines.append(
            f'{count:,} items, {self.answers:,} answers, {level} "{self.interval}": '
            f"{self.best.size:,} may be best (*), {int(self.better.sum()):,} of {count * (count - 1) // 2:,} "
            "pairs decided"
        )
        return "\n".join(lines)


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
    interval: Interval = "anytime",
    tau2: float = 0.25,
    names: Sequence[str] | None = None,
) -> Board:
    """The board of K items with these scores; V and B (K, K) are x' A^-1 x and ||A^-1 x||^2 of their differences x.

    `better` shares the probability delta among all pairs, `best` and `upper` among K - 1 (all pairs with the truly best
    item), `low` and `high` among K; "proved" needs no sharing and "fixed" does none.
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
    # Items with the same features are equal, even if rounding makes their scores differ.
    gaps[V == 0.0] = 0.0
    pairs = max(1, count * (count - 1) // 2)
    better = gaps > width.half(V, B, pairs)
    half = width.half(V, B, max(1, count - 1))
    best = np.flatnonzero(~(gaps > half).any(axis=0))
    upper = gaps[:, leader] + half[:, leader]
    upper[leader] = 0.0
    middle = width.half(_to_mean(V), _to_mean(B), count)
    centred = s - s.mean()
    ahead, behind = order[:-1], order[1:]
    more = width.more(V[ahead, behind], B[ahead, behind], gaps[ahead, behind], pairs)
    apart = np.stack([V[:, leader], B[:, leader]])
    return Board(order, s, centred - middle, centred + middle, better, best, more, upper, ids, width, apart)


def _to_mean(squares: Floats) -> Floats:
    """(K,): squared distances of points from their mean, from those (K, K) between them."""
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


def finite(value: float) -> float | None:
    """A number as JSON has it: None where it is infinite."""
    return float(value) if math.isfinite(value) else None


def _bar(start: float, middle: float, end: float, low: float, high: float) -> str:
    """The interval on an axis of `_BAR` characters; a dot marks the board's mean, an arrow an end beyond the axis."""

    def position(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (_BAR - 1))

    marks = [" "] * _BAR
    marks[position(0.0)] = "."
    first, last = position(start), position(end)
    marks[first : last + 1] = "-" * (last + 1 - first)
    marks[first], marks[last] = "|" if start >= low else "<", "|" if end <= high else ">"
    marks[position(middle)] = "o"
    return "".join(marks)


def _printable(name: str) -> str:
    """A name on one line, without characters that control a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in name)


def _short(name: str) -> str:
    """A name of at most `_ITEM` characters; a long one keeps both ends.

    >>> _short("Code Llama Instruct (34B)")
    'Code Llama ...ct (34B)'
    """
    plain, end = _printable(name), 8
    return plain if len(plain) <= _ITEM else plain[: _ITEM - 3 - end] + "..." + plain[-end:]
