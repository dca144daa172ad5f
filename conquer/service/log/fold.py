"""A model in memory: the fold of its log up to a position. The same `apply` serves live requests and replay."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from conquer.service.errors import invalid
from conquer.service.http.schemas import ModelSettings
from conquer.service.log.event import Event
from conquer.service.log.records import (
    Activated,
    Answered,
    Chosen,
    Corrected,
    Entry,
    Erased,
    Erasure,
    Expired,
    Exposed,
    Fitted,
    Flagged,
    Measured,
)
from conquer.service.log.statistics import Recent, Tally
from conquer.types import Choice

EVENT_BYTES = 256 << 20
"""What one model's cached events may take."""
_json = msgspec.json.Encoder().encode
_tally = msgspec.json.Decoder(Tally).decode


@dataclass(frozen=True, slots=True)
class Read:
    """A round's items as read: their ids, and what the learner takes."""

    ids: Sequence[str]
    rows: Any


@dataclass(frozen=True, slots=True)
class Pick:
    """A choice with what a person sees of it: the ids of the shown, and which of them goes on the left."""

    choice: Choice
    names: tuple[str, ...]
    left: str
    chance: float | None
    scores: list[float]


class Brain(Protocol):
    """What learns: built from the model's settings, fed by the fold."""

    @property
    def size(self) -> int: ...
    def parse(self, items: bytes, context: bytes) -> Any: ...
    def choose(self, read: Any, ordinal: int) -> Pick: ...
    def learn(self, read: Any, choice: Choice, value: float) -> None: ...
    def expose(self, read: Any, choice: Choice) -> Choice: ...
    def check(self, read: Any, choice: Choice) -> tuple[str, ...]: ...
    def dumps(self, extra: str) -> bytes: ...


class Folded:
    """A model as of `position`. Not thread-safe: the writer thread owns it.

    `undone` are positions of answers that a later correction takes back: they are passed over.
    """

    def __init__(
        self, model_id: int, name: str, settings: ModelSettings, brain: Brain, position: int, tally: Tally
    ) -> None:
        self.id, self.name, self.settings, self.brain = model_id, name, settings, brain
        self.position, self.tally = position, tally
        self.undone: frozenset[int] = frozenset()
        self.stale = False
        """A correction or erasure has been applied: the weights must be folded again before use."""
        self.swept = 0
        """How far the sweep for expired events has looked; only saves looking again."""
        self.since_snapshot = 0
        self.pool: list[Any] | None = None
        """Groups of uploaded items, once read."""
        self.pool_bytes = 0
        self.event_bytes = 0
        self.events: OrderedDict[str, Event] = OrderedDict()

    def cached(self, event_id: str) -> Event | None:
        event = self.events.get(event_id)
        if event is not None:
            self.events.move_to_end(event_id)
        return event

    def keep(self, event: Event) -> None:
        self.drop(event.id)
        self.events[event.id] = event
        self.event_bytes += event.size

    def drop(self, event_id: str) -> None:
        gone = self.events.pop(event_id, None)
        if gone is not None:
            self.event_bytes -= gone.size

    def trim(self, count: int, room: int = EVENT_BYTES) -> None:
        """Let the least recently used events go until at most `count` are left, in at most `room` bytes."""
        while self.events and (len(self.events) > count or self.event_bytes > room):
            self.drop(next(iter(self.events)))

    @property
    def size(self) -> int:
        """Bytes in memory, roughly: weights, cached events and items to ask about."""
        return self.brain.size + self.event_bytes + self.pool_bytes

    def round_of(self, event: Event) -> Any:
        if event.round is None:
            event.round = self.brain.parse(bytes(event.chosen.items), bytes(event.chosen.context))
        return event.round

    def apply(self, entry: Entry, read: Any = None) -> None:
        """Take in the next row. Events it speaks of must be in the cache (`wanted` tells which)."""
        if entry.position != self.position + 1:
            raise RuntimeError(f"row {entry.position} cannot follow position {self.position} of model {self.name!r}")
        event = self.events.get(entry.event) if entry.event is not None else None
        match entry.body:
            case Chosen():
                event = Event.of(entry)
                event.round = read
                self.keep(event)
                self.tally.choice(entry.body.ordinal, bool(entry.body.query))
            case Exposed():
                event = _needed(event, entry)
                # Only the fold knows the memo; a replayed row gets the one it already has.
                entry.body.memo = dict(self.brain.expose(self.round_of(event), _first_choice(event)).memo)
            case Answered():
                self._answer(entry, _needed(event, entry), entry.body)
            case Expired():
                event = _needed(event, entry)
                self.tally.expired += 1
                self.tally.swept = max(self.tally.swept, entry.body.chosen_at)
                if entry.body.value is not None:
                    self._learn(event, entry.body.value)
            case Corrected():
                self.tally.undone += 1
                self.stale = True
            case Erasure() | Fitted():
                self.stale = True
            case Erased(ordinal=ordinal):
                if ordinal is not None:
                    self.tally.ordinal = max(self.tally.ordinal, ordinal + 1)
            case Flagged():
                self.tally.flags += 1
            case Measured(answers=answers, uas=uas, sentences=sentences):
                self.tally.measure(answers, uas, sentences)
            case Activated():
                pass
        if event is not None:
            event.follow(entry)
        self.position = entry.position
        self.since_snapshot += 1

    def _learn(self, event: Event, value: float) -> None:
        try:
            self.brain.learn(self.round_of(event), event.choice, value)
        except (ValueError, ArithmeticError) as error:
            refusal = invalid(f"{self.settings.algorithm} cannot learn this answer: {error}")
            # Learners check before they move, but what broke half-way may have moved.
            refusal.tainted = not isinstance(error, ValueError)
            raise refusal from None

    def _answer(self, entry: Entry, event: Event, said: Answered) -> None:
        if entry.position in self.undone:
            return
        if said.value is not None:
            self._learn(event, said.value)
        shown = _labels(event)
        self.tally.answer(shown, said.value, said.reason, entry.voter)
        self.tally.timing(said.seconds, entry.voter)
        # A word nobody could answer is not asked again either: the parser has learnt nothing, so it would ask the same.
        if "word" in event.choice.memo and said.reason in (None, "skip", "both_bad", "tie"):
            self.tally.asked.setdefault(event.choice.memo["sentence"], []).append(event.choice.memo["word"])
        if said.agreed is not None:
            self.tally.repeat(said.agreed, said.between, entry.voter)
        self.tally.note(
            Recent(event.id, entry.position, said.winner, shown, entry.at, said.value is not None, entry.voter)
        )

    def dumps(self) -> bytes:
        """Weights and tally as one model file."""
        return self.brain.dumps(_json(self.tally).decode())


def wanted(entries: Iterable[Entry], have: Callable[[str], bool]) -> set[str]:
    """The events these rows need that are neither cached nor chosen among them."""
    born: set[str] = set()
    need: set[str] = set()
    for entry in entries:
        if entry.event is None:
            continue
        if isinstance(entry.body, Chosen):
            born.add(entry.event)
        elif entry.event not in born and not have(entry.event):
            need.add(entry.event)
    return need


def tally_of(text: str) -> Tally:
    return _tally(text)


def _needed(event: Event | None, entry: Entry) -> Event:
    if event is None:
        raise RuntimeError(f"row {entry.position} speaks of event {entry.event!r}, which the log does not hold")
    return event


def _labels(event: Event) -> tuple[str, ...]:
    """What was shown, by names that mean the same in every event: a head is one of a word of a sentence."""
    memo = event.choice.memo
    if "word" not in memo:
        return event.shown
    return tuple(f"{memo['sentence']}: {memo['word']} < {name}" for name in event.shown)


def _first_choice(event: Event) -> Choice:
    """The choice before it was exposed, also when later rows of the event have been read already."""
    return Choice(event.choice.shown, event.choice.query, event.choice.ticket, event.chosen.memo)
