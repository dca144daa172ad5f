"""A model's turn inside one transaction: look events up, append rows, have the log replayed after a correction."""

import math
import secrets
import time
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import Connection

from conquer.service.engine.loading import Build
from conquer.service.errors import conflict, invalid, unknown_event
from conquer.service.model.records import Decision, Entry, Event, seal
from conquer.service.model.state import ModelState
from conquer.service.settings import Limits
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.marks import retired_events
from conquer.types import Choice


class Turn:
    """Given to all work on the model in one batch. Check first, then append: an appended row is applied at once."""

    def __init__(
        self,
        connection: Connection,
        state: ModelState,
        header: log_table.Header,
        now: float,
        build: Build,
        limits: Limits,
    ) -> None:
        self.connection, self.state, self.header, self.now = connection, state, header, now
        self.limits = limits
        self.start = state.position
        self.last: Entry | None = None
        """The last row written."""
        self.moved = False
        """Memory may hold more than was appended: the model is loaded again unless the commit succeeds."""
        self.removed = False
        self.end = math.inf
        """When requests that have not begun are left to the next batch, by `time.perf_counter`."""
        self.build = build
        self.read_bytes = 0
        """Bytes of rows that were read to look events up."""
        self._looked_up: set[str] = set()
        self._retired: set[str] = set()
        self._unwritten: list[Entry] = []

    @property
    def base(self) -> int:
        """Rows up to here have been pruned."""
        return self.header.base

    @property
    def pooled(self) -> int:
        """How many groups of uploaded items questions may be drawn from."""
        return self.header.pooled

    @property
    def is_over(self) -> bool:
        """Whether requests that have not begun must wait for another turn."""
        return time.perf_counter() > self.end

    def look_up(self, ids: Iterable[str]) -> None:
        """Cache the first of these events, as many as are read at once; `event` finds the others one by one."""
        events, known = self.state.events, self._looked_up
        # In the order of the requests: a turn that reads the last ones first may end before it has answered any.
        wanted = [one for one in dict.fromkeys(ids) if one not in events and one not in known]
        if wanted:
            found, done, size = log_table.events_within(self.connection, self.state.id, wanted)
            missing = set(wanted[:done])
            self.read_bytes += size
            if self.base > 0:
                # Up to the base rows are gone, or about to go: what has no later one is over.
                over = {name for name, event in found.items() if event.seen <= self.base}
                unknown = list(missing - found.keys())
                self._retired |= over
                self._retired |= retired_events(self.connection, self.state.id, unknown, self.state.tally.ordinal)
                found = {name: event for name, event in found.items() if name not in over}
            for event in found.values():
                self.state.keep(event)
            self._looked_up |= missing

    def is_spent(self, event_id: str) -> bool:
        """Whether looking this event up must wait for another turn: this one has read enough of the store."""
        return self.read_bytes > self.limits.read_bytes and event_id not in self.state.events

    def event(self, event_id: str) -> Event | None:
        """The event with this id, if the log has it."""
        event = self.state.cached(event_id)
        if event is not None and event.seen <= self.base:
            # Pruned by another server since it was cached here.
            self.state.drop(event_id)
            event = None
        if event is None and event_id not in self._looked_up:
            self.look_up([event_id])
            event = self.state.cached(event_id)
        return event

    def known(self, event_id: str) -> Event:
        """The event with this id, or a RefusalError."""
        event = self.event(event_id)
        if event is None:
            self.check_unused(event_id)
            raise unknown_event(self.state.name, event_id)
        return event

    def check_unused(self, event_id: str) -> None:
        """Refuse an id, not in the log, that belonged to an event whose rows have been pruned."""
        if event_id in self._retired:
            raise conflict("pruned", f"event {event_id!r} is past its retention: its id cannot be used again")

    def append(
        self,
        body: msgspec.Struct,
        event: str | None,
        voter: str | None = None,
        read: Any = None,
        choice: Choice | None = None,
        learnt: bool = False,
    ) -> Event | None:
        """Apply the model's next row now and write it at the end of the turn; returns the event it is about.

        A row that could not be read again is refused before anything changes. For `read`, `choice` and `learnt` see
        `ModelState.apply`.
        """
        entry = Entry(self.state.position + 1, self.now, event, voter, body)
        try:
            seal(entry)
        except (ValueError, OverflowError, RecursionError) as error:
            raise invalid(f"this cannot be stored: {error}") from None
        found = self.state.apply(entry, read, choice, learnt)
        self._unwritten.append(entry)
        return found

    def open(
        self, chosen: Decision, event_id: str | None, voter: str | None, read: Any, choice: Choice | None = None
    ) -> Event:
        """The event that a decision begins, under a new id if it is given none."""
        event = self.append(chosen, event_id or f"{chosen.ordinal:x}-{secrets.token_hex(8)}", voter, read, choice)
        if event is None:
            raise RuntimeError("a decision is the first row of an event")
        return event

    def flush(self) -> None:
        """Write what was appended."""
        if self._unwritten:
            log_table.append(self.connection, self.state.id, self._unwritten)
            self.last = self._unwritten[-1]
            self._unwritten = []

    def refold(self, first: int) -> None:
        """The row at `first` has changed: later snapshots go, and the log is replayed after the commit.

        Until then the model continues with the weights it has; the row that was appended has made it `stale`.
        """
        self.flush()
        snapshots.drop(self.connection, self.state.id, first)
        # An erasure has emptied the cache of events as well.
        self._looked_up = set()
