"""From rows on disk to a model in memory: the newest snapshot, then the tail of the log after it."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from conquer.service.http.schemas import ModelSettings
from conquer.service.log.fold import Counted, Folded, wanted
from conquer.service.log.served import ServedLearner
from conquer.service.log.statistics import Tally, read_tally
from conquer.service.store import log_table, snapshots

Build = Callable[[ModelSettings, bytes | None], tuple[ServedLearner, str | None]]
"""Settings and a snapshot (or None for a fresh model) to what learns, with the text stored beside its weights."""
_CHUNK = 250
"""Rows read at once: each may be as large as a body may be."""


def load(connection: Connection, header: log_table.Header, build: Build, cached: int = 20_000) -> Folded:
    """The model as of the header's position."""
    folded = _started(connection, header, build)
    catch_up(connection, folded, cached)
    folded.stale = False
    return folded


def load_up_to(connection: Connection, header: log_table.Header, build: Build, last: int) -> Folded:
    """The model as of an earlier position, without the answers that have been taken back since."""
    early = log_table.Header(header.id, header.name, header.settings, last, header.base)
    folded = _started(connection, early, build)
    catch_up(connection, folded, last=last)
    return folded


def catch_up(connection: Connection, folded: Counted, cached: int = 20_000, last: int | None = None) -> None:
    """Apply the rows this process has not seen yet. A correction among them leaves the model stale."""
    for chunk in log_table.entries(connection, folded.id, folded.position, _CHUNK):
        rows = chunk if last is None else [row for row in chunk if row.position <= last]
        missing = wanted(rows, folded.events.__contains__)
        for event in log_table.events(connection, folded.id, missing).values():
            folded.keep(event)
        for row in rows:
            folded.apply(row)
        folded.trim(cached)
        if last is not None and folded.position >= last:
            return


def _started(connection: Connection, header: log_table.Header, build: Build) -> Folded:
    found = [position for position in snapshots.complete(connection, header.id) if position <= header.position]
    data: Any = snapshots.read(connection, header.id, found[0]) if found else None
    if data is None and header.base > 0:
        raise RuntimeError(f"model {header.name!r} has no snapshot at {header.base}, where its log begins")
    learner, extra = build(header.settings, data)
    position = found[0] if found else 0
    tally = read_tally(extra) if extra else Tally()
    folded = Folded(header.id, header.name, header.settings, learner, position, tally)
    folded.undone = log_table.undone(connection, header.id, position)
    return folded
