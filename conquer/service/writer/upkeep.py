"""What follows a commit: snapshots of models that have grown, memory within its bounds. Nothing here fails a reply."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conquer.service.alarms import Alarms
from conquer.service.errors import RefusalError, conflict
from conquer.service.log.counted import EVENT_BYTES
from conquer.service.log.fold import Folded
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table, snapshots
from conquer.service.writer.batch import Batches
from conquer.service.writer.folding import Arrival

Work = Callable[[Any], Any]
_LAST_SNAPSHOTS = 10.0
"""Seconds for snapshots when the server stops; the log has everything."""


class Upkeep:
    """Looks after the models of `batches`; `call_now` is the writer's, which writes between other commits."""

    def __init__(self, batches: Batches, call_now: Callable[[str, Work], Any], alarms: Alarms) -> None:
        self.batches, self._call_now, self._alarms = batches, call_now, alarms
        self._background = ThreadPoolExecutor(1, "conquer-snapshots")
        self._storing = False
        self._sizes: dict[str, int] = {}
        self.used = 0
        """Bytes of the models in memory, roughly."""

    def after_commit(self, turns: Mapping[str, Turn]) -> tuple[list[str], list[Folded]]:
        """Keep events within their bounds; returns the models to fold again, and those to `look_after`."""
        stale: list[str] = []
        grown: list[Folded] = []
        with self._guarded():
            for name, turn in turns.items():
                folded = turn.folded
                if folded.stale and not turn.removed:
                    stale.append(name)
                elif folded.void and not turn.removed:
                    # What was decided on top of it has been taken back: it is read again.
                    continue
                elif folded.since_snapshot >= self.batches.settings.snapshot_every and not self._storing:
                    grown.append(folded)
                self._alarm(folded, turn.removed)
                if turn.removed:
                    self._weigh(name, 0)
                else:
                    self._trim(folded, turn.end)
            if self.used > self.batches.settings.cache_bytes and not grown:
                grown = [turn.folded for turn in turns.values()][:1]
        return stale, grown

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """What goes wrong in here is counted and shown, and nobody else's business."""
        try:
            yield
        except Exception as error:
            self._alarms.count("upkeep")
            self._alarms.raise_("upkeep", f"looking after the models failed: {error!r}")

    def look_after(self, grown: list[Folded]) -> None:
        """Keep models within their bounds, and begin one of the snapshots that are due: another's turn comes later.

        Copying a large model takes a while: not for the event loop.
        """
        with self._guarded():
            if self.used > self.batches.settings.cache_bytes:
                self._evict()
            self._begin_snapshot(grown[0], self.batches.settings.snapshot_every)

    def arrived(self, name: str, arrival: Arrival) -> None:
        """A model that was wanted has been read into memory, or could not be."""
        with self._guarded():
            if isinstance(arrival, Folded):
                arrival.watch = self._watch
                self._alarms.clear(f"fold:{name}")
                self._alarm(arrival, gone=False)
                self._weigh(name, arrival.size)
            elif arrival is not None:
                self._alarms.count("fold")
                self._alarms.raise_(f"fold:{name}", f"model {name!r} cannot be folded: {arrival}")

    def _watch(self, folded: Folded) -> None:
        with self._guarded():
            self.batches.watch(folded)

    def stop(self) -> None:
        """Store snapshots of the models that have changed since their last; nothing else writes any more."""
        self._background.shutdown()
        until = time.monotonic() + _LAST_SNAPSHOTS
        for folded in reversed(list(self.batches.models.values())):
            if time.monotonic() > until:
                return
            if folded.since_snapshot and not (folded.stale or folded.void):
                try:
                    self._store_now(folded)
                except Exception as error:
                    self._failed(folded, error)

    def _alarm(self, folded: Folded, gone: bool) -> None:
        if gone:
            for kind in ("quarantine", "snapshot", "fold"):
                self._alarms.clear(f"{kind}:{folded.name}")
        elif folded.tally.quarantined:
            first = "".join(f"; row {position}: {reason}" for position, reason in folded.tally.reasons[:1])
            count = f"{folded.tally.quarantined} rows of model {folded.name!r} are passed over"
            self._alarms.raise_(f"quarantine:{folded.name}", count + first)

    def _weigh(self, name: str, size: int) -> None:
        self.used += size - self._sizes.pop(name, 0)
        if size:
            self._sizes[name] = size

    def _trim(self, folded: Folded, end: int) -> None:
        settings = self.batches.settings
        folded.trim(settings.events_cached, min(EVENT_BYTES, settings.cache_bytes // 4), end)
        self._weigh(folded.name, folded.size)

    def _evict(self) -> None:
        """Let the models used least recently go; one that would have many rows to read again leaves a snapshot."""
        models, settings = self.batches.models, self.batches.settings
        # Those that nobody has used since they were folded are the first to go.
        self.batches.fresh.clear()
        self._sizes = {name: folded.size for name, folded in models.items()}
        self.used = sum(self._sizes.values())
        while self.used > settings.cache_bytes and len(models) > 1:
            name, folded = next(iter(models.items()))
            self._begin_snapshot(folded, max(1, settings.snapshot_every // 10))
            self.batches.forget(name)
            self._weigh(name, 0)

    def _begin_snapshot(self, folded: Folded, every: int) -> None:
        """If it is due and no other is under way: copy the weights now, store them in the background."""
        if folded.since_snapshot < every or folded.stale or folded.void or self._storing:
            return
        try:
            data, position, generation = folded.dumps(), folded.position, folded.generation
        except Exception as error:
            self._failed(folded, error)
            return
        folded.since_snapshot = 0
        self._storing = True
        try:
            self._background.submit(self._store, folded, data, position, generation)
        except RuntimeError as error:
            self._storing = False
            self._failed(folded, error)

    def _store(self, folded: Folded, data: bytes, position: int, generation: int) -> None:
        """Compress, and write part by part between other commits."""
        try:
            pieces = snapshots.pieces(data)
            for part, piece in enumerate(pieces):
                self._call_now(folded.name, _snapshot_part(folded.id, position, generation, part, len(pieces), piece))
        except RefusalError as refusal:
            if refusal.code not in _NOT_NEEDED:
                self._failed(folded, refusal)
        except Exception as error:
            self._failed(folded, error)
        else:
            self._alarms.clear(f"snapshot:{folded.name}")
        finally:
            self._storing = False

    def _failed(self, folded: Folded, error: Exception) -> None:
        """Once more after a tenth as many rows."""
        folded.since_snapshot = self.batches.settings.snapshot_every * 9 // 10
        self._alarms.count("snapshot")
        self._alarms.raise_(f"snapshot:{folded.name}", f"a snapshot of model {folded.name!r} failed: {error!r}")

    def _store_now(self, folded: Folded) -> None:
        pieces, database = snapshots.pieces(folded.dumps()), self.batches.database
        with database.writing() as connection:
            found = log_table.headers(connection, [folded.name], lock=database.shared).get(folded.name)
            if found is None or found.id != folded.id or found.position != folded.position:
                return
            if snapshots.exists(connection, folded.id, folded.position):
                return
            snapshots.replace(connection, folded.id, folded.position, pieces, self.batches.clock())
            snapshots.thin(connection, folded.id, found.base)


_NOT_NEEDED = frozenset({"void", "snapshot_exists", "unknown_model", "stopping"})


def _snapshot_part(model: int, position: int, generation: int, part: int, count: int, piece: bytes) -> Work:
    def work(turn: Turn) -> None:
        folded = turn.folded
        # Something before `position` may have been taken back or erased since: then this snapshot is void.
        if folded.id != model or folded.stale or folded.generation != generation or folded.position < position:
            raise conflict("void", f"model {folded.name!r} has been folded again")
        # Rows up to the base are gone, and with them perhaps a person: what was folded before must not come back.
        if position <= turn.base:
            raise conflict("void", f"model {folded.name!r} begins at {turn.base}, not before position {position}")
        if part == 0 and snapshots.exists(turn.connection, model, position):
            raise conflict("snapshot_exists", f"another server stores position {position}")
        snapshots.write_piece(turn.connection, model, position, part, count, turn.now, piece)
        if part == count - 1:
            snapshots.thin(turn.connection, model, turn.base)

    return work
