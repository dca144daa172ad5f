"""A log's counts up to a position, and the events it spoke of lately: the half of a fold that learns nothing."""

import logging
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from conquer.service.model.event import Event
from conquer.service.model.records import (
    Answered,
    Corrected,
    Decision,
    Entry,
    Erased,
    Expired,
    Flagged,
    Measured,
    Settled,
    Unreadable,
    Voted,
)
from conquer.service.model.tally import RECENT, Recent, Tally

EVENT_BYTES = 256 << 20
"""What one model's cached events may take."""
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

    def trim(self, count: int, room: int = EVENT_BYTES, end: float = math.inf) -> None:
        """Let the least recently used events go until at most `count` are left, in at most `room` bytes.

        Those with rows after position `end` stay, and all used since: they are not in the store yet.
        """
        events = self.events
        while events and (len(events) > count or self.event_bytes > room):
            name, oldest = events.popitem(last=False)
            if oldest.seen > end:
                events[name] = oldest
                events.move_to_end(name, last=False)
                break
            self.event_bytes -= oldest.counted

    def apply(self, entry: Entry, read: Any = None) -> Event | None:
        """Take in the next row; return the event it speaks of, which must be in the cache (`wanted` tells which)."""
        self._check_next(entry)
        return self._take_in(entry, self.events.get(entry.event or ""), read)

    def _take_in(self, entry: Entry, event: Event | None, read: Any) -> Event | None:
        """Count the row, which is the next, and tell its event."""
        tally = self.tally
        match entry.body:
            case Decision():
                event = self._open(entry, read)
            case Answered() if entry.position not in self.undone:
                self._count_answer(entry, needed(event, entry), entry.body)
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

    def _open(self, entry: Entry, read: Any) -> Event:
        event = Event.of(entry)
        event.hold(read)
        self.keep(event)
        self.tally.choice(entry.body.ordinal, bool(entry.body.query))
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
        tally, about = self.tally, event.about
        shown = event.shown if about is None else event.labels
        tally.answer(shown, said.value, said.reason, entry.voter)
        tally.timing(said.seconds, entry.voter)
        # A part nobody could answer is not asked about again either: nothing was learnt, so the same would be asked.
        if about is not None and said.reason in (None, "skip", "both_bad", "tie"):
            item, part = about
            tally.asked.setdefault(item, []).append(part)
        if said.agreed is not None:
            tally.repeat(said.agreed, said.between, entry.voter)
        tally.note(Recent(event.id, entry.position, said.winner, shown, entry.at, said.value is not None, entry.voter))

    def _count_learnt(self, entries: Sequence[Entry], events: Sequence[Event]) -> None:
        """`_count_answer` for answers of nobody in particular to duels between two items, all of them learnt."""
        tally = self.tally
        said = [entry.body for entry in entries]
        tally.duels([(event.chosen.names, one.value) for event, one in zip(events, said, strict=True)])
        for one in said:
            if one.seconds is not None:
                tally.timing(one.seconds, None)
        # Those that would be pushed out again at once are not made.
        for event, entry in zip(events[-RECENT:], entries[-RECENT:], strict=True):
            tally.note(Recent(event.id, entry.position, entry.body.winner, event.chosen.names, entry.at, learnt=True))


def needed(event: Event | None, entry: Entry) -> Event:
    """The event, or a MissingEventError where a row speaks of one that is not there."""
    if event is None:
        raise MissingEventError(f"row {entry.position} speaks of event {entry.event!r}, which the log does not hold")
    return event
