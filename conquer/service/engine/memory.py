"""Models in memory within their bounds: events trimmed, snapshots stored, models not used lately let go."""

import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from conquer.service.alarms import Alarms
from conquer.service.engine.long_work import Job, LongWork
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError
from conquer.service.model.state import EVENT_BYTES, ModelState
from conquer.service.settings import Settings
from conquer.service.store import log, snapshots
from conquer.service.store.database import Database
from conquer.service.store.log import Header

_LAST_SNAPSHOTS = 10.0
"""Seconds for snapshots when the server stops; the log has everything."""


class LoadedModels:
    """The models in memory, least recently used first. For the engine's thread alone. A failure here fails no reply.

    `call_now` runs work between other commits; snapshots are written that way, piece by piece.
    """

    def __init__(self, settings: Settings, alarms: Alarms, long: LongWork, call_now: Callable[..., Any]) -> None:
        self.models: OrderedDict[str, ModelState] = OrderedDict()
        self.headers: dict[str, Header] = {}
        """Of models of a store that this server alone writes, as of their last commit."""
        self._settings, self._alarms, self._long, self._call_now = settings, alarms, long, call_now
        self._sizes: dict[str, int] = {}
        self._used = 0
        """The sum of the sizes in bytes."""
        self._storing = False

    def keep(self, state: ModelState) -> None:
        """Add or replace a model, now the most recently used."""
        if self.models.get(state.name) is not state:
            self.headers.pop(state.name, None)
        self.models[state.name] = state
        self.models.move_to_end(state.name)
        with self._guarded():
            self._weigh(state.name, state.size)
            self._warn(state)

    def drop(self, name: str) -> None:
        """Let go of a model; it is loaded again when it is needed."""
        self.models.pop(name, None)
        self.headers.pop(name, None)
        self._weigh(name, 0)

    def after_commit(self, turns: Mapping[str, Turn]) -> None:
        """Keep events and models within their bounds, and begin a snapshot that is due."""
        settings = self._settings
        with self._guarded():
            for name, turn in turns.items():
                state = turn.state
                if turn.removed:
                    self._alarms.forget(name)
                elif self.models.get(name) is state:
                    state.trim(settings.events_cached, min(EVENT_BYTES, settings.cache_bytes // 4))
                    self.keep(state)
                    self._begin_snapshot(state, settings.snapshot_every)
            # One with many rows since its snapshot leaves a new one.
            while self._used > settings.cache_bytes and len(self.models) > 1:
                state = next(iter(self.models.values()))
                self._begin_snapshot(state, max(1, settings.snapshot_every // 10))
                self.drop(state.name)

    def stop(self, database: Database, clock: Callable[[], float]) -> None:
        """Store snapshots of the models that have changed since their last; nothing else writes any more."""
        until = time.monotonic() + _LAST_SNAPSHOTS
        for state in reversed(self.models.values()):
            if state.since_snapshot and not (state.stale or state.void) and time.monotonic() < until:
                try:
                    _store_now(database, state, clock())
                except Exception as error:
                    self._failed(state, error)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Count and report a failure; the commit has been made."""
        try:
            yield
        except Exception as error:
            self._alarms.count("upkeep")
            self._alarms.raise_("upkeep", f"looking after the models failed: {error!r}")

    def _warn(self, state: ModelState) -> None:
        if state.tally.quarantined:
            first = "".join(f"; row {position}: {reason}" for position, reason in state.tally.reasons[:1])
            count = f"{state.tally.quarantined} rows of model {state.name!r} are skipped"
            self._alarms.raise_(f"quarantine:{state.name}", count + first)

    def _weigh(self, name: str, size: int) -> None:
        self._used += size - self._sizes.pop(name, 0)
        if size:
            self._sizes[name] = size

    def _begin_snapshot(self, state: ModelState, every: int) -> None:
        """Copy the weights if that many rows came since the last time, and store them as long work, one at a time."""
        if state.since_snapshot < every or state.stale or state.void or self._storing:
            return
        try:
            job = self._store(state, state.dumps(), _summary(state), state.position, state.generation)
            state.since_snapshot, self._storing = 0, True
            self._long.submit("snapshots", job)
        except Exception as error:
            self._storing = False
            self._failed(state, error)

    def _store(self, state: ModelState, data: bytes, summary: str, position: int, generation: int) -> Job:
        try:
            pieces = snapshots.pieces(data)
            write = partial(_write_piece, model=state.id, position=position, generation=generation, count=len(pieces))
            for part, piece in enumerate(pieces):
                yield
                work = partial(write, part=part, piece=piece, summary="" if part else summary)
                if not self._call_now(state.name, work, owner="snapshots"):
                    return
            self._alarms.clear(f"snapshot:{state.name}")
        except Exception as error:
            if not isinstance(error, RefusalError) or error.code not in ("unknown_model", "stopping"):
                self._failed(state, error)
        finally:
            self._storing = False

    def _failed(self, state: ModelState, error: Exception) -> None:
        """Try again after a tenth as many rows."""
        state.since_snapshot = self._settings.snapshot_every * 9 // 10
        self._alarms.count("snapshot")
        self._alarms.raise_(f"snapshot:{state.name}", f"a snapshot of model {state.name!r} failed: {error!r}")


def _summary(state: ModelState) -> str:
    return msgspec.json.encode(state.tally.summary()).decode()


def _write_piece(
    turn: Turn, *, model: int, position: int, generation: int, part: int, count: int, piece: bytes, summary: str
) -> bool:
    """Store a piece of a snapshot; False if the snapshot is no longer of use, or another server stores the same."""
    state = turn.state
    replayed = state.id != model or state.stale or state.generation != generation or state.position < position
    # Rows up to the base are gone, perhaps with a person: an older state must not come back.
    if replayed or position <= turn.base or (not part and snapshots.exists(turn.connection, model, position)):
        return False
    snapshots.write_piece(turn.connection, model, position, part, count, turn.now, piece, summary)
    if part == count - 1:
        snapshots.thin(turn.connection, model, turn.base)
    return True


def _store_now(database: Database, state: ModelState, now: float) -> None:
    pieces = snapshots.pieces(state.dumps())
    with database.writing() as connection:
        found = log.headers(connection, [state.name]).get(state.name)
        if found is None or (found.id, found.position) != (state.id, state.position):
            return
        if not snapshots.exists(connection, state.id, state.position):
            snapshots.replace(connection, state.id, state.position, pieces, now, _summary(state))
            snapshots.thin(connection, state.id, found.base)
