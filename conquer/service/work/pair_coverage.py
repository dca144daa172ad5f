"""Which pairs of a pool were answered, how often and by whom. Read from the log; decides when a pool is finished."""

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from types import MappingProxyType
from typing import TypeVar

import msgspec

from conquer.service.engine.engine import Engine
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError
from conquer.service.model.learner_protocol import May
from conquer.service.model.records import Answered, Corrected, Entry, Erasure, Voted
from conquer.service.model.schemas import Group
from conquer.service.store import log as log_table
from conquer.service.work.pool import groups_of

SLICE, ROUNDS = 250, 16
"""Answers, and of these the rounds, that are read at once."""
_PATIENCE = 20.0
"""Seconds that one request may take to read the log; the next one continues where it ended."""
_BYTES = 120
"""Bytes of an answer in memory, roughly."""
_LISTED = 256
"""Voters in a progress report."""
Result = TypeVar("Result")


class VoterProgress(msgspec.Struct):
    name: str
    pairs: int
    """Pairs they have answered, whatever they said."""


class Progress(msgspec.Struct):
    """`pairs` of the pool, and those `covered` by a learnt answer; of a parser, words, and those asked about.

    `voters`: most pairs first.

    `answered` of `wanted` answers count towards the quota; both are null without one.
    """

    pairs: int
    covered: int
    quota: int | None
    answered: int | None
    wanted: int | None
    voters: list[VoterProgress]


class PairCoverage:
    """The answered pairs of a pool up to a position of the log. A pair is a number made of two places in the pool.

    >>> from conquer.service.model.schemas import Item
    >>> coverage = PairCoverage([Group([Item("a", text="x"), Item("b", text="y"), Item("c", text="z")])])
    >>> coverage.add("e", "ann", ("b", "a"), counts=True)
    >>> coverage.votes_of("a", "b"), coverage.has_met("ann", "a", "b"), coverage.has_met("bob", "a", "b")
    (1, True, False)
    """

    def __init__(self, pool: Sequence[Group], quota: int | None = None, begun: int = 0) -> None:
        self.quota = quota
        self.pairs = sum(len(group.items) * (len(group.items) - 1) // 2 for group in pool)
        self.covered, self.filled = 0, 0
        """Pairs with a learnt answer, and learnt answers that count towards the quota."""
        self.pooled = sum(len(group.items) for group in pool)
        """Items the places are numbered by; when the pool grows, everything is read again."""
        self.position, self.begun = 0, begun
        """The last row read, and the last one of the log when the reading began."""
        self.void = False
        """Rows read here were erased: everything is read again."""
        self.over: set[str | None] = set()
        """Voters without a pair left, None: no pair is left for anyone. Only an undo changes that."""
        self._places = {item.id: k for k, item in enumerate(item for group in pool for item in group.items)}
        self._votes: Counter[int] = Counter()
        self._met: dict[str, set[int]] = {}
        self._said: dict[tuple[str, str], tuple[int, bool]] = {}
        """By event and voter: the pair, and whether the answer was learnt. Needed to undo it."""

    def _number(self, one: str, other: str) -> int:
        """The pair's number, negative where one of the items is not in the pool."""
        a, b = self._places.get(one, -1), self._places.get(other, -1)
        return min(a, b) << 32 | max(a, b)

    @property
    def size(self) -> int:
        """Bytes in memory, roughly."""
        return _BYTES * (len(self._said) + len(self._votes) + len(self._places))

    def votes_of(self, one: str, other: str) -> int:
        """Learnt answers about this pair."""
        return self._votes[self._number(one, other)]

    def has_met(self, voter: str, one: str, other: str) -> bool:
        """Whether the voter has answered about this pair, whatever they said."""
        return self._number(one, other) in self._met.get(voter, ())

    def may_ask(self, voter: str | None, held: Mapping[frozenset[str], int] = MappingProxyType({})) -> May:
        """The pairs that a voter has not met and that still need answers; None: a voter who has met none.

        `held`: how many others are being asked about each pair; these count towards the quota.
        """

        def may(one: str, other: str) -> bool:
            if voter is not None and self.has_met(voter, one, other):
                return False
            return self.quota is None or self.votes_of(one, other) + held.get(frozenset((one, other)), 0) < self.quota

        return may

    def add(self, event: str, voter: str, names: Sequence[str], counts: bool) -> None:
        """Count an answer to a question about two items."""
        number = self._number(*names) if len(names) == 2 else -1
        if number >= 0:
            self._said[event, voter] = number, counts
            self._met.setdefault(voter, set()).add(number)
            self._count(number, int(counts))

    def undo(self, event: str, voter: str) -> None:
        """Forget an answer; its pair may be asked again."""
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

    def voters(self) -> list[VoterProgress]:
        """The voters with most pairs."""
        met = (VoterProgress(name, len(pairs)) for name, pairs in self._met.items() if pairs)
        return heapq.nlargest(_LISTED, met, key=lambda one: one.pairs)

    def read(self, turn: Turn) -> None:
        """Read the answers up to now, or until the turn is over; their rounds may be large."""
        turn.flush()
        state, connection = turn.state, turn.connection
        while self.position < state.position and not self.void:
            rows = log_table.said(connection, state.id, self.position, state.position, SLICE)
            for start in range(0, len(rows), ROUNDS):
                part = rows[start : start + ROUNDS]
                asked = {row.event for row in part if isinstance(row.body, Answered)}
                pairs = dict(log_table.begun(connection, state.id, asked))
                for row in part:
                    self._count_row(row, pairs.get(str(row.event)))
                self.position = part[-1].position
                if turn.is_over:
                    return
            if not rows:
                self.position = state.position

    def _count_row(self, row: Entry, asked: log_table.Begun | None) -> None:
        event, voter = str(row.event), row.voter or ""
        match row.body:
            case Answered(value=value) if asked is not None and asked.planted is None:
                self.add(event, voter, asked.names, value is not None)
            case Voted(names=names, value=value):
                self.add(event, voter, names, value is not None)
            case Corrected():
                self.undo(event, voter)
            case Erasure() if row.position > self.begun:
                # What was erased before the reading began has not been read.
                self.void = True


def coverage_of(turn: Turn) -> PairCoverage | None:
    """The coverage up to now; None where more rows are missing than one turn reads: call again in another turn."""
    state, pool = turn.state, groups_of(turn)
    found: PairCoverage | None = state.asked
    if found is None or found.void or found.pooled != sum(len(group.items) for group in pool):
        found = state.asked = PairCoverage(pool, state.settings.quota, state.position)
    found.read(turn)
    return None if found.void or found.position < state.position else found


def progress(turn: Turn) -> Progress | None:
    """How far a pool's questions have come; None where `coverage_of` is."""
    state, quota = turn.state, turn.state.settings.quota
    if not state.learner.pairwise:
        from conquer.service.work.parse_learner import words_in

        asked = sum(map(len, state.tally.asked.values()))
        return Progress(words_in(turn), asked, None, None, None, [])
    found = coverage_of(turn)
    if found is None:
        return None
    answered, wanted = (None, None) if quota is None else (found.filled, quota * found.pairs)
    return Progress(found.pairs, found.covered, quota, answered, wanted, found.voters())


async def call_covered(engine: Engine, name: str, work: Callable[[Turn], Result | None], owner: str) -> Result:
    """What `work` returns, called in one turn after the other while it returns None."""
    until = monotonic() + _PATIENCE
    while monotonic() < until:
        found: Result | None = await engine.call(name, work, owner=owner)
        if found is not None:
            return found
    raise RefusalError(Kind.BUSY, "busy", "this model's log is still being read; try again", retry_after=1)
