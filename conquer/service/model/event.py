"""One question's life, rebuilt from its own rows: chosen, answered, expired, corrected."""

from typing import Any

import msgspec

from conquer.service.model.records import ABSENT, Answered, Corrected, Decision, Entry, Expired, Voted
from conquer.types import Choice, Query, Source

_LARGEST_HELD, _TIMES = 64 << 10, 4
"""What was read of a round is kept up to this many bytes, or this many times what the event takes anyway."""
_OWN, _SCORE, _ANSWER = 1200, 33, 600
"""Bytes of an event's own objects, of a score, and of a voter's answer: measured."""


class Event(msgspec.Struct, eq=False, gc=False):
    """A decision and what became of it.

    `choice` is what is learnt from. `answers` holds each voter's answer and its position, `seen` is the last row taken
    in. While the event is cached, `round` may hold what was read of its items.
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
    own: int = 0
    held: int = 0
    """Bytes of the decision, and of `round`."""
    counted: int = 0
    """Its size when the cache last counted it."""

    @classmethod
    def of(cls, entry: Entry, choice: Choice | None = None) -> "Event":
        """The event that a row begins; `choice` is that of its decision, if it is at hand."""
        body = entry.body
        chosen: Decision = _asked_elsewhere(body) if isinstance(body, Voted) else body
        own = _OWN + memoryview(chosen.items).nbytes + _SCORE * len(chosen.scores)
        if chosen.context is not ABSENT:
            own += memoryview(chosen.context).nbytes
        event = cls(
            entry.event or "", entry.position, entry.at, entry.voter, chosen, choice or chosen.choice, entry.position,
            own=own,
        )  # fmt: skip
        if isinstance(body, Voted):
            event.sided = body.left is not None
            event.answers[entry.voter or ""] = entry.position, body.said
        return event

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
        """Keep what was read of the items for the answer; if it is large, it is read again instead."""
        size = 0 if read is None else read.nbytes
        self.round, self.held = (read, size) if size <= max(_LARGEST_HELD, _TIMES * self.own) else (None, 0)

    @property
    def size(self) -> int:
        """Bytes in memory: the items as they came, their scores, what was read of them, and the answers."""
        return self.own + self.held + _ANSWER * len(self.answers)

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
        """(item, part) of a question about a part of one item, such as a word of a sentence.

        None: the question is about the shown items themselves.
        """
        memo = self.choice.memo
        return (memo["sentence"], memo["word"]) if "word" in memo else None

    @property
    def subjects(self) -> tuple[str, ...]:
        """What others are not asked about meanwhile: the item, or all that are shown."""
        return self.shown if self.about is None else self.about[:1]

    @property
    def labels(self) -> tuple[str, ...]:
        """What was shown, by names that mean the same in every event: a head belongs to a word of a sentence."""
        if self.about is None:
            return self.shown
        item, part = self.about
        return tuple(f"{item}: {part} < {name}" for name in self.shown)


def _asked_elsewhere(vote: Voted) -> Decision:
    """The question that a vote answers. It was not drawn here, so it has no place among the rounds."""
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
