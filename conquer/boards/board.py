"""The board: items by score, which pairs are decided, which items may still be best, and the board as text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conquer.boards.evidence import Answers, Race, direct
from conquer.boards.lack_of_fit import UNTESTED, Fit, fit_of
from conquer.boards.mean_votes import mean_votes
from conquer.boards.scale import ELO, LINEAR, POINTS, Slope, calibrated, ranks_of, tiers_of
from conquer.boards.widths import MOST_ANSWERS, Interval, Target, Width
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
        The position of the item with the highest score among those that may be best.
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
    >>> V = 0.001 * (1 - np.eye(3))
    >>> width = Width("proved", delta=0.05, tau2=0.25, lam=1.0, gains=((1.0, 2.0, 1.0),), answers=9)
    >>> board = board_of([0.0, 1.0, 0.1], V, 0 * V, 0 * V, width, names=["a", "b", "c"])
    >>> board.order.tolist(), board.best.tolist(), board.better.astype(int).tolist()
    ([1, 2, 0], [1], [[0, 0, 0], [1, 0, 1], [1, 0, 0]])
    >>> board.stop(0.5).text
    'you may stop: nothing is better than b by more than 0.5, a win chance of 62 %'
    >>> board.ranks.tolist(), board.tiers.tolist(), board.elo.round().tolist()
    ([[3, 3], [1, 1], [2, 2]], [3, 1, 2], [1436.0, 1610.0, 1454.0])
    """

    order: Ints
    """(K,): positions, best first; equal scores in the order of the list."""
    scores: Floats
    """(K,): the model's scores; of a board of mean votes, each item's mean answer against the others."""
    low: Floats
    """(K,): the lower end of each score less the board's mean; of mean votes, of the score itself."""
    high: Floats
    """(K,): its upper end."""
    better: NDArray[np.bool_]
    """(K, K): whether the row is better than the column, at level delta."""
    best: Ints
    """Positions of the items that may be best, ascending: those alive if the answers were recorded."""
    more: Floats
    """(K-1,): about how many direct questions would separate each item of the order from the next; infinite above a
    billion."""
    upper: Floats
    """(K,): the most by which each item may be better than the leader; 0 for the leader."""
    names: tuple[str, ...] | None
    """(K,): the items' ids; None without ids."""
    width: Width
    """The kind of interval and its constants."""
    answered: Answers | None = None
    """The recorded answers between these items; None if none were recorded."""
    slope: Slope = LINEAR
    """How differences of scores become win chances."""
    fit: Fit = UNTESTED
    """Whether the answers fit one score per item."""
    target: Target = "score"
    complete: bool = True
    """Whether the records hold every answer that the model has learnt."""
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
        """The position with the highest score among those that may be best."""
        maybe = np.isin(self.order, self.best)
        return int(self.order[maybe.argmax()])

    @property
    def fit_p(self) -> float:
        """A p-value, valid at any look, of the law that every item has one score; small where answers contradict it."""
        return self.fit.p

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the board doubtful, and what to do; empty if nothing does."""
        found = [self.fit.text] if self.fit.kind else []
        if not self.best.size:
            found.append("every item is beaten by another: there is no best one, and more answers will not find one")
        return tuple(found)

    @property
    def ranks(self) -> Ints:
        """(K, 2): the best and the worst rank of each item that `better` allows."""
        return ranks_of(self.better)

    @property
    def tiers(self) -> Ints:
        """(K,): the tier of each item, from 1; everything in a tier beats everything in the next ones."""
        return tiers_of(self.order, self.better)

    @property
    def elo(self) -> Floats:
        """(K,): Elo points around 1500: 400 points are odds of ten to one."""
        points: Floats = ELO + POINTS * self._slope * (self.scores - self.scores.mean())
        return points

    @property
    def wins(self) -> Floats:
        """(K, K): the probability that the row wins against the column; a tie counts as half."""
        if self.target == "mean vote":
            raise ValueError("mean votes assume no law, so they have no chances of single pairs")
        return self.slope.chance(self.scores[:, None] - self.scores)

    @property
    def win(self) -> Floats:
        """(K,): the probability that the item wins against one of mean score; of mean votes, against a random one."""
        if self.target == "mean vote":
            return 0.5 + 0.5 * self.scores
        return self.slope.chance(self.scores - self.scores.mean())

    @property
    def _slope(self) -> float:
        # A mean answer m is a win chance of (1 + m)/2: the logarithm of its odds has the slope 2 at m = 0.
        return 2.0 if self.target == "mean vote" else self.slope.c

    def __len__(self) -> int:
        return self.order.size

    def name(self, position: int) -> str:
        """The item's id, or "item 3" on a board without ids."""
        return f"item {position}" if self.names is None else self.names[position]

    def stop(self, tolerance: float) -> Stop:
        """Whether to stop: at level delta no item is better than the leader by more than `tolerance`.

        With recorded answers this is a test of each other item, which assumes no law: that it is not the best and also
        better than the leader by more. Without them it compares intervals.

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
        ahead = self.upper > tolerance
        if self.answered is not None:
            race = Race(len(self), tolerance)
            race.add(self.answered)
            if self.complete:
                ahead = ~race.behind(leader, self.delta)
            else:
                ahead &= ~race.behind(leader, 0.5 * self.delta)
        open_ = np.flatnonzero(ahead)
        done = bool(self.best.size) and not open_.size
        stop = Stop(done, leader, tolerance, 0.0 if done else self._more(open_, tolerance), "")
        chance, first = f"a win chance of {100 * stop.chance:.0f} %", _printable(self.name(leader))
        if done:
            text = f"you may stop: nothing is better than {first} by more than {tolerance:g}, {chance}"
        elif not self.best.size:
            text = f"not yet: {self.warnings[-1]}"
        else:
            worst = open_[int(self.upper[open_].argmax())]
            bound = f" by up to {self.upper[worst]:.2g}" if np.isfinite(self.upper[worst]) else " by any amount"
            if self.answered is not None:
                worst = open_[int(self.scores[open_].argmax())]
                bound = f" by more than {tolerance:g}"  # intervals are another test
            text = f"not yet: {_printable(self.name(worst))} may be better than {first}{bound}"
            if np.isfinite(stop.more):
                text += f"; about {stop.more:,.0f} more answers"
            else:
                text += "; more than a billion answers needed"
        return Stop(done, leader, tolerance, stop.more, text)

    def _more(self, open_: Ints, tolerance: float) -> float:
        """About how many direct questions would end the test of every open item, if the scores are right."""
        if not self.best.size:
            return math.inf
        lead = np.maximum(0.0, tolerance + self.scores[self.leader] - self.scores[open_])
        with np.errstate(divide="ignore"):
            each = 8.0 * math.log(max(2, len(self)) / self.delta) / np.minimum(lead, 2.0) ** 2
        total = float(each.sum())
        return total if total <= MOST_ANSWERS else math.inf

    def rows(self) -> list[dict[str, Any]]:
        """The items, best first, as JSON-able dicts with the columns of `to_frame`; infinite is None."""
        beats, maybe, more = self.better.sum(axis=1).tolist(), {*self.best.tolist()}, [*self.more.tolist(), math.inf]
        ranks, tiers, win, elo = self.ranks.tolist(), self.tiers.tolist(), self.win.tolist(), self.elo.tolist()
        return [
            {
                "rank": rank,
                "id": self.name(k),
                "score": float(self.scores[k]),
                "low": finite(self.low[k]),
                "high": finite(self.high[k]),
                "beats": beats[k],
                "may_be_best": k in maybe,
                "rank_low": ranks[k][0],
                "rank_high": ranks[k][1],
                "tier": tiers[k],
                "win": win[k],
                "elo": elo[k],
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
        """A polars frame, best first.

        rank, item, score, low, high, beats, may_be_best, rank_low, rank_high (best and worst possible rank), tier, win
        (chance against a mean item), elo, more (answers to the next item).
        """
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
                "rank_low": self.ranks[k, 0],
                "rank_high": self.ranks[k, 1],
                "tier": self.tiers[k],
                "win": self.win[k],
                "elo": self.elo[k],
                "more": [*self.more.tolist(), None],
            },
            schema_overrides={"more": pl.Float64},
        )

    def __repr__(self) -> str:
        """The board in at most 80 columns: rank, item, score, interval, possible ranks; * may be best.

        >>> V = 0.001 * (1 - np.eye(3))
        >>> width = Width("proved", delta=0.05, tau2=0.25, lam=1.0, gains=((1.0, 2.0, 1.0),), answers=9)
        >>> print(board_of([0, 1, 0.1], V, 0 * V, 0 * V, width, names=["a", "b", "c"]))
           #  item                      score  score less the mean              ranks
           1* b                         1.000             .               |-o|      1
           2  c                         0.100     |o-|    .                         2
           3  a                         0.000  |o-|       .                         3
        3 items, 9 answers, 95 % "proved": 1 may be best (*), 3 of 3 pairs decided
        """
        maybe, ranks = set(self.best.tolist()), self.ranks
        mean = 0.0 if self.target == "mean vote" else self.scores.mean()
        ends = np.concatenate([self.low, self.high, self.scores - mean])
        ends = ends[np.isfinite(ends)]
        low, high = (ends.min(), ends.max()) if ends.max() > ends.min() else (ends.min() - 1.0, ends.max() + 1.0)
        title = "mean vote" if self.target == "mean vote" else "score less the mean"
        lines = [f"   #  {'item':{_ITEM}} {'score':>8}  {title:{_BAR}}  ranks"]
        for rank, k in enumerate(self.order[:_ROWS].tolist(), 1):
            name, mark = _short(self.name(k)), "*" if k in maybe else " "
            bar = _bar(self.low[k], self.scores[k] - mean, self.high[k], low, high)
            first, last = ranks[k].tolist()
            span = f"{first}" if first == last else f"{first}-{last}"
            lines.append(f"{rank:4}{mark} {name:{_ITEM}} {self.scores[k]:8.3f}  {bar} {span:>6}".rstrip())
        count, level = len(self), f"{100 * (1 - self.delta):g} %"
        if count > _ROWS:
            lines.append(f"      and {count - _ROWS:,} more")
        kind = self.target if self.target == "mean vote" else self.interval
        people = 0 if self.answered is None else np.unique(self.answered.voter[self.answered.voter >= 0]).size
        whom = f" of {people:,} voters" if people else ""
        lines.append(
            f'{count:,} items, {self.answers:,} answers{whom}, {level} "{kind}": '
            f"{self.best.size:,} may be best (*), {int(self.better.sum()):,} of {count * (count - 1) // 2:,} "
            "pairs decided"
        )
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


def board_of(
    scores: ArrayLike,
    V: ArrayLike,
    B: ArrayLike,
    pull: ArrayLike,
    width: Width,
    *,
    names: Sequence[str] | None = None,
    answered: Answers | None = None,
    complete: bool = True,
    rows: Floats | None = None,
) -> Board:
    """The board of K items with these scores.

    V, B and `pull` (K, K) are those of `Width` for the differences of two items. `answered`: the recorded answers
    between the items; they decide `best`, and direct tests of single pairs join `better`, each at half the level.
    Where the records are not `complete` the model knows more: `best` are then those that neither the tests nor the
    intervals exclude, at half the level each. `rows` (K, D): the items' features, if not one column each.

    "anytime" shares the probability delta among all pairs for `better`, among K - 1 for `upper` and, without recorded
    answers, `best`, among K for `low` and `high`; "proved" needs no sharing and "fixed" does none.
    """
    s, V, B, pull = (np.asarray(array, np.float64) for array in (scores, V, B, pull))
    count = s.size
    if s.ndim != 1 or not 1 <= count <= MOST:
        raise ValueError(f"a board has 1 to {MOST:,} items, got scores of shape {s.shape}")
    if any(each.shape != (count, count) for each in (V, B, pull)):
        raise ValueError(f"V, B and pull must be {count} x {count}, got {V.shape}, {B.shape} and {pull.shape}")
    ids = _checked(names, count)
    order = np.argsort(-s, kind="stable")
    gaps = s[:, None] - s
    # Items with the same features are equal, even if rounding makes their scores differ.
    gaps[V == 0.0] = 0.0
    pairs = max(1, count * (count - 1) // 2)
    proved = width.interval == "proved"
    inner = replace(width, delta=0.5 * width.delta) if answered is not None and proved else width
    better = gaps > inner.half(V, B, pull, pairs)
    half = width.half(V, B, pull, max(1, count - 1))
    best = np.flatnonzero(~(gaps > half).any(axis=0))
    slope, fit = LINEAR, UNTESTED
    if answered is not None:
        race = Race(count)
        race.add(answered)
        best = np.flatnonzero(race.alive(width.delta))
        if not complete:
            half = replace(width, delta=0.5 * width.delta).half(V, B, pull, max(1, count - 1))
            best = np.flatnonzero(race.alive(0.5 * width.delta) & ~(gaps > half).any(axis=0))
        slope, fit = calibrated(answered), fit_of(answered, count, rows)
        if proved:
            better = closed(better | direct(answered, count, 0.5 * width.delta))
    leader = order[np.isin(order, best).argmax()]
    upper = gaps[:, leader] + half[:, leader]
    upper[leader] = 0.0
    middle = width.half(_to_mean(V), _to_mean(B), pull.mean(axis=1), count)
    centred = s - s.mean()
    ahead, behind = order[:-1], order[1:]
    at = ahead, behind
    more = width.more(V[at], B[at], pull[at], gaps[at], pairs)
    low, high = centred - middle, centred + middle
    return Board(order, s, low, high, better, best, more, upper, ids, width, answered, slope, fit, complete=complete)


def closed(better: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What follows if better is transitive; items in a cycle are not told apart.

    >>> closed(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    while True:
        steps = better.astype(np.float32)
        more = better | (steps @ steps > 0.5)
        if (more == better).all():
            return better & ~better.T
        better = more


def board_of_mean_votes(
    answered: Answers, count: int, share: float, *, delta: float, answers: int, names: Sequence[str] | None = None
) -> Board:
    """The board of the items' mean votes; see `mean_votes`."""
    found = mean_votes(answered, count, share, delta)
    order = np.argsort(-found.mean, kind="stable")
    better = found.low[:, None] > found.high
    best = np.flatnonzero(~better.any(axis=0))
    leader = order[0]
    upper = found.high - found.low[leader]
    upper[leader] = 0.0
    width = Width("proved", delta, 0.25, 0.0, (), answers)
    more = np.full(max(0, count - 1), np.inf)
    return Board(
        order, found.mean, found.low, found.high, better, best, more, upper, _checked(names, count), width,
        target="mean vote",
    )  # fmt: skip


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
