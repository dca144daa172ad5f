"""A model in memory: the fold of its log up to a position. The same `apply` serves live requests and replay."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from conquer.answers import leftmost_of_two
from conquer.service.errors import invalid
from conquer.service.model.contents import bytes_of
from conquer.service.model.counts import Counted, OutOfTurnError, needed
from conquer.service.model.event import Event, Pair
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.records import (
    Answered,
    CorpusFitted,
    Corrected,
    Decision,
    Entry,
    Erasure,
    Expired,
    Voted,
)
from conquer.service.model.schemas import Group, ModelSettings
from conquer.service.model.tally import Tally
from conquer.tickets import stream, tickets

COMPARED = 5000
"""Servers that share a store compare their folds at every position that this divides."""
_TICKETS = 256
_json = msgspec.json.Encoder().encode


class ModelState(Counted):
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
        self.watch: Callable[[ModelState], None] | None = None
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
        self._lefts: list[int] = []
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
        place = self._drawn(1)
        return self._tickets[place]

    def next_tickets(self, count: int) -> tuple[list[int], list[int]]:
        """The tickets of the next `count` rounds, and which of two shown items each puts on the left."""
        place = self._drawn(count)
        return self._tickets[place : place + count], self._lefts[place : place + count]

    def _drawn(self, count: int) -> int:
        """Where the next round's ticket is among those that have been drawn, `count` at least from there."""
        place = self.tally.ordinal - self._first_ticket
        if not 0 <= place <= len(self._tickets) - count:
            # Many cost hardly more than one.
            self._first_ticket, place = self.tally.ordinal, 0
            drawn = tickets(self._stream, self._first_ticket, max(_TICKETS, 2 * count))
            self._tickets, self._lefts = drawn.tolist(), leftmost_of_two(drawn)
        return place

    def open(self, events: Sequence[Event]) -> None:
        """`apply` for decisions that were just made: the new events that they begin, in order, none known before."""
        if events and events[0].position != self.position + 1:
            raise OutOfTurnError(f"row {events[0].position} cannot follow position {self.position} of model {self.id}")
        cache, first = self.events, 0
        while first < len(events):
            # At some positions the fold is looked at: it has counted all up to there, and nothing behind it.
            part = events[first : first + COMPARED - self.position % COMPARED]
            self.tally.choices(part[0].chosen.ordinal, [event.chosen.query != 0 for event in part])
            size = 0
            for event in part:
                cache[event.id] = event
                size += event.counted
            self.event_bytes += size
            self.position += len(part)
            self._count_rows(len(part))
            first += len(part)

    def hold_pairs(self, events: Sequence[Event], pairs: Sequence[Pair | None]) -> None:
        """Let events that were just opened keep the two items they show, for their answers."""
        each = zip(events, pairs, strict=True)
        self.event_bytes += sum([event.hold_pair(pair) for event, pair in each if pair is not None])

    def answered(self, entries: Sequence[Entry], events: Sequence[Event]) -> None:
        """`apply` for answers of nobody to duels, in cached events, that have been learnt just now in one call.

        None but the last is at a position that all servers compare.
        """
        self._check_next(entries[0])
        self._count_learnt(entries, events)
        self.event_bytes += sum(
            [event.learnt(entry.position, entry.body) for entry, event in zip(entries, events, strict=True)]
        )
        self.position = entries[-1].position
        self._count_rows(len(entries))

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
            case Answered(value=value) if value is not None and entry.position not in self.undone:
                self._learn(needed(event, entry), value, entry.voter, entry.body)
            case Voted(value=value) if value is not None and entry.position not in self.undone:
                voted = Event.of(entry)
                voted.round = read
                self._learn(voted, value, entry.voter, entry.body.said)
            case Expired(value=value) if value is not None:
                self._learn(needed(event, entry), value)
            case Corrected() | Erasure():
                self.stale = self.stale or entry.position > self.generation
                if isinstance(entry.body, Erasure):
                    # Some of these events are gone from the log: what is left is looked up again.
                    self.unlearning = self.stale and self.settings.believe is not None
                    self.trim(0)
            case CorpusFitted():
                self.void = self.learner.unfitted
                # Nor may what it comes to be stored as a snapshot.
                self.stale = self.stale or self.void
            case _:
                pass
        event = self._take_in(entry, event, read)
        if event is not None and isinstance(entry.body, Answered):
            self.event_bytes += event.recount()
        self._count_rows()
        return event

    def pass_over(self, entry: Entry, reason: str) -> None:
        super().pass_over(entry, reason)
        self._count_rows()

    def _count_rows(self, count: int = 1) -> None:
        self.since_snapshot += count
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
