"""From rows on disk to a model in memory: the newest snapshot that can be read, then the rows after it."""

import logging
import struct
import zlib
from collections.abc import Callable, Generator, Iterable
from itertools import islice

from sqlalchemy import Connection

from conquer.service.errors import Kind, RefusalError
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.records import FOLD, Decision, Entry, Erasure, Voted
from conquer.service.model.schemas import ModelSettings
from conquer.service.model.state import ModelState
from conquer.service.model.tally import Tally, read_tally
from conquer.service.store import items, snapshots
from conquer.service.store import log as log_table
from conquer.service.store.database import Database

Build = Callable[[ModelSettings, bytes | None], tuple[ServedLearner, str | None]]
"""Settings and a snapshot (or None for a fresh model) to what learns, with the text stored beside its weights."""
_ROWS = 1000
"""Rows replayed in one slice."""
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
"""What reading a damaged snapshot may raise."""
_POOLED = 50
"""Rows of uploaded items read at once."""
logger = logging.getLogger(__name__)


def load(connection: Connection, header: log_table.Header, build: Build, last: int | None = None) -> ModelState:
    """The model as of the header's position, or as of an earlier one without the answers undone since."""
    end = header.position if last is None else last
    state = _started(connection, header, build, end)
    catch_up(connection, state, end)
    return state


def load_in_slices(
    database: Database, name: str, build: Build, cached: int, state: ModelState | None = None
) -> "Generator[None, None, ModelState | None]":
    """Replay a model slice by slice, each in a transaction of its own; returns it at its log's end, None without one.

    A correction that comes meanwhile leaves it stale. A model that was created anew, fitted, or pruned beyond the rows
    that were read, is begun again. `state`: continue from here, if nothing newer is stored.
    """
    began = 0
    while True:
        # A snapshot is decoded, and rows are learnt, between two statements: that may take long.
        with database.reading(patient=True) as connection:
            header = log_table.headers(connection, [name]).get(name)
            if header is None:
                return None
            if state is None or header.id != state.id or header.base > state.position:
                state, began = _started(connection, header, build, header.position), header.position
            elif state.position < header.position:
                catch_up(connection, state, header.position, cached, _ROWS)
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


def catch_up(
    connection: Connection, state: ModelState, last: int, cached: int = 20_000, most: float = float("inf")
) -> None:
    """Replay the rows up to the one at `last`, or the next `most`. A correction among them leaves the model stale."""
    end = min(last, state.position + most)
    while state.position < end:
        rows = log_table.entries(connection, state.id, state.position, int(min(_ROWS, end - state.position)))
        if not rows or rows[-1].position != state.position + len(rows):
            raise _unreadable(f"model {state.name!r} has {last} rows, some of those after {state.position} are gone")
        while rows:
            rows = _replay(connection, state, rows)
            state.trim(cached)


def _replay(connection: Connection, state: ModelState, rows: list[Entry]) -> list[Entry]:
    """Replay the first of these rows, as many as can be read with the events they speak of; returns the others.

    An answer is small and its round may be large: the rounds of all rows at once could take gigabytes.
    """
    missing = missing_events(rows, state)
    found, done, _ = log_table.events_within(connection, state.id, list(missing))
    for event in found.values():
        state.keep(event)
    end = next(islice(missing.values(), done, None), len(rows))
    # An erasure empties the cache: the events of the rows after it are looked up again.
    end = next((place for place, row in enumerate(rows[:end], 1) if isinstance(row.body, Erasure)), end)
    state.replay(rows[:end])
    return rows[end:]


def missing_events(rows: Iterable[Entry], state: ModelState) -> dict[str, int]:
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


def _started(connection: Connection, header: log_table.Header, build: Build, last: int) -> ModelState:
    """The model at the newest snapshot that can be read, or at the beginning of its log: never before the base."""
    found: tuple[ServedLearner, Tally] | None = None
    unreadable: list[int] = []
    for position in snapshots.complete(connection, header.id):
        if header.base <= position <= last:
            found = _read(connection, header, position, build)
            if found is not None:
                break
        # Rows between earlier ones and the base are gone. The base itself is kept, in case another program reads it.
        if position <= last and position != header.base:
            unreadable.append(position)
    else:
        position = header.base
    if found is None:
        found = build(header.settings, None)[0], Tally()
        if header.base > 0:
            found[1].quarantine(header.base, "the snapshot that replaces all rows up to here cannot be read")
    state = ModelState(header.id, header.name, header.settings, found[0], position, found[1])
    state.undone = log_table.undone(connection, header.id, position)
    state.generation = log_table.changes(connection, header.id)
    state.unreadable = unreadable
    return state


def _read(
    connection: Connection, header: log_table.Header, position: int, build: Build
) -> tuple[ServedLearner, Tally] | None:
    """What a snapshot holds; None where it cannot be read, or was made by other replay rules."""
    try:
        data, rules = snapshots.read(connection, header.id, position)
        if rules != FOLD and position != header.base:
            return None
        learner, text = build(header.settings, data)
        return learner, read_tally(text) if text else Tally()
    except SPOILT as error:
        logger.warning("the snapshot of model %r at %d cannot be read: %s", header.name, position, error)
        return None


def _unreadable(message: str) -> RefusalError:
    return RefusalError(Kind.UNAVAILABLE, "unreadable_model", message)
