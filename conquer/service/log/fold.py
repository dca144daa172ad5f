"""A model in memory: the fold of its log up to a position. The same `apply` serves live requests and replay."""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from conquer.service.errors import invalid
from conquer.service.http.schemas import Group, ModelSettings
from conquer.service.log.contents import bytes_of
from conquer.service.log.event import Event
from conquer.service.log.records import (
    Answered,
    CorpusFitted,
    Corrected,
    Decision,
    Entry,
    Erased,
    Erasure,
    Expired,
    Exposed,
    Flagged,
    Measured,
    Settled,
    Unreadable,
    Voted,
)
from conquer.service.log.served import ServedLearner
from conquer.service.log.statistics import Recent, Tally
from conquer.tickets import stream, tickets

EVENT_BYTES = 256 << 20
"""What one model's cached events may take."""
COMPARED = 5000
"""Servers that share a store compare their folds at every position that this divides."""
_TICKETS = 64
_json = msgspec.json.Encoder().encode
logger = logging.getLogger(__name__)


class OutOfTurnError(RuntimeError):
    """A row was given to a fold that is not at the position before it."""


class MissingEventError(LookupError):
    """A row speaks of an event that the log does not hold."""


class Counted:
    """A log's counts as of `position`, and the events it spoke of lately; nothing is learnt.

    `undone` are positions of answers that a later correction takes back: they are passed over.
    """

    def __init__(self, model_id: int, position: int, tally: Tally, undone: frozenset[int] = frozenset()) -> None:
        self.id, self.position, self.tally, self.undone = model_id, position, tally, undone
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
        event.counted = 0
        self.event_bytes += event.recount()

    def drop(self, event_id: str) -> None:
        gone = self.events.pop(event_id, None)
        if gone is not None:
            self.event_bytes -= gone.counted

    def trim(self, count: int, room: int = EVENT_BYTES) -> None:
        """Let the least recently used events go until at most `count` are left, in at most `room` bytes."""
        while self.events and (len(self.events) > count or self.event_bytes > room):
            self.drop(next(iter(self.events)))

    def apply(self, entry: Entry, read: Any = None) -> Event | None:
        """Take in the next row; return the event it speaks of, which must be in the cache (`wanted` tells which)."""
        self._check_next(entry)
        return self._take_in(entry, self.events.get(entry.event or ""), read)

    def _take_in(self, entry: Entry, event: Event | None, read: Any) -> Event | None:
        """Count the row, which is the next, and tell its event."""
        tally = self.tally
        match entry.body:
            case Decision():
                event = Event.of(entry)
                event.hold(read)
                self.keep(event)
                tally.choice(entry.body.ordinal, bool(entry.body.query))
            case Answered() if entry.position not in self.undone:
                self._count_answer(entry, _needed(event, entry), entry.body)
            case Voted():
                event = Event.of(entry)
                event.hold(read)
                self.keep(event)
                if entry.position not in self.undone:
                    tally.vote(entry.voter)
            case Expired(chosen_at=chosen_at):
                tally.expired += 1
                tally.swept = max(tally.swept, chosen_at)
            case Corrected():
                tally.undone += 1
            case Erased(ordinal=ordinal) if ordinal is not None:
                tally.ordinal = max(tally.ordinal, ordinal + 1)
            case Flagged():
                tally.flags += 1
            case Settled():
                tally.settled = (tally.settled or 0) + 1
            case Measured(answers=answers, uas=uas, sentences=sentences):
                tally.measure(answers, uas, sentences)
            case _:
                pass
        if event is not None:
            event.follow(entry)
        self.position = entry.position
        return event

    def replay(self, entry: Entry) -> None:
        """Take in a stored row. One that cannot be read or folded is passed over, and the rest of the log goes on."""
        if isinstance(entry.body, Unreadable):
            self.pass_over(entry, entry.body.reason)
            return
        try:
            self.apply(entry)
        except (OutOfTurnError, MemoryError, OSError):
            # Nothing that the row is to blame for.
            raise
        except MissingEventError:
            # Its event was erased, or cannot be read and has been counted: this row says nothing any more.
            self.tally.ignored["event_gone"] = self.tally.ignored.get("event_gone", 0) + 1
            self.position = entry.position
        except Exception as error:
            # Whatever it was, it is a matter of this row alone: the same rows come to the same state everywhere.
            logger.exception("row %d of model %d cannot be folded", entry.position, self.id)
            self.pass_over(entry, f"{type(error).__name__}: {error}"[:200])

    def pass_over(self, entry: Entry, reason: str) -> None:
        """Count a row that teaches nothing because it cannot be read or folded."""
        self._check_next(entry)
        self.tally.quarantine(entry.position, reason)
        event = self.events.get(entry.event or "")
        if event is not None:
            event.follow(entry)
        self.position = entry.position

    def _check_next(self, entry: Entry) -> None:
        if entry.position != self.position + 1:
            raise OutOfTurnError(f"row {entry.position} cannot follow position {self.position} of model {self.id}")

    def _count_answer(self, entry: Entry, event: Event, said: Answered) -> None:
        tally, shown, about = self.tally, event.labels, event.about
        tally.answer(shown, said.value, said.reason, entry.voter)
        tally.timing(said.seconds, entry.voter)
        # A part nobody could answer is not asked about again either: nothing was learnt, so the same would be asked.
        if about is not None and said.reason in (None, "skip", "both_bad", "tie"):
            item, part = about
            tally.asked.setdefault(item, []).append(part)
        if said.agreed is not None:
            tally.repeat(said.agreed, said.between, entry.voter)
        tally.note(Recent(event.id, entry.position, said.winner, shown, entry.at, said.value is not None, entry.voter))


class Folded(Counted):
    """A model as of `position`: what its log has taught, and its counts. Not thread-safe: the writer owns it."""

    def __init__(
        self, model_id: int, name: str, settings: ModelSettings, learner: ServedLearner, position: int, tally: Tally
    ) -> None:
        super().__init__(model_id, position, tally)
        self.name, self.settings, self.learner = name, settings, learner
        self.generation = 0
        """The position of the last correction or erasure that this fold was made with."""
        self.stale = False
        """A later one has been applied: the weights go on as they are until the log has been folded again."""
        self.unlearning = False
        """It is stale because a voter was erased, and it weighs voters: what it weighs now would rest on theirs."""
        self.void = False
        """Its features were fitted elsewhere: nothing can be done with it but reading it again."""
        self.unreadable: list[int] = []
        """Positions of snapshots that were passed over and are to be dropped."""
        self.watch: Callable[[Folded], None] | None = None
        """Told of the fold at every position that all servers compare."""
        self.swept = 0
        """How far the sweep for expired events has looked; only saves looking again."""
        self.since_snapshot = 0
        self.pool: list[Group] = []
        """Groups of uploaded items."""
        self.pooled, self.pool_bytes = 0, 0
        """How many rows of items the groups were read from, and what they take."""
        self.asked: Any = None
        """What `annotation.asked` has read of the log, while the model is in memory."""
        self._stream = stream("policy", settings.seed)
        self._tickets: list[int] = []
        self._first_ticket = 0

    @property
    def size(self) -> int:
        """Bytes in memory, roughly: weights, cached events, items to ask about and who answered about them."""
        asked = 0 if self.asked is None else int(self.asked.size)
        return self.learner.size + self.event_bytes + self.pool_bytes + asked

    def hold_pool(self, pooled: int) -> None:
        """The groups are now those of the first `pooled` rows of items."""
        self.pooled = pooled
        self.pool_bytes = sum(map(bytes_of, (item for group in self.pool for item in group.items)))

    def ticket(self) -> int:
        """The next round's ticket, from (seed, ordinal): that of a Session and of a simulation of the same seed."""
        place = self.tally.ordinal - self._first_ticket
        if not 0 <= place < len(self._tickets):
            # Many cost hardly more than one.
            self._first_ticket, place = self.tally.ordinal, 0
            self._tickets = tickets(self._stream, self._first_ticket, _TICKETS).tolist()
        return self._tickets[place]

    def round_of(self, event: Event) -> Any:
        """The event's items as the learner reads them."""
        if event.round is None:
            read = self.learner.read(bytes(event.chosen.items), bytes(event.chosen.context))
            event.hold(read)
            if event.id in self.events:
                self.event_bytes += event.recount()
            return read
        return event.round

    def apply(self, entry: Entry, read: Any = None) -> Event | None:
        """Learn from the next row, then count it. `read` are a new round's items as the learner reads them."""
        self._check_next(entry)
        event = self.events.get(entry.event or "")
        match entry.body:
            case Decision():
                pass
            case Exposed():
                event = _needed(event, entry)
                # Only the fold knows the memo; a replayed row gets the one it already has. Later rows of the event
                # may have been read already, so its first choice is counted, not its present one.
                entry.body.memo = dict(self.learner.expose(self.round_of(event), event.chosen.choice).memo)
            case Answered(value=value) if value is not None and entry.position not in self.undone:
                self._learn(_needed(event, entry), value, entry.voter, entry.body)
            case Voted(value=value) if value is not None and entry.position not in self.undone:
                voted = Event.of(entry)
                voted.round = read
                self._learn(voted, value, entry.voter, entry.body.said)
            case Expired(value=value) if value is not None:
                self._learn(_needed(event, entry), value)
            case Corrected() | Erasure():
                self.stale = self.stale or entry.position > self.generation
                if isinstance(entry.body, Erasure):
                    # Some of these events are gone from the log: what is left is looked up again.
                    self.unlearning = self.stale and self.settings.believe is not None
                    self.trim(0)
            case CorpusFitted():
                self.void = self.learner.unfitted
            case _:
                pass
        event = self._take_in(entry, event, read)
        if event is not None and isinstance(entry.body, Answered):
            self.event_bytes += event.recount()
        self._count_row()
        return event

    def pass_over(self, entry: Entry, reason: str) -> None:
        super().pass_over(entry, reason)
        self._count_row()

    def _count_row(self) -> None:
        self.since_snapshot += 1
        if self.watch is not None and self.position % COMPARED == 0 and not self.stale:
            self.watch(self)

    def _learn(self, event: Event, value: float, voter: str | None = None, said: Answered | None = None) -> None:
        source = None if said is None or self.settings.believe is None else event.source(voter, said)
        try:
            self.learner.learn(self.round_of(event), event.choice, value, source)
        except (ValueError, ArithmeticError) as error:
            refusal = invalid(f"{self.settings.algorithm} cannot learn this answer: {error}")
            # Learners check before they move, but what broke half-way may have moved.
            refusal.tainted = not isinstance(error, ValueError)
            raise refusal from None

    def digest(self) -> str:
        """What the fold came to: weights and counts."""
        return hashlib.blake2b(self.dumps(), digest_size=16).hexdigest()

    def dumps(self) -> bytes:
        """Weights and tally as one model file."""
        return self.learner.dumps(_json(self.tally).decode())


def _needed(event: Event | None, entry: Entry) -> Event:
    if event is None:
        raise MissingEventError(f"row {entry.position} speaks of event {entry.event!r}, which the log does not hold")
    return event
