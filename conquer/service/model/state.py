"""A model in memory: what its log up to a position has taught. Live requests and replay go through the same code."""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from conquer.service.errors import RefusalError, invalid
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.records import (
    Answered,
    CorpusFitted,
    Corrected,
    Decision,
    Entry,
    Erased,
    Erasure,
    Event,
    Flagged,
    Settled,
    Unreadable,
    Voted,
)
from conquer.service.model.schemas import Group, ModelSettings, bytes_of
from conquer.service.model.tally import Tally
from conquer.tickets import stream, tickets
from conquer.types import Choice, Source

COMPARED = 5000
"""Servers that share a store compare their weights at every position that this divides."""
EVENT_BYTES = 256 << 20
"""What one model's cached events may take."""
_TICKETS = 256
_json = msgspec.json.Encoder().encode
logger = logging.getLogger(__name__)


class OutOfTurnError(RuntimeError):
    """A row does not follow the model's position."""


class MissingEventError(LookupError):
    """A row is about an event that the log does not hold."""


class Lesson(NamedTuple):
    """An answer to learn: its event, its value, and whose it is."""

    event: Event
    value: float
    voter: str | None
    said: Answered

    @property
    def source(self) -> Source:
        return self.event.source(self.voter, self.said)


class ModelState:
    """A model as of `position`: its learner, its counts, its recent events. Not thread-safe: the engine owns it.

    `undone` are positions of answers that a later correction removes: replay skips them.
    """

    def __init__(
        self, model_id: int, name: str, settings: ModelSettings, learner: ServedLearner, position: int, tally: Tally
    ) -> None:
        self.id, self.name, self.settings, self.learner = model_id, name, settings, learner
        self.position, self.tally, self.undone = position, tally, frozenset[int]()
        self.events: OrderedDict[str, Event] = OrderedDict()
        self.event_bytes = 0
        self.generation = 0
        """The position of the last correction or erasure that was known when the model was loaded."""
        self.stale = False
        """A later one has been applied: the weights stay as they are until the log has been replayed."""
        self.unlearning = False
        """It is stale because a voter was erased, and it weighs voters: weights estimated now would rest on theirs."""
        self.void = False
        """Its features were fitted by another server: it must be loaded again."""
        self.unreadable: list[int] = []
        """Positions of snapshots that could not be read, to be dropped."""
        self.compares = False
        self.digests: list[tuple[int, int, int, str]] = []
        """If it `compares`: (model, position, generation, digest) at the positions that servers compare."""
        self.since_snapshot = 0
        self.pool: list[Group] = []
        """Groups of uploaded items."""
        self.pooled, self.pool_bytes = 0, 0
        """How many rows of items the groups were read from, and what they take."""
        self.asked: Any = None
        """The `PairCoverage` of the log, while the model is in memory."""
        self._stream = stream("policy", settings.seed)
        self._tickets: list[int] = []
        self._first_ticket = 0

    @property
    def size(self) -> int:
        """Bytes in memory, roughly: weights, cached events, uploaded items and pair coverage."""
        asked = 0 if self.asked is None else int(self.asked.size)
        return self.learner.size + self.event_bytes + self.pool_bytes + asked

    def hold_pool(self, pooled: int) -> None:
        """The groups are now those of the first `pooled` rows of items."""
        self.pooled = pooled
        self.pool_bytes = sum(map(bytes_of, (item for group in self.pool for item in group.items)))

    def tickets(self, count: int) -> list[int]:
        """The tickets of the next rounds, from (seed, ordinal), as a Session and a simulation of the seed have them."""
        place = self.tally.ordinal - self._first_ticket
        if not 0 <= place <= len(self._tickets) - count:
            # Many cost hardly more than one.
            self._first_ticket, place = self.tally.ordinal, 0
            self._tickets = tickets(self._stream, self._first_ticket, max(_TICKETS, 2 * count)).tolist()
        return self._tickets[place : place + count]

    # Recent events.

    def cached(self, event_id: str) -> Event | None:
        event = self.events.get(event_id)
        if event is not None:
            self.events.move_to_end(event_id)
        return event

    def keep(self, event: Event) -> None:
        """Cache an event."""
        self.drop(event.id)
        self.events[event.id] = event
        event.counted = 0
        self._recount(event)

    def drop(self, event_id: str) -> None:
        gone = self.events.pop(event_id, None)
        if gone is not None:
            self.event_bytes -= gone.counted

    def trim(self, count: int, room: int = EVENT_BYTES) -> None:
        """Drop the least recently used events until at most `count` are left, in at most `room` bytes."""
        while self.events and (len(self.events) > count or self.event_bytes > room):
            self.event_bytes -= self.events.popitem(last=False)[1].counted

    def _recount(self, event: Event) -> None:
        self.event_bytes += event.size - event.counted
        event.counted = event.size

    def round_of(self, event: Event) -> Any:
        """The event's items as the learner reads them."""
        (read,) = self._rounds_of([event])
        if isinstance(read, RefusalError):
            raise read
        return read

    def _rounds_of(self, events: Sequence[Event]) -> list[Any]:
        """The items of each event as the learner reads them, or a RefusalError."""
        missing = [event for event in events if event.round is None]
        texts = [(bytes(event.chosen.items), bytes(event.chosen.context)) for event in missing]
        read = iter(self.learner.read_many(texts) if texts else ())
        return [next(read) if event.round is None else event.round for event in events]

    # Learning.

    def learn(self, lessons: Sequence[Lesson]) -> list[Exception | None]:
        """Learn answers in order; an exception for each that cannot be learnt."""
        believes = self.settings.believe is not None
        rounds = self._rounds_of([one.event for one in lessons])
        errors: list[Exception | None] = [read if isinstance(read, RefusalError) else None for read in rounds]
        places = [place for place, error in enumerate(errors) if error is None]
        found = self.learner.learn_many(
            [rounds[place] for place in places],
            [lessons[place].event.choice for place in places],
            [lessons[place].value for place in places],
            [lessons[place].source if believes else None for place in places],
        )
        for place, error in zip(places, found, strict=True):
            errors[place], one = error, lessons[place]
            if error is None:
                self.learner.record(one.event.shown, one.event.choice, one.value)
        return errors

    def _learn_one(self, lesson: Lesson) -> None:
        """Learn an answer. Raises RefusalError if that cannot be done."""
        (error,) = self.learn([lesson])
        if error is not None:
            raise self.refusal(error)

    def refusal(self, error: Exception) -> RefusalError:
        """A learner's error as a refusal of its answer. Raises errors that are not about the answer."""
        if isinstance(error, RefusalError):
            return error
        if not isinstance(error, ValueError | ArithmeticError):
            raise error
        refusal = invalid(f"{self.settings.algorithm} cannot learn this answer: {error}")
        # Learners check before they change, but an overflow may come half-way.
        refusal.tainted = not isinstance(error, ValueError)
        return refusal

    # Rows.

    def apply(self, entry: Entry, read: Any = None, choice: Choice | None = None, learnt: bool = False) -> Event | None:
        """Learn from the next row and count it; returns the event it is about, which must be cached.

        `read` and `choice`: those of a new round, if known. `learnt`: `learn` has been called for it.
        """
        if entry.position != self.position + 1:
            raise OutOfTurnError(f"row {entry.position} cannot follow position {self.position} of model {self.id}")
        body, tally = entry.body, self.tally
        event = self.events.get(entry.event or "")
        match body:
            case Decision():
                if event is None or event.position != entry.position:
                    event = Event.of(entry, choice)
                    event.hold(read)
                    self.keep(event)
                tally.choice(body.ordinal, bool(body.query))
            case Answered() if entry.position not in self.undone:
                event = _needed(event, entry)
                if body.value is not None and not learnt:
                    self._learn_one(Lesson(event, body.value, entry.voter, body))
                self._count_answer(entry, event, body)
            case Voted():
                event = Event.of(entry)
                event.hold(read)
                if entry.position not in self.undone:
                    if body.value is not None:
                        self._learn_one(Lesson(event, body.value, entry.voter, body.said))
                    tally.vote(entry.voter)
                self.keep(event)
            case Corrected() | Erasure():
                self._change(entry)
            case Erased(ordinal=ordinal) if ordinal is not None:
                tally.ordinal = max(tally.ordinal, ordinal + 1)
            case Flagged():
                tally.flags += 1
            case Settled():
                tally.settled += 1
            case CorpusFitted():
                self.void = self.learner.unfitted
                self.stale = self.stale or self.void
            case _:
                pass
        self._follow(entry, event)
        return event

    def _follow(self, entry: Entry, event: Event | None) -> None:
        if event is not None:
            event.follow(entry)
            if event.id in self.events:
                self._recount(event)
        self.position = entry.position
        self.since_snapshot += 1
        if self.compares and self.position % COMPARED == 0 and not self.stale:
            self.digests.append((self.id, self.position, self.generation, self.digest()))

    def _change(self, entry: Entry) -> None:
        """A correction or an erasure: earlier rows have changed."""
        self.stale = self.stale or entry.position > self.generation
        if isinstance(entry.body, Corrected):
            self.tally.undone += 1
            return
        # Some of these events have gone from the log; the others are looked up again.
        self.unlearning = self.stale and self.settings.believe is not None
        self.trim(0)

    def _count_answer(self, entry: Entry, event: Event, said: Answered) -> None:
        tally, about = self.tally, event.about
        # Further voters are rare; their answers read the round again.
        event.hold(None)
        tally.answer(len(event.shown), said.value, said.reason, entry.voter)
        tally.timing(said.seconds, entry.voter)
        # A part that could not be answered is not asked about again: nothing was learnt, so the same would be asked.
        if about is not None and said.reason in (None, "skip", "both_bad", "tie"):
            item, part = about
            # Two people may have been asked about the same.
            if part not in (asked := tally.asked.setdefault(item, [])):
                asked.append(part)
        if said.agreed is not None:
            tally.repeat(said.agreed, said.between, entry.voter)

    # Replay.

    def replay(self, rows: Sequence[Entry]) -> None:
        """Take in stored rows, whose events are cached or begin among them.

        A row that cannot be read or learnt is counted as quarantined, and replay continues after it.
        """
        for part in _stretches(rows):
            learnt, failed = self._learn_rows(part) if isinstance(part[0].body, Decision | Answered) else (set(), {})
            for row in part:
                self._replay_row(row, row.position in learnt, failed.get(row.position))

    def _learn_rows(self, rows: Sequence[Entry]) -> tuple[set[int], dict[int, Exception]]:
        """Begin the events of decisions, and learn all answers in one call; returns positions, and what went wrong."""
        lessons: dict[int, Lesson] = {}
        failed: dict[int, Exception] = {}
        for row in rows:
            body = row.body
            if isinstance(body, Decision):
                try:
                    self.keep(Event.of(row))
                except (ValueError, TypeError, LookupError, AttributeError) as error:
                    failed[row.position] = error
            elif body.value is not None and row.position not in self.undone:
                event = self.events.get(row.event or "")
                if event is not None:
                    lessons[row.position] = Lesson(event, body.value, row.voter, body)
        errors = self.learn(list(lessons.values()))
        failed |= {position: error for position, error in zip(lessons, errors, strict=True) if error is not None}
        return set(lessons), failed

    def _replay_row(self, row: Entry, learnt: bool, error: Exception | None) -> None:
        try:
            if error is not None:
                raise error
            if isinstance(row.body, Unreadable):
                self._skip(row, row.body.reason)
            else:
                self.apply(row, learnt=learnt)
        except (OutOfTurnError, MemoryError, OSError):
            # Not the row's fault.
            raise
        except MissingEventError:
            # Its event was erased, or could not be read and has been counted.
            self.tally.ignored["event_gone"] = self.tally.ignored.get("event_gone", 0) + 1
            self._follow(row, None)
        except Exception as problem:
            # The same row fails on every server, so all come to the same state.
            logger.error("row %d of model %d cannot be replayed", row.position, self.id, exc_info=problem)
            self._skip(row, f"{type(problem).__name__}: {problem}"[:200])

    def _skip(self, row: Entry, reason: str) -> None:
        """Count a row that cannot be read or learnt."""
        if row.position != self.position + 1:
            raise OutOfTurnError(f"row {row.position} cannot follow position {self.position} of model {self.id}")
        self.tally.quarantine(row.position, reason)
        self._follow(row, self.events.get(row.event or ""))

    def digest(self) -> str:
        """A digest of the weights and counts."""
        return hashlib.blake2b(self.dumps(), digest_size=16).hexdigest()

    def dumps(self) -> bytes:
        """Weights and tally as one model file."""
        return self.learner.dumps(_json(self.tally).decode())


def _needed(event: Event | None, entry: Entry) -> Event:
    if event is None:
        raise MissingEventError(f"row {entry.position} is about event {entry.event!r}, which the log does not hold")
    return event


def _stretches(rows: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Runs of rounds and answers, which are learnt together; other rows one by one.

    A run ends at a position that servers compare, so that weights there contain no later answer.
    """
    start = 0
    for place, row in enumerate(rows):
        single = not isinstance(row.body, Decision | Answered)
        if single and place > start:
            yield rows[start:place]
            start = place
        if single or row.position % COMPARED == 0 or place == len(rows) - 1:
            yield rows[start : place + 1]
            start = place + 1
