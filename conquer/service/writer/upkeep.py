"""What follows a commit: snapshots of models that have grown, and memory within its bounds."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conquer.service.errors import RefusalError, conflict
from conquer.service.log.fold import EVENT_BYTES, Folded
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table, snapshots
from conquer.service.writer.batch import Batches

Work = Callable[[Any], Any]


class Upkeep:
    """Looks after the models of `batches`; `call_now` is the writer's, which writes between other commits."""

    def __init__(self, batches: Batches, call_now: Callable[[str, Work], Any]) -> None:
        self.batches, self._call_now = batches, call_now
        self._background = ThreadPoolExecutor(1, "conquer-snapshots")

    def after_commit(self) -> None:
        """Begin the snapshots that are due, then let go of old events and of the models used least recently."""
        models, settings = self.batches.models, self.batches.settings
        for folded in list(models.values()):
            folded.trim(settings.events_cached, min(EVENT_BYTES, settings.cache_bytes // 4))
            if folded.since_snapshot >= settings.snapshot_every:
                self._store_later(folded)
        used = sum(folded.size for folded in models.values())
        while used > settings.cache_bytes and len(models) > 1:
            _, dropped = models.popitem(last=False)
            used -= dropped.size

    def stop(self) -> None:
        """Store a snapshot of every model that has changed since its last; nothing else writes any more."""
        self._background.shutdown()
        for folded in self.batches.models.values():
            if folded.since_snapshot:
                self._store_now(folded)

    def _store_later(self, folded: Folded) -> None:
        """Copy the weights now; compress in the background; write part by part between other commits."""
        data, position = folded.dumps(), folded.position
        folded.since_snapshot = 0

        def compress() -> None:
            pieces = snapshots.pieces(data)
            for part, piece in enumerate(pieces):
                try:
                    self._call_now(folded.name, _snapshot_part(folded, position, part, len(pieces), piece))
                except RefusalError:
                    return

        self._background.submit(compress)

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


def _snapshot_part(folded: Folded, position: int, part: int, count: int, piece: bytes) -> Work:
    def work(turn: Turn) -> None:
        # A model folded again since then may have been corrected before `position`: its snapshot is void.
        if turn.folded is not folded:
            raise conflict("void", f"model {folded.name!r} has been folded again")
        # Rows up to the base are gone, and with them perhaps a person: what was folded before must not come back.
        if position < turn.base:
            raise conflict("void", f"model {folded.name!r} begins at {turn.base}, after position {position}")
        if part == 0 and snapshots.exists(turn.connection, folded.id, position):
            raise conflict("snapshot_exists", f"another server stores position {position}")
        snapshots.write_piece(turn.connection, folded.id, position, part, count, turn.now, piece)
        if part == count - 1:
            snapshots.thin(turn.connection, folded.id, turn.base)

    return work
