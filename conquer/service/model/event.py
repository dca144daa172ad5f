"""One question's life, rebuilt from its own rows: chosen, answered, expired, corrected."""

from typing import Any

import msgspec

from conquer.service.model.records import (
    ABSENT,
    Answered,
    Corrected,
    Decision,
    Entry,
    Expired,
    Voted,
)
from conquer.types import Choice, Query, Source

_LARGEST_HELD, _TIMES = 64 << 10, 4
"""What was read of a round is kept up to so many bytes, or so many times what the event takes anyway."""
_OWN, _SCORE, _ANSWER, _PAIR = 1200, 33, 600, 160
"""Bytes of an event's own objects, of a score, of a voter's answer and of a pair's own objects: measured."""
Pair = tuple[bytes, bytes, int]
"""Two rows of features: their columns (int32), their values (float64), and how many of them are the first row's."""


class Event(msgspec.Struct, eq=False, gc=False):
    """A decision and what became of it.

    `choice` is what is learnt from: that of `chosen`. `answers` holds each
    voter's standing answer and its position, `seen` the last row taken in. While the event is cached it may hold what
    was read of the items: all of it in `round`, or of a plain duel the two that were shown in `pair`.
    """

    id: str
    position: int
    at: float
    voter: str | None
    chosen: Decision
    choice: Choice
    seen: int
    answers: dict[str, tuple[int, Answered]] = {}
    expired: bool = False
    sided: bool = True
    """Whether it is known what was on the left."""
    round: Any = None
    pair: Pair | None = None
    own: int = 0
    held: int = 0
    """Bytes of the decision, and of `round` or `pair`."""
    counted: int = 0
    """What it was last counted as by the cache it is in."""

    @classmethod
    def of(cls, entry: Entry) -> "Event":
        """The event that a row begins."""
        body = entry.body
        chosen: Decision = _asked_elsewhere(body) if isinstance(body, Voted) else body
        raw = memoryview(chosen.items).nbytes
        if chosen.context is not ABSENT:
            raw += memoryview(chosen.context).nbytes
        event = cls(
            str(entry.event), entry.position, entry.at, entry.voter, chosen, chosen.choice,
            entry.position, own=_OWN + raw + _SCORE * len(chosen.scores),
        )  # fmt: skip
        if isinstance(body, Voted):
            event.sided = body.left is not None
            event.answers[entry.voter or ""] = (entry.position, body.said)
        return event

    @classmethod
    def begun(cls, entry: Entry, choice: Choice, size: int) -> "Event":
        """The same for a decision without a context, of items of `size` bytes, of which nothing is held."""
        chosen: Decision = entry.body
        position, own = entry.position, _OWN + size + _SCORE * len(chosen.scores)
        return cls(
            entry.event or "", position, entry.at, entry.voter, chosen, choice, position,
            own=own, counted=own,
        )  # fmt: skip

    def follow(self, entry: Entry) -> None:
        """Take in a later row of this event; a row already taken in changes nothing."""
        if entry.position <= self.seen:
            return
        self.seen = entry.position
        match entry.body:
            case Answered():
                self.answers[entry.voter or ""] = entry.position, entry.body
            case Corrected(undone=undone):
                self.answers = {voter: said for voter, said in self.answers.items() if said[0] != undone}
            case Expired():
                self.expired = True
            case _:
                pass

    def hold(self, read: Any) -> None:
        """Keep what was read of the items for the answer, unless it is large for them: then it is read again."""
        size = 0 if read is None else read.nbytes
        self.round, self.held = (read, size) if size <= max(_LARGEST_HELD, _TIMES * self.own) else (None, 0)
        self.pair = None

    def hold_pair(self, pair: Pair) -> int:
        """`hold` for the two items shown that an answer of nobody in particular is learnt from; by how much it grew."""
        size = _PAIR + len(pair[0]) + len(pair[1])
        if size > _LARGEST_HELD and size > _TIMES * self.own:
            return 0
        grown = size - self.held
        self.round, self.pair, self.held = None, pair, size
        self.counted += grown
        return grown

    def learnt(self, position: int, said: Answered) -> int:
        """`follow` for the row of such an answer, after which nothing is held for another; by how much it grew."""
        self.seen = position
        self.answers[""] = position, said
        if self.pair is not None:
            self.pair, self.held = None, 0
        return self.recount()

    @property
    def size(self) -> int:
        """Bytes in memory: the items as they came, their scores, what was read of them, and the answers."""
        return self.own + self.held + _ANSWER * len(self.answers)

    def recount(self) -> int:
        """By how many bytes it has grown since it was last counted."""
        before = self.counted
        self.counted = size = self.size
        return size - before

    def source(self, voter: str | None, said: Answered) -> Source:
        """The voter, and the side that the first of two was on. The weight follows from the log before the answer."""
        return Source(voter, self.side, said.kind)

    @property
    def side(self) -> int:
        """+1 where the first of two was on the left, -1 where the second was, 0 where that is not known."""
        shown = self.chosen.names
        return 0 if len(shown) != 2 or not self.sided else 1 if self.chosen.left == shown[0] else -1

    @property
    def shown(self) -> tuple[str, ...]:
        """The ids of what was shown, first choice first."""
        return self.chosen.names

    @property
    def about(self) -> tuple[str, int] | None:
        """(item, part) where two things are said of a part of one item, as two heads of a word of a sentence.

        None: the question is about the shown items themselves.
        """
        memo = self.choice.memo
        return (memo["sentence"], memo["word"]) if "word" in memo else None

    @property
    def subjects(self) -> tuple[str, ...]:
        """What nobody else is asked about meanwhile: the item, or all that are shown."""
        return self.shown if self.about is None else self.about[:1]

    @property
    def labels(self) -> tuple[str, ...]:
        """What was shown, by names that mean the same in every event: a head is one of a word of a sentence."""
        if self.about is None:
            return self.shown
        item, part = self.about
        return tuple(f"{item}: {part} < {name}" for name in self.shown)


def _asked_elsewhere(vote: Voted) -> Decision:
    """The question that a vote answers: nobody drew it here, so it has no place among the rounds."""
    return Decision(
        ordinal=-1,
        ticket=0,
        query=int(Query.DUEL),
        shown=(0, 1),
        names=vote.names,
        left=vote.left or vote.names[0],
        items=vote.items,
        scores=[],
        context=vote.context,
    )
