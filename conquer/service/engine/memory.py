"""Models in memory within their bounds: events trimmed, snapshots stored, models not used lately let go."""

import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from conquer.service.alarms import Alarms
from conquer.service.engine.long_work import Job, LongWork
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict
from conquer.service.model.state import EVENT_BYTES, ModelState
from conquer.service.settings import Settings
from conquer.service.store import log, snapshots
from conquer.service.store.database import Database

_LAST_SNAPSHOTS = 10.0
"""Seconds for snapshots when the server stops; the log has everything."""
_NOT_NEEDED = frozenset({"void", "snapshot_exists", "unknown_model", "stopping"})


class LoadedModels:
    """The models in memory, least recently used first. For the engine's thread alone. A failure here fails no reply.

    `call_now` runs work between other commits; snapshots are written that way, piece by piece.
    """

    def __init__(self, settings: Settings, alarms: Alarms, long: LongWork, call_now: Callable[..., Any]) -> None:
        self.models: OrderedDict[str, ModelState] = OrderedDict()
        self.used = 0
        """Bytes of the models in memory, roughly."""
        self._settings, self._alarms, self._long, self._call_now = settings, alarms, long, call_now
        self._sizes: dict[str, int] = {}
        self._storing = False

    def keep(self, state: ModelState) -> None:
        """Add or replace a model, now the most recently used."""
        self.models[state.name] = state
        self.models.move_to_end(state.name)
        with self._guarded():
            self._weigh(state.name, state.size)
            self._warn(state)

    def drop(self, name: str) -> None:
        """Let go of a model; it is loaded again when it is needed."""
        self.models.pop(name, None)
        self._weigh(name, 0)

    def after_commit(self, turns: Mapping[str, Turn]) -> None:
        """Keep events and models within their bounds, and begin one of the snapshots that are due."""
        settings, due = self._settings, list[ModelState]()
        with self._guarded():
            for name, turn in turns.items():
                state = turn.state
                if turn.removed:
                    for kind in ("quarantine", "snapshot", "load"):
                        self._alarms.clear(f"{kind}:{name}")
                elif self.models.get(name) is state:
                    state.trim(settings.events_cached, min(EVENT_BYTES, settings.cache_bytes // 4))
                    self.keep(state)
                    if state.since_snapshot >= settings.snapshot_every:
                        due.append(state)
            if self.used > settings.cache_bytes:
                self._evict()
            if due:
                self._begin_snapshot(due[0], settings.snapshot_every)

    def stop(self, database: Database, clock: Callable[[], float]) -> None:
        """Store snapshots of the models that have changed since their last; nothing else writes any more."""
        until = time.monotonic() + _LAST_SNAPSHOTS
        for state in reversed(list(self.models.values())):
            if time.monotonic() > until:
                return
            if state.since_snapshot and not (state.stale or state.void):
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
        self.used += size - self._sizes.pop(name, 0)
        if size:
            self._sizes[name] = size

    def _evict(self) -> None:
        """Let go of the least recently used models; one with many rows since its snapshot leaves a new one."""
        while self.used > self._settings.cache_bytes and len(self.models) > 1:
            name, state = next(iter(self.models.items()))
            self._begin_snapshot(state, max(1, self._settings.snapshot_every // 10))
            self.drop(name)

    def _begin_snapshot(self, state: ModelState, every: int) -> None:
        """Copy the weights now and store them as long work, unless another snapshot is being stored."""
        if state.since_snapshot < every or state.stale or state.void or self._storing:
            return
        try:
            job = self._store(state, state.dumps(), _summary(state), state.position, state.generation)
            state.since_snapshot = 0
            self._storing = True
            self._long.submit("snapshots", job)
        except Exception as error:
            self._storing = False
            self._failed(state, error)

    def _store(self, state: ModelState, data: bytes, summary: str, position: int, generation: int) -> Job:
        try:
            pieces = snapshots.pieces(data)
            for part, piece in enumerate(pieces):
                yield
                work = _piece(state.id, position, generation, part, len(pieces), piece, "" if part else summary)
                self._call_now(state.name, work, owner="snapshots")
        except RefusalError as refusal:
            if refusal.code not in _NOT_NEEDED:
                self._failed(state, refusal)
        except Exception as error:
            self._failed(state, error)
        else:
            self._alarms.clear(f"snapshot:{state.name}")
        finally:
            self._storing = False

    def _failed(self, state: ModelState, error: Exception) -> None:
        """Try again after a tenth as many rows."""
        state.since_snapshot = self._settings.snapshot_every * 9 // 10
        self._alarms.count("snapshot")
        self._alarms.raise_(f"snapshot:{state.name}", f"a snapshot of model {state.name!r} failed: {error!r}")


def _summary(state: ModelState) -> str:
    return msgspec.json.encode(state.tally.summary()).decode()


def _piece(
    model: int, position: int, generation: int, part: int, count: int, piece: bytes, summary: str = ""
) -> Callable[[Turn], None]:
    """Work that stores one piece of a snapshot, if the snapshot is still that of the model."""

    def work(turn: Turn) -> None:
        state = turn.state
        if state.id != model or state.stale or state.generation != generation or state.position < position:
            raise conflict("void", f"model {state.name!r} has been replayed")
        # Rows up to the base are gone, perhaps with a person: an older state must not come back.
        if position <= turn.base:
            raise conflict("void", f"model {state.name!r} begins at {turn.base}, not before position {position}")
        if part == 0 and snapshots.exists(turn.connection, model, position):
            raise conflict("snapshot_exists", f"another server stores position {position}")
        snapshots.write_piece(turn.connection, model, position, part, count, turn.now, piece, summary)
        if part == count - 1:
            snapshots.thin(turn.connection, model, turn.base)

    return work


def _store_now(database: Database, state: ModelState, now: float) -> None:
    pieces = snapshots.pieces(state.dumps())
    with database.writing() as connection:
        found = log.headers(connection, [state.name]).get(state.name)
        if found is None or (found.id, found.position) != (state.id, state.position):
            return
        if not snapshots.exists(connection, state.id, state.position):
            snapshots.replace(connection, state.id, state.position, pieces, now, _summary(state))
            snapshots.thin(connection, state.id, found.base)
