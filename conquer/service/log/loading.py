"""From rows on disk to a model in memory: the newest snapshot that can be read, then the tail of the log after it."""

import logging
import struct
import zlib
from collections.abc import Callable, Generator, Iterable
from itertools import islice

from sqlalchemy import Connection

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.schemas import ModelSettings
from conquer.service.log.counted import Counted
from conquer.service.log.fold import Folded
from conquer.service.log.records import SAME_FOLD, WHOLE, Decision, Entry, Erasure, Voted
from conquer.service.log.served import ServedLearner
from conquer.service.log.statistics import Tally
from conquer.service.log.tallies import read_tally
from conquer.service.store import log_table, pool_table, snapshots
from conquer.service.store.database import Database

Build = Callable[[ModelSettings, bytes | None], tuple[ServedLearner, str | None]]
"""Settings and a snapshot (or None for a fresh model) to what learns, with the text stored beside its weights."""
SLICE = 250
"""Rows folded at once: each may be as large as a body may be."""
SPOILT = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    struct.error,
    zlib.error,
)
"""What reading a snapshot may raise that is not a snapshot any more."""
_POOLED = 50
"""Rows of uploaded items read at once."""
logger = logging.getLogger(__name__)


def load(connection: Connection, header: log_table.Header, build: Build, cached: int = 20_000) -> Folded:
    """The model as of the header's position, at once."""
    folded = _started(connection, header, build)
    catch_up(connection, folded, cached)
    return folded


def load_up_to(connection: Connection, header: log_table.Header, build: Build, last: int) -> Folded:
    """The model as of an earlier position, without the answers that have been taken back since."""
    folded = _started(connection, header, build, last)
    catch_up(connection, folded, last=last)
    return folded


def load_in_slices(
    database: Database, name: str, build: Build, cached: int, folded: Folded | None = None
) -> "Generator[None, None, Folded | None]":
    """Fold a model slice by slice, each in a transaction of its own; returns it at its log's end, None without one.

    A correction that comes meanwhile leaves it stale. A model made anew, fitted, or pruned beyond where it was read, is
    begun again. `folded`: go on from here, if there is nothing newer to begin with.
    """
    began = 0
    while True:
        # A snapshot is decoded, and rows are learnt, between two statements: that may take long.
        with database.reading(patient=True, soon=True) as connection:
            header = log_table.headers(connection, [name]).get(name)
            if header is None:
                return None
            if folded is None or header.id != folded.id or header.base > folded.position:
                folded, began = _started(connection, header, build), header.position
            elif folded.position < header.position:
                rows = next(log_table.entries(connection, folded.id, folded.position, SLICE), [])
                if not rows:
                    raise _unreadable(
                        f"model {name!r} has {header.position} rows, those after {folded.position} are gone"
                    )
                take_in(connection, folded, rows)
                folded.trim(cached)
                if folded.void:
                    # The fit is the log's first row. If it was there at the beginning, so was the snapshot beside it.
                    if began:
                        raise _unreadable(f"the snapshot with the features that model {name!r} was fitted with is gone")
                    folded = None
            elif folded.pooled < header.pooled:
                end = min(header.pooled, folded.pooled + _POOLED)
                pool_table.read_into(connection, folded.id, folded.pool, folded.pooled, end)
                folded.hold_pool(end)
            if folded is not None and folded.position >= header.position and folded.pooled >= header.pooled:
                return folded
        yield


def catch_up(connection: Connection, folded: Counted, cached: int = 20_000, last: int | None = None) -> None:
    """Apply the rows this process has not seen yet. A correction among them leaves the model stale."""
    for chunk in log_table.entries(connection, folded.id, folded.position, SLICE):
        left = chunk if last is None else [row for row in chunk if row.position <= last]
        while left:
            left = take_in(connection, folded, left)
            folded.trim(cached)
        if last is not None and folded.position >= last:
            return


def take_in(
    connection: Connection, folded: Counted, rows: list[Entry], replay: Callable[[Entry], None] | None = None
) -> list[Entry]:
    """Replay the first of these rows, as many as can be read with the events they speak of; the others are returned.

    An answer is small and its round may be large: two hundred rounds at once would be gigabytes.
    """
    missing = missing_events(rows, folded)
    found, done, _ = log_table.events_within(connection, folded.id, list(missing))
    for event in found.values():
        folded.keep(event)
    end = next(islice(missing.values(), done, None), len(rows))
    # An erasure empties the cache: what the rows after it speak of is looked up again.
    end = next((place for place, row in enumerate(rows[:end], 1) if isinstance(row.body, Erasure)), end)
    for row in rows[:end]:
        (replay or folded.replay)(row)
    return rows[end:]


def missing_events(rows: Iterable[Entry], folded: Counted) -> dict[str, int]:
    """The events these rows need that are neither cached nor chosen among them, and which row needs each first."""
    born: set[str] = set()
    need: dict[str, int] = {}
    for place, row in enumerate(rows):
        if row.event is None:
            continue
        if isinstance(row.body, Decision | Voted):
            born.add(row.event)
        elif row.event not in born and row.event not in folded.events:
            need.setdefault(row.event, place)
    return need


def _started(connection: Connection, header: log_table.Header, build: Build, last: int | None = None) -> Folded:
    """The model at the newest snapshot that can be read, or at the beginning of its log: never before the base."""
    until = header.position if last is None else last
    complete = snapshots.complete(connection, header.id)
    # The rows between these and the base are gone.
    unreadable = [position for position in complete if position < header.base]
    for position in complete:
        if not header.base <= position <= until:
            continue
        found = _read(connection, header, position, build)
        if found is not None:
            break
        # The one that stands for pruned rows, an import or a fit is kept for whoever can still make something of it.
        if position != header.base:
            unreadable.append(position)
    else:
        learner, _ = build(header.settings, None)
        found, position = (learner, without_base(header)), header.base
    folded = Folded(header.id, header.name, header.settings, found[0], position, found[1])
    folded.undone = log_table.undone(connection, header.id, position)
    folded.generation = log_table.changes(connection, header.id)
    folded.unreadable = unreadable
    return folded


def _unreadable(message: str) -> RefusalError:
    return RefusalError(Kind.UNAVAILABLE, "unreadable_model", message)


def without_base(header: log_table.Header) -> Tally:
    """The counts of a model that begins with nothing, and says so where there should be something."""
    tally = Tally()
    if header.base > 0:
        tally.quarantine(header.base, "the snapshot that stands for all rows up to here cannot be read")
    return tally


def _read(
    connection: Connection, header: log_table.Header, position: int, build: Build
) -> tuple[ServedLearner, Tally] | None:
    """A snapshot as what it holds; None where that cannot be read, or was folded by other rules."""
    if position != header.base:
        fold = snapshots.fold_of(connection, header.id, position)
        if fold not in SAME_FOLD or (fold < WHOLE and log_table.erased_up_to(connection, header.id, position)):
            return None
    try:
        data = snapshots.read(connection, header.id, position)
        learner, text = build(header.settings, data)
        return learner, read_tally(text) if text else Tally()
    except SPOILT as error:
        logger.warning("the snapshot of model %r at %d cannot be read: %s", header.name, position, error)
        return None
