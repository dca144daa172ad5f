"""From rows on disk to a model in memory: the newest snapshot that can be read, then the tail of the log after it."""

import logging
import struct
import zlib
from collections.abc import Callable, Generator, Iterable
from itertools import islice

from sqlalchemy import Connection

from conquer.service.errors import Kind, RefusalError
from conquer.service.model.counts import Counted
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.records import FOLD, Decision, Entry, Erasure, Voted
from conquer.service.model.schemas import ModelSettings
from conquer.service.model.state import ModelState
from conquer.service.model.stored_tally import read_tally
from conquer.service.model.tally import Tally
from conquer.service.store import items, snapshots
from conquer.service.store import log as log_table
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


def load(connection: Connection, header: log_table.Header, build: Build, cached: int = 20_000) -> ModelState:
    """The model as of the header's position, at once."""
    state = _started(connection, header, build)
    catch_up(connection, state, cached)
    return state


def load_up_to(connection: Connection, header: log_table.Header, build: Build, last: int) -> ModelState:
    """The model as of an earlier position, without the answers that have been taken back since."""
    state = _started(connection, header, build, last)
    catch_up(connection, state, last=last)
    return state


def load_in_slices(
    database: Database, name: str, build: Build, cached: int, state: ModelState | None = None
) -> "Generator[None, None, ModelState | None]":
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
            if state is None or header.id != state.id or header.base > state.position:
                state, began = _started(connection, header, build), header.position
            elif state.position < header.position:
                rows = next(log_table.entries(connection, state.id, state.position, SLICE), [])
                if not rows:
                    raise _unreadable(
                        f"model {name!r} has {header.position} rows, those after {state.position} are gone"
                    )
                take_in(connection, state, rows)
                state.trim(cached)
                if state.void:
                    # The fit is the log's first row. If it was there at the beginning, so was the snapshot beside it.
                    if began:
                        raise _unreadable(f"the snapshot with the features that model {name!r} was fitted with is gone")
                    state = None
            elif state.pooled < header.pooled:
                end = min(header.pooled, state.pooled + _POOLED)
                items.read_into(connection, state.id, state.pool, state.pooled, end)
                state.hold_pool(end)
            if state is not None and state.position >= header.position and state.pooled >= header.pooled:
                return state
        yield


def catch_up(connection: Connection, state: Counted, cached: int = 20_000, last: int | None = None) -> None:
    """Apply the rows this process has not seen yet. A correction among them leaves the model stale."""
    for chunk in log_table.entries(connection, state.id, state.position, SLICE):
        left = chunk if last is None else [row for row in chunk if row.position <= last]
        while left:
            left = take_in(connection, state, left)
            state.trim(cached)
        if last is not None and state.position >= last:
            return


def take_in(connection: Connection, state: Counted, rows: list[Entry]) -> list[Entry]:
    """Replay the first of these rows, as many as can be read with the events they speak of; the others are returned.

    An answer is small and its round may be large: two hundred rounds at once would be gigabytes.
    """
    missing = missing_events(rows, state)
    found, done, _ = log_table.events_within(connection, state.id, list(missing))
    for event in found.values():
        state.keep(event)
    end = next(islice(missing.values(), done, None), len(rows))
    # An erasure empties the cache: what the rows after it speak of is looked up again.
    end = next((place for place, row in enumerate(rows[:end], 1) if isinstance(row.body, Erasure)), end)
    for row in rows[:end]:
        state.replay(row)
    return rows[end:]


def missing_events(rows: Iterable[Entry], state: Counted) -> dict[str, int]:
    """The events these rows need that are neither cached nor chosen among them, and which row needs each first."""
    born: set[str] = set()
    need: dict[str, int] = {}
    for place, row in enumerate(rows):
        if row.event is None:
            continue
        if isinstance(row.body, Decision | Voted):
            born.add(row.event)
        elif row.event not in born and row.event not in state.events:
            need.setdefault(row.event, place)
    return need


def _started(connection: Connection, header: log_table.Header, build: Build, last: int | None = None) -> ModelState:
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
    state = ModelState(header.id, header.name, header.settings, found[0], position, found[1])
    state.undone = log_table.undone(connection, header.id, position)
    state.generation = log_table.changes(connection, header.id)
    state.unreadable = unreadable
    return state


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
    if position != header.base and snapshots.fold_of(connection, header.id, position) != FOLD:
        return None
    try:
        data = snapshots.read(connection, header.id, position)
        learner, text = build(header.settings, data)
        return learner, read_tally(text) if text else Tally()
    except SPOILT as error:
        logger.warning("the snapshot of model %r at %d cannot be read: %s", header.name, position, error)
        return None
