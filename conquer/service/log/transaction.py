"""A model's turn inside one transaction: look events up, append rows, fold again after a correction."""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import Connection

from conquer.service.log.event import Event
from conquer.service.log.fold import Folded
from conquer.service.log.loading import Build, load
from conquer.service.log.records import Entry
from conquer.service.store import log_table as store


class Turn:
    """Handed to each job of a batch. Check everything first, then append: an appended row is applied at once."""

    def __init__(self, connection: Connection, folded: Folded, base: int, now: float, build: Build) -> None:
        self.connection, self.folded, self.base, self.now = connection, folded, base, now
        self.removed = False
        """The model was deleted in this turn: nobody after that finds it."""
        self.build = build
        self._looked_up: set[str] = set()
        self._unwritten: list[Entry] = []

    def look_up(self, ids: Iterable[str]) -> None:
        """Bring these events into the cache, in one query for all that are missing."""
        missing = {one for one in ids if one not in self.folded.events} - self._looked_up
        if missing:
            for event in store.events(self.connection, self.folded.id, missing).values():
                self.folded.keep(event)
            self._looked_up |= missing

    def event(self, event_id: str) -> Event | None:
        event = self.folded.cached(event_id)
        if event is None and event_id not in self._looked_up:
            self.look_up([event_id])
            event = self.folded.cached(event_id)
        return event

    def append(self, body: msgspec.Struct, event: str | None, voter: str | None = None, read: Any = None) -> Entry:
        entry = Entry(self.folded.position + 1, self.now, event, voter, body)
        self.folded.apply(entry, read)
        self._unwritten.append(entry)
        return entry

    def flush(self) -> bool:
        """Write what was appended; False when there was nothing."""
        if not self._unwritten:
            return False
        store.append(self.connection, self.folded.id, self._unwritten)
        self._unwritten = []
        return True

    def refold(self, first: int) -> None:
        """Something at position `first` has changed: forget later snapshots and fold the log again."""
        self.flush()
        store.drop_snapshots(self.connection, self.folded.id, first)
        old = self.folded
        header = store.Header(old.id, old.name, old.settings, old.position, self.base)
        self.folded = load(self.connection, header, self.build)
        self._looked_up = set()
