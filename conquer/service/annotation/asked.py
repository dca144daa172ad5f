"""Which pairs of a pool were answered, how often and by whom: read from the log, so that a pool comes to an end."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from conquer.service.http.schemas import Group
from conquer.service.log.records import Answered, Corrected, Entry, Erasure, Voted
from conquer.service.store import log_table

SLICE = 1000
"""Answers read at once."""
NEAR = 2000
"""Rows that a turn catches up with; more are read beside the writer."""
_BYTES = 120
"""What an answer takes here, roughly."""


class _Pair(msgspec.Struct):
    """All that is read of a decision."""

    names: tuple[str, ...] = ()
    planted: str | None = None


_pair = msgspec.json.Decoder(_Pair).decode


class Asked:
    """The answered pairs of a pool up to a position of the log. Pairs are numbers: two places in the pool.

    >>> from conquer.service.http.schemas import Item
    >>> asked = Asked([Group([Item("a", text="x"), Item("b", text="y"), Item("c", text="z")])])
    >>> asked.say("e", "ann", ("b", "a"), counts=True)
    >>> asked.votes_of("a", "b"), asked.has_met("ann", "a", "b"), asked.has_met("bob", "a", "b")
    (1, True, False)
    """

    def __init__(self, pool: Sequence[Group], quota: int | None = None) -> None:
        self.quota = quota
        self.pairs = sum(len(group.items) * (len(group.items) - 1) // 2 for group in pool)
        self.covered, self.filled = 0, 0
        """How many pairs have an answer that counts, and how many answers count towards the quota."""
        self.pooled = sum(len(group.items) for group in pool)
        """How many items the places are numbered by: with more, everything is read again."""
        self.position = 0
        self.void = False
        """Rows it has read were erased: everything is read again."""
        self.over: set[str | None] = set()
        """Who has no pair left to answer, None: nobody has. More answers change nothing about that, an undo does."""
        self._places = {item.id: k for k, item in enumerate(item for group in pool for item in group.items)}
        self._votes: Counter[int] = Counter()
        self._met: dict[str, set[int]] = {}
        self._said: dict[tuple[str, str], tuple[int, bool]] = {}
        """By event and voter: the pair, and whether the answer counts. What an undo needs."""

    def _number(self, one: str, other: str) -> int | None:
        a, b = self._places.get(one), self._places.get(other)
        return None if a is None or b is None else (min(a, b) << 32) | max(a, b)

    @property
    def size(self) -> int:
        """Bytes in memory, roughly."""
        return _BYTES * (len(self._said) + len(self._votes) + len(self._places))

    def votes_of(self, one: str, other: str) -> int:
        """How many answers about this pair count."""
        number = self._number(one, other)
        return 0 if number is None else self._votes[number]

    def has_met(self, voter: str, one: str, other: str) -> bool:
        """Whether this person has answered about this pair, whatever they said."""
        number = self._number(one, other)
        return number is not None and number in self._met.get(voter, ())

    def say(self, event: str, voter: str, names: Sequence[str], counts: bool) -> None:
        """An answer to a question about two items."""
        number = self._number(*names) if len(names) == 2 else None
        if number is None:
            return
        self._said[event, voter] = number, counts
        self._met.setdefault(voter, set()).add(number)
        self._count(number, int(counts))

    def unsay(self, event: str, voter: str) -> None:
        """That answer was taken back: the pair may come again."""
        number, counts = self._said.pop((event, voter), (None, False))
        if number is not None:
            self.over.clear()
            self._met[voter].discard(number)
            self._count(number, -int(counts))

    def _count(self, number: int, change: int) -> None:
        before = self._votes[number]
        after = self._votes[number] = before + change
        most = max(before, after) if self.quota is None else self.quota
        self.filled += min(after, most) - min(before, most)
        self.covered += (after > 0) - (before > 0)

    def voters(self, most: int) -> list[tuple[str, int]]:
        """Those who have answered about most pairs, and about how many."""
        return heapq.nlargest(
            most, ((name, len(met)) for name, met in self._met.items() if met), key=lambda one: one[1]
        )

    def catch_up(self, connection: Connection, model: int, head: int) -> None:
        """Read what was said after its position, up to the row at `head`."""
        # What was erased before anything was read has not been read.
        begun = self.position > 0
        while self.position < head:
            rows = log_table.said(connection, model, self.position, head, SLICE)
            self._take(connection, model, rows)
            self.void = self.void or (begun and any(isinstance(row.body, Erasure) for row in rows))
            self.position = rows[-1].position if len(rows) == SLICE else head

    def _take(self, connection: Connection, model: int, rows: Sequence[Entry]) -> None:
        asked = log_table.decisions(connection, model, {row.event for row in rows})
        pairs = {name: _names(body) for name, body in asked}
        for row in rows:
            found = pairs.get(row.event or "")
            match row.body:
                case Answered(value=value) if found is not None and found.planted is None:
                    self.say(str(row.event), row.voter or "", found.names, value is not None)
                case Voted(names=names, value=value):
                    self.say(str(row.event), row.voter or "", names, value is not None)
                case Corrected():
                    self.unsay(str(row.event), row.voter or "")
                case _:
                    pass


def _names(body: str) -> Any:
    try:
        return _pair(body)
    except (msgspec.DecodeError, RecursionError):
        # A damaged row asks nothing.
        return _Pair()
