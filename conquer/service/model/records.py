"""The rows of a model's log, what each kind holds, and the events that they make up. Replaying rows gives the model."""

import struct
import zlib
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from conquer.types import Choice, Query, Source

Raw = msgspec.Raw
ABSENT = Raw(b"null")
VoterKind = Literal["person", "judge"]
FOLD = 1
"""The version of the rules by which rows are replayed. With another number the same rows may give other weights."""
_QUERIES = {query.value: query for query in Query if query.value}
"""Those that ask something, by number: an enum's own look-up takes ten times as long."""


class Decision(msgspec.Struct, omit_defaults=True, gc=False):
    """`choose`: the record of a decision: the items as sent, the round's ticket, and what was shown of them.

    `shown` are positions in `items`.
    """

    ordinal: int
    ticket: int
    query: int
    shown: tuple[int, ...]
    names: tuple[str, ...]
    """The ids of the shown, in the same order; `left` is one of them."""
    left: str
    items: Raw
    scores: list[float]
    context: Raw = ABSENT
    memo: dict[str, Any] = {}
    """What the learner wants to know again when the answer comes, and the `chance` of its choice."""
    done: bool | None = None
    """Of a model with `stop`: whether the answers before it already decided between its items."""
    planted: str | None = None
    """The event this one asks again, to see whether people agree with themselves."""

    @property
    def choice(self) -> Choice:
        """What the learner chose, as it returned it."""
        return Choice(tuple(self.shown), _QUERIES.get(self.query) or Query(self.query), self.ticket, self.memo)

    @property
    def chance(self) -> float | None:
        """How likely the learner was to choose this, where that is known; a question asked again was not chosen."""
        chance: float | None = self.memo.get("chance") if self.planted is None else None
        return chance


class Answered(msgspec.Struct, omit_defaults=True, gc=False):
    """`answer`: what was said, the number learnt from it (None: not learnt) and why not."""

    winner: str
    value: float | None = None
    reason: str | None = None
    strength: float | None = None
    seconds: float | None = None
    agreed: bool | None = None
    """For a planted question: whether the answer is the one given the first time."""
    between: bool = False
    """The first time it was another person who answered."""
    kind: VoterKind = "person"
    weight: float | None = None
    """A named voter's weight when it was given, where the model weighs voters. A replay computes it again."""


class Voted(msgspec.Struct, omit_defaults=True):
    """`vote`: an answer from elsewhere with its question: two items as sent, the winner's id or "tie".

    It used no round, so it has neither ordinal nor ticket. `left`: which of the two was on the left, if that is known.
    """

    items: Raw
    names: tuple[str, str]
    winner: str
    value: float | None
    context: Raw = ABSENT
    left: str | None = None
    kind: VoterKind = "person"
    weight: float | None = None

    @property
    def said(self) -> Answered:
        """What was said, as an answer to a question asked here."""
        return Answered(self.winner, self.value, kind=self.kind, weight=self.weight)


class Corrected(msgspec.Struct):
    """`correction`: the answer at position `undone` never happened."""

    undone: int


class Erasure(msgspec.Struct):
    """`erasure`: rows from position `first` on have been emptied, so the log must be replayed."""

    first: int
    rows: int


class Erased(msgspec.Struct, omit_defaults=True):
    """`erased`: a row that has been emptied; a choice leaves its ordinal, so that no ticket is used twice."""

    ordinal: int | None = None


class Flagged(msgspec.Struct):
    """`flag`: a person's remark on a question."""

    comment: str


class Settled(msgspec.Struct):
    """`settle`: the flag at position `flag` has been dealt with, and all earlier ones of its event."""

    flag: int


class CorpusFitted(msgspec.Struct):
    """`fit`: the features were fitted to `items` items; the snapshot at position 0 holds the result."""

    items: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """In place of a row's body that cannot be read, never stored: its kind according to the row, and the error."""

    kind: str
    reason: str


KINDS: dict[str, type[msgspec.Struct]] = {
    "choose": Decision,
    "answer": Answered,
    "correction": Corrected,
    "erasure": Erasure,
    "erased": Erased,
    "flag": Flagged,
    "settle": Settled,
    "fit": CorpusFitted,
    "vote": Voted,
}
NAMES = {struct: kind for kind, struct in KINDS.items()}
_DECODERS = {kind: msgspec.json.Decoder(struct) for kind, struct in KINDS.items()}
_encode = msgspec.json.Encoder().encode
_HEAD = struct.Struct("<qd")
_ITEMS = b'"items":'
_NO_ITEMS = _ITEMS + b"null"
_ANONYMOUS = {side: Source(side=side) for side in (-1, 0, 1)}
_LARGEST_HELD, _TIMES = 64 << 10, 4
"""The rows of a round are kept up to this many bytes, or this many times the bytes of the event itself."""
_OWN, _SCORE, _ANSWER = 1200, 33, 600
"""Bytes of an event's own objects, of a score, and of a voter's answer: measured."""


class Entry(msgspec.Struct, gc=False):
    """One row: its position in the model's log, when it was written, its body, and its text once that is sealed."""

    position: int
    at: float
    event: str | None
    voter: str | None
    body: Any
    text: bytes = b""

    @property
    def kind(self) -> str:
        return NAMES.get(type(self.body)) or self.body.kind


def checksum(entry: Entry) -> int:
    """The sum that a row carries: over its place, its time, its names and its body's text.

    >>> one, two = (Entry(position, 0.0, None, None, Erased(), b"{}") for position in (1, 2))
    >>> checksum(one) == checksum(two)
    False
    """
    return summed(entry.position, entry.at, entry.kind, entry.event, entry.voter, entry.text)


def summed(position: int, at: float, kind: str, event: str | None, voter: str | None, text: bytes) -> int:
    """The `checksum` of a row that holds these."""
    names = f"{kind}\x1f{event}\x1f{voter}\x1f".encode()
    return zlib.crc32(text, zlib.crc32(_HEAD.pack(position, at) + names))


def seal(entry: Entry) -> None:
    """Give the row the text it is stored as; a ValueError where reading that would not bring the same row back.

    JSON keeps every float64 exactly, but it has no infinity and no NaN.

    >>> entry = Entry(1, 0.0, "e", None, Answered("a", value=float("inf")))
    >>> seal(entry)
    Traceback (most recent call last):
    ValueError: a row of the kind 'answer' would not be read as it was written
    """
    kind, body = entry.kind, entry.body
    # Items were decoded before and are stored as sent; the rest of the row is made here and read back.
    items = body.items if kind in ("choose", "vote") else None
    if items is not None:
        body = msgspec.structs.replace(body, items=ABSENT)
    text = _encode(body)
    if _DECODERS[kind].decode(text) != body:
        raise ValueError(f"a row of the kind {kind!r} would not be read as it was written")
    if items is not None:
        # No name before it can hold these bytes: a quotation mark inside of one is written with a backslash.
        head, _, tail = text.partition(_NO_ITEMS)
        text = b"".join((head, _ITEMS, memoryview(items), tail))
    entry.text = text


def unsealed(position: int, at: float, kind: str, event: str | None, voter: str | None, text: str) -> Entry:
    """A stored row; the body of one that cannot be read is Unreadable."""
    entry = Entry(position, at, event, voter, None, text.encode(errors="replace"))
    try:
        entry.body = decoded(kind, text)
    except (msgspec.DecodeError, KeyError, ValueError, RecursionError) as error:
        entry.body = Unreadable(kind, f"{type(error).__name__}: {error}"[:200])
    return entry


def decoded(kind: str, body: str) -> Any:
    """A row's body from its text.

    >>> decoded("correction", '{"undone":3}')
    Corrected(undone=3)
    """
    return _DECODERS[kind].decode(body)


class Event(msgspec.Struct, eq=False, gc=False):
    """A decision and its answers.

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
    sided: bool = True
    """Whether it is known what was on the left."""
    rows: int = 0
    """Its answers and corrections in the log."""
    round: Any = None
    own: int = 0
    held: int = 0
    """Bytes of the decision, and of `round`."""
    counted: int = 0
    """Its size when the cache last counted it."""

    @classmethod
    def of(cls, entry: Entry, choice: Choice | None = None) -> "Event":
        """The event that a row begins; `choice`: that of its decision, if known."""
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
                self.rows += 1
                self.answers[entry.voter or ""] = entry.position, entry.body
            case Corrected(undone=undone):
                self.rows += 1
                # A correction is about an answer of the same voter.
                if self.answers.get(entry.voter or "", (0,))[0] == undone:
                    del self.answers[entry.voter or ""]
            case _:
                pass

    def hold(self, read: Any) -> None:
        """Keep the rows of the items for the answer; large ones are read again instead."""
        size = 0 if read is None else read.nbytes
        self.round, self.held = (read, size) if size <= max(_LARGEST_HELD, _TIMES * self.own) else (None, 0)

    @property
    def size(self) -> int:
        """Bytes in memory: the items as sent, their scores, the rows read from them, and the answers."""
        return self.own + self.held + _ANSWER * len(self.answers)

    def source(self, voter: str | None, said: Answered) -> Source:
        """The voter, and the side that the first of two was on. The weight follows from the log before the answer."""
        return _ANONYMOUS[self.side] if voter is None else Source(voter, self.side, said.kind)

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
        """The items that others are not asked about meanwhile: the one item, or all that are shown."""
        return self.shown if self.about is None else self.about[:1]


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
