"""Evidence: a record of every answer with the forecast made before it, and the betting tests that the records decide.

For an item b let H_b be "nothing beats b": given the past, no answer about b favours its opponent on average. A bet of
the share l of a wealth that starts at 1, fixed before the answer, multiplies it by 1 + l y, y = +1 where b's opponent
won. Under H_b the wealth is a supermartingale, so it ever reaches 1/delta with probability delta at most (Ville). Only
the best item's test must hold, so no probability is shared out among items. No law of the answers is assumed, and a bad
forecast costs answers, not validity.
"""

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.rounds.wealth import weigh
from conquer.types import Floats, Ints, ItemId, Ledger, Query

COLUMNS = ("first", "second", "gap", "deviation", "chance", "size", "voter", "weight", "answer")
"""Of a record: the numbers of the two items, the forecast difference of their scores and its standard deviation, the
probability of the choice (NaN: unknown), the number of items of the round, the number of the voter (-1: anonymous), the
weight of the voter, and the answer in [-1, 1], +1 for the first item."""
_WIDTH = len(COLUMNS)
_BLOCKS = 1.25
"""Votes from elsewhere are forecast anew each time there are this many times more."""
_NOBODY: Any = (None, None)


class Answers(NamedTuple):
    """Records about the items of one list, in order; `first` and `second` are positions in the list."""

    first: Ints
    second: Ints
    gap: Floats
    deviation: Floats
    chance: Floats
    size: Ints
    voter: Ints
    weight: Floats
    answer: Floats

    @property
    def total(self) -> int:
        """The number of answers."""
        return self.first.size


class Race:
    """Which of K items may still be best, and which are shown not to lead another by more than a tolerance.

    Answers are added in order; the same answers give the same numbers, added together or one at a time.

    >>> race = Race(2, tolerance=0.5)
    >>> one = Answers(*(np.full(200, x) for x in (0, 1, 0.5, 0.1, np.nan, 2, -1, 1.0, 1.0)))
    >>> race.add(one)
    >>> race.alive(0.05).tolist(), race.behind(0, 0.05).tolist()
    ([True, False], [True, True])
    """

    def __init__(self, count: int, tolerance: float | None = None) -> None:
        self.count, self.tolerance = count, tolerance
        self.log, self.peak, self.extra = np.zeros(count), np.zeros(count), np.zeros(16)
        self.slots: dict[int, int] = {}
        """The place in `extra` of each ordered pair that was asked about: leader * K + item."""

    def add(self, answers: Answers) -> None:
        """Add further answers."""
        count = answers.total
        first, second = answers.first.astype(np.int64), answers.second.astype(np.int64)
        slots = np.zeros((2, count), np.int64)
        if self.tolerance is not None:
            for row, keys in enumerate(
                ((first * self.count + second).tolist(), (second * self.count + first).tolist())
            ):
                slots[row] = [self.slots.setdefault(key, len(self.slots)) for key in keys]
            if len(self.slots) > self.extra.size:
                self.extra = np.concatenate([self.extra, np.zeros(len(self.slots) + self.extra.size)])
        tolerance = -1.0 if self.tolerance is None else self.tolerance
        weigh(
            first, second, slots, answers.gap, answers.deviation, answers.answer, tolerance, self.log, self.peak,
            self.extra,
        )  # fmt: skip

    def alive(self, delta: float) -> NDArray[np.bool_]:
        """(K,): whether the item may still be best; false of the best one with probability delta, at all times."""
        living: NDArray[np.bool_] = self.peak < -math.log(delta)
        return living

    def behind(self, leader: int, delta: float) -> NDArray[np.bool_]:
        """(K,): whether the item is shown not to be best and better than the leader by more than the tolerance.

        True of the leader itself. The probability delta is shared out among all K possible leaders.
        """
        wealth = self.log.copy()
        if self.slots:
            start = leader * self.count
            for k in range(self.count):
                place = self.slots.get(start + k)
                if place is not None:
                    wealth[k] += self.extra[place]
        shown: NDArray[np.bool_] = wealth >= math.log(self.count / delta)
        shown[leader] = True
        return shown

    def left(self, scores: Floats, delta: float) -> tuple[int | None, Ints]:
        """(leader, open items): the highest-scored item alive, and those still to be asked about beside it.

        No leader if no item is alive. Without a tolerance all others alive are open.
        """
        living = self.alive(delta)
        if not living.any():
            return None, np.arange(self.count)
        leader = int(np.where(living, scores, -np.inf).argmax())
        if self.tolerance is None:
            living[leader] = False
            return leader, np.flatnonzero(living)
        return leader, np.flatnonzero(~self.behind(leader, delta))

    def candidates(self, scores: Floats, delta: float) -> Ints | None:
        """The positions that `tob` chooses from, ascending; None for all of them.

        They are the leader and the open items that are alive; where no such item is open, the other open ones.
        """
        leader, left = self.left(scores, delta)
        if leader is None or not left.size:
            return None
        living = left[self.alive(delta)[left]]
        some = living if living.size else left
        return np.sort(np.append(some, leader))


BETS = 0.95 / 1.6 ** np.arange(12)
"""The bets that a direct test of one pair mixes."""


def direct(answers: Answers, count: int, delta: float) -> NDArray[np.bool_]:
    """(K, K): whether the answers between the two alone show that the row beats the column.

    The wealth of betting on the row, mixed over `BETS`, against "the row does not beat the column"; the probability
    delta is shared out among all ordered pairs. No law is assumed.
    """
    shown = np.zeros((count, count), np.bool_)
    low, high = np.minimum(answers.first, answers.second), np.maximum(answers.first, answers.second)
    keys, places = np.unique(low * count + high, return_inverse=True)
    signed = np.where(answers.first < answers.second, answers.answer, -answers.answer)
    level = math.log(count * (count - 1) / delta) + math.log(BETS.size) if keys.size else 0.0
    for sign, rows, columns in ((1.0, keys // count, keys % count), (-1.0, keys % count, keys // count)):
        logs = np.stack([np.bincount(places, np.log1p(sign * bet * signed), keys.size) for bet in BETS])
        shown[rows, columns] = np.logaddexp.reduce(logs, axis=0) >= level
    return shown


class Evidence:
    """Records of answers between items with ids. Not thread-safe.

    Bets, boards and stopping are computed from the records, so those of a part of the items, or without some voters,
    are those of a log that never had the others.

    >>> evidence = Evidence()
    >>> for _ in range(60):
    ...     evidence.add("tea", "mug", (0.8, 0.2), 1.0)
    >>> evidence.race(["tea", "mug"]).alive(0.05).tolist()
    [True, False]
    """

    def __init__(self) -> None:
        self.items: dict[ItemId, int] = {}
        self.voters: dict[str, int] = {}
        self._records = array("d")
        self._race: tuple[tuple[ItemId, ...], Race] = _NOBODY
        self._seen = 0
        self.source: Callable[[], None] | None = None
        """Adds what came before the first record, such as the votes of a fit; called when they are first needed."""

    def __len__(self) -> int:
        """The number of records, those of an unread source left out."""
        return len(self._records) // _WIDTH

    @property
    def nbytes(self) -> int:
        """Bytes of the records."""
        return len(self._records) * self._records.itemsize

    def _read(self) -> None:
        """Add what the source has."""
        source, self.source = self.source, None
        if source is not None:
            source()

    def add(
        self,
        first: ItemId,
        second: ItemId,
        forecast: Sequence[float],
        answer: float,
        *,
        chance: float | None = None,
        size: int = 2,
        voter: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """Add one answer; `forecast`: (gap, deviation) from before it; `size`: the number of items offered."""
        if self.source is not None:
            self._read()
        items = self.items
        self._records.extend(
            (
                items.setdefault(first, len(items)),
                items.setdefault(second, len(items)),
                *forecast,
                math.nan if chance is None else chance,
                size,
                -1.0 if voter is None else self.voters.setdefault(voter, len(self.voters)),
                weight,
                answer,
            )
        )

    def extend(self, ids: Sequence[ItemId], answers: Answers, voters: Sequence[str] = ()) -> None:
        """Add many answers about the items of one list; `answers.voter` are positions in `voters`."""
        self._read()
        numbers = np.array([self.items.setdefault(name, len(self.items)) for name in ids], np.float64)
        people = np.array([*(self.voters.setdefault(name, len(self.voters)) for name in voters), -1], np.float64)
        columns = [numbers[answers.first], numbers[answers.second], *answers[2:6], people[answers.voter], *answers[7:]]
        self._records.frombytes(np.stack(columns, axis=1).astype(np.float64).tobytes())

    def among(self, ids: Sequence[ItemId], start: int = 0) -> Answers:
        """The answers between two of these items, from record `start` on."""
        self._read()
        table = np.array(self._records[start * _WIDTH :]).reshape(-1, _WIDTH)
        places = np.full(len(self.items) + 1, -1, np.int64)
        for position, name in enumerate(ids):
            places[self.items.get(name, -1)] = position
        places[-1] = -1
        first, second = places[table[:, 0].astype(np.int64)], places[table[:, 1].astype(np.int64)]
        kept = (first >= 0) & (second >= 0)
        rest = [np.ascontiguousarray(column) for column in table[kept].T[2:]]
        gap, deviation, chance, size, voter, weight, answer = rest
        return Answers(
            first[kept], second[kept], gap, deviation, chance, size.astype(np.int64), voter.astype(np.int64), weight,
            answer,
        )  # fmt: skip

    def race(self, ids: Sequence[ItemId], tolerance: float | None = None) -> Race:
        """The race between these items; the last one is kept, and only new answers are added to it."""
        self._read()
        key, race = tuple(ids), self._race[1]
        if self._race[0] != key or race.tolerance != tolerance:
            race = Race(len(key), tolerance)
            self._race = key, race
            self._seen = 0
        if self._seen < len(self):
            race.add(self.among(key, self._seen))
            self._seen = len(self)
        return race

    def unread(self, ids: Sequence[ItemId], tolerance: float | None = None) -> int:
        """The number of records that `race` would read for these items."""
        kept = self._race[0] == tuple(ids) and self._race[1].tolerance == tolerance
        return len(self) - self._seen if kept else len(self)

    def add_votes(
        self, ids: Sequence[ItemId], first: Ints, second: Ints, answers: Floats, voter: Ints, weight: Floats,
        voters: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Add votes from elsewhere in their order, `first`, `second` and `voter` as positions in `ids` and `voters`.

        Each forecast comes from scores fitted to the votes before it.
        """
        gap, deviation = _forecasts(first, second, answers, weight, len(ids))
        unknown = np.full(first.size, math.nan)
        two = np.full(first.size, 2)
        self.extend(ids, Answers(first, second, gap, deviation, unknown, two, voter, weight, answers), voters)

    def copied(self) -> "Evidence":
        """A copy, for another thread."""
        self._read()
        twin = Evidence()
        twin.items, twin.voters, twin._records = dict(self.items), dict(self.voters), array("d", self._records)
        return twin

    def settings(self) -> dict[str, Any]:
        """Everything but the records, as JSON takes it."""
        return {"items": list(self.items), "voters": list(self.voters)}

    def array(self) -> Floats:
        """(n, 9): the records."""
        return np.array(self._records).reshape(-1, _WIDTH)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], records: Floats) -> "Evidence":
        """The evidence that gave these settings and records, checked."""
        found = cls()
        found.items = {name: k for k, name in enumerate(settings["items"])}
        found.voters = {name: k for k, name in enumerate(settings["voters"])}
        if records.dtype != np.float64 or records.ndim != 2 or records.shape[1] != _WIDTH:
            raise ValueError(f"records must be rows of {_WIDTH} numbers, got {records.dtype} of shape {records.shape}")
        if len(records):
            first, second, gap, deviation, chance, size, voter, weight, answer = records.T
            whole = all(np.isfinite(each).all() for each in (gap, deviation, weight, answer))
            items = np.stack([first, second])
            if not (
                whole
                and (np.isin(items, np.arange(len(found.items))).all() and (first != second).all())
                and np.isin(voter, np.arange(-1, len(found.voters))).all()
                and (np.abs(answer) <= 1.0).all()
                and (deviation >= 0.0).all()
                and (np.isnan(chance) | ((chance > 0.0) & (chance <= 1.0))).all()
                and (size >= 2).all()
            ):
                raise ValueError("the records of the answers are inconsistent")
        found._records = array("d", np.ascontiguousarray(records).tobytes())
        return found

    @classmethod
    def of_ledger(cls, ledger: Ledger | Iterable[Mapping[str, Any]], without: Collection[str] = ()) -> "Evidence":
        """The evidence of a session's ledger, without the answers of some voters."""
        found, offers = cls(), dict[str, Mapping[str, Any]]()
        for row in ledger.rows() if hasattr(ledger, "rows") else ledger:
            if row["kind"] == "ask":
                offers[row["id"]] = row
            elif row["kind"] == "tell" and row["answer"] is not None and row.get("voter") not in without:
                asked = offers.pop(row["id"])
                memo = asked["memo"]
                if asked["query"] == Query.DUEL and "forecast" in memo:
                    first, second = (asked["items"][k] for k in asked["shown"])
                    found.add(
                        first,
                        second,
                        memo["forecast"],
                        row["answer"],
                        chance=memo.get("chance"),
                        size=len(asked["items"]),
                        voter=row.get("voter"),
                        weight=row.get("weight", 1.0),
                    )
        return found


def _forecasts(first: Ints, second: Ints, answers: Floats, weight: Floats, count: int) -> tuple[Floats, Floats]:
    """(gap, deviation) of each vote's pair, by a ridge fit to the votes of earlier blocks."""
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import cg

    gap, deviation = np.zeros(first.size), np.zeros(first.size)
    gains, own, scores = np.zeros(count), np.ones(count), np.zeros(count)
    start = 0
    while start < first.size:
        stop = min(first.size, max(start + count, int(_BLOCKS * start)))
        if start:
            past = slice(0, start)
            square = 0.25 * weight[past] ** 2
            between = csr_array((square, (first[past], second[past])), shape=(count, count))
            matrix = diags_array(own) - between - between.T
            scores = cg(matrix, gains, x0=scores, rtol=1e-6, maxiter=1000)[0]
        part = slice(start, stop)
        one, two, said = first[part], second[part], 0.5 * weight[part] * answers[part]
        gap[part] = scores[one] - scores[two]
        deviation[part] = np.sqrt(1.0 / own[one] + 1.0 / own[two])
        gains += np.bincount(one, said, count) - np.bincount(two, said, count)
        own += np.bincount(np.concatenate([one, two]), np.tile(0.25 * weight[part] ** 2, 2), count)
        start = stop
    return gap, deviation
