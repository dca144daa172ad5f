"""Reading and writing models and their logs; every statement the hot path runs is here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, func, select, text
from sqlalchemy.exc import OperationalError

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.schemas import ModelSettings
from conquer.service.log.event import Event
from conquer.service.log.records import FOLD, Corrected, Decision, Entry, Unreadable, Voted, checksum, unsealed
from conquer.service.store.schema import log, models

_settings = msgspec.json.Decoder(ModelSettings).decode

_COLUMNS = (
    log.c.position,
    log.c.at,
    log.c.kind,
    log.c.event_id,
    log.c.voter,
    log.c.body,
    log.c.format,
    log.c.checksum,
)
_AFTER = (
    select(*_COLUMNS)
    .where(log.c.model_id == bindparam("model"), log.c.position > bindparam("after"))
    .order_by(log.c.position)
    .limit(bindparam("count"))
)
_BYTES = 4 << 20
"""A list of rows ends with the one whose body brings it here: a row may be as large as a request may be."""
_sizes = _AFTER.with_only_columns(log.c.position, func.octet_length(log.c.body).label("size")).subquery()
_sums = select(
    _sizes.c.position, (func.sum(_sizes.c.size).over(order_by=_sizes.c.position) - _sizes.c.size).label("before")
).subquery()
# PostgreSQL sends all that was asked for before one can read any of it.
_BOUNDED = _AFTER.where(
    log.c.position <= select(func.max(_sums.c.position)).where(_sums.c.before < _BYTES).scalar_subquery()
)
_OF_EVENTS = (
    select(*_COLUMNS)
    .where(log.c.model_id == bindparam("model"), log.c.event_id.in_(bindparam("events", expanding=True)))
    .order_by(log.c.position)
)
_BODIES = select(log.c.position, log.c.body).where(
    log.c.model_id == bindparam("model"), log.c.position.in_(bindparam("positions", expanding=True))
)
_FEW = 16
"""Rows whose bodies are asked for at once; each may be as large as a round may be."""
_HEADERS = select(models).where(models.c.name.in_(bindparam("names", expanding=True))).order_by(models.c.id)
_LOCKED = {False: _HEADERS.with_for_update(), True: _HEADERS.with_for_update(skip_locked=True)}


@dataclass(frozen=True, slots=True)
class Header:
    """A row of `models`."""

    id: int
    name: str
    settings: ModelSettings
    position: int
    base: int
    pooled: int
    title: str = ""
    paused: bool = False


def headers(connection: Connection, names: Sequence[str], lock: bool = False, skip: bool = False) -> dict[str, Header]:
    """The models with these names; with `lock`, held until the transaction ends, always in the same order.

    `skip`: without those that another server has locked.
    """
    statement = _LOCKED[skip] if lock else _HEADERS
    return {row.name: _header(row) for row in connection.execute(statement, {"names": list(names)})}


def all_headers(connection: Connection) -> list[Header]:
    """Every model whose settings can be read, by name; `unreadable` tells of the others."""
    rows = connection.execute(select(models).order_by(models.c.name)).all()
    return [_header(row) for row in rows if _is_settings(row.settings)]


def unreadable(connection: Connection) -> list[str]:
    """The names of models whose settings cannot be read."""
    rows = connection.execute(select(models.c.name, models.c.settings).order_by(models.c.name)).all()
    return [row.name for row in rows if not _is_settings(row.settings)]


def _is_settings(stored: str) -> bool:
    try:
        _settings(stored)
    except msgspec.DecodeError:
        return False
    return True


def _header(row: Any) -> Header:
    try:
        settings = _settings(row.settings)
    except msgspec.DecodeError as error:
        message = f"the settings of model {row.name!r} cannot be read: {error}"
        raise RefusalError(Kind.UNAVAILABLE, "unreadable_model", message) from None
    return Header(row.id, row.name, settings, row.position, row.base, row.pooled, row.title, bool(row.paused))


def _entry(row: Any) -> Entry:
    if row.format > FOLD:
        message = f"row {row.position} is of version {row.format}, this program folds up to {FOLD}: upgrade it"
        raise RefusalError(Kind.UNAVAILABLE, "newer_rows", message)
    entry = unsealed(row.position, row.at, row.kind, row.event_id, row.voter, row.body)
    if row.checksum is not None and row.checksum != checksum(entry):
        entry.body = Unreadable(row.kind, "its checksum does not fit")
    return entry


def _rows(connection: Connection, statement: Any, values: dict[str, Any], most: float = float("inf")) -> Sequence[Any]:
    """The rows of a query until their bodies come to `most`; also where a damaged file holds text that is none."""
    try:
        return _fetched(connection, statement, values, most)
    except OperationalError:
        if connection.dialect.name != "sqlite":
            raise
    raw: Any = connection.connection.driver_connection
    raw.text_factory = lambda data: data.decode(errors="replace")
    try:
        return _fetched(connection, statement, values, most)
    finally:
        raw.text_factory = str


def _fetched(connection: Connection, statement: Any, values: dict[str, Any], most: float) -> Sequence[Any]:
    rows, size = [], 0
    with connection.execute(statement, values) as found:
        for row in found:
            rows.append(row)
            size += len(row.body)
            if size >= most:
                break
    return rows


def entries(connection: Connection, model: int, after: int, chunk: int = 1000) -> Iterator[list[Entry]]:
    """The rows after a position, in order, in lists of at most `chunk` and of some megabytes, none of them empty.

    A list that is shorter than `chunk` need not be the last.
    """
    statement = _BOUNDED if connection.dialect.name == "postgresql" else _AFTER
    while found := _rows(connection, statement, {"model": model, "after": after, "count": chunk}, _BYTES):
        yield [_entry(row) for row in found]
        after = found[-1].position
        # A character takes at most four bytes: with fewer than that it was not cut short.
        if len(found) < chunk and sum(len(row.body) for row in found) < _BYTES // 4:
            return


def events_within(
    connection: Connection, model: int, ids: Sequence[str], most: float = 4 * _BYTES
) -> tuple[dict[str, Event], int, int]:
    """The first of these events, more and more at a time until their rows come to `most` bytes; how many; the bytes.

    Unknown ids are left out of the events. One id is looked for at least.
    """
    found: dict[str, Event] = {}
    done = size = 0
    while done < len(ids) and size < most:
        # One, then two, then four: nobody knows how large they are.
        part = list(ids[done : done + min(done + 1, _FEW)])
        for row in _rows(connection, _OF_EVENTS, {"model": model, "events": part}):
            entry = _entry(row)
            size += len(row.body)
            if isinstance(entry.body, Decision | Voted):
                found[row.event_id] = Event.of(entry)
            elif row.event_id in found:
                found[row.event_id].follow(entry)
        done += len(part)
    return found, done, size


def bodies(connection: Connection, model: int, positions: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The rows at these positions and what stands in them, a few at a time."""
    for start in range(0, len(positions), _FEW):
        part = list(positions[start : start + _FEW])
        for row in _rows(connection, _BODIES, {"model": model, "positions": part}):
            yield row.position, row.body


def latest_votes(connection: Connection, model: int, count: int) -> list[Voted]:
    """The last votes from elsewhere, newest first."""
    found = [entry.body for entry in _latest(connection, model, count, "vote")]
    return [body for body in found if isinstance(body, Voted)]


def latest_choices(connection: Connection, model: int, count: int) -> list[Decision]:
    """The last rounds, newest first."""
    found = [entry.body for entry in _latest(connection, model, count, "choose")]
    return [body for body in found if isinstance(body, Decision)]


def _latest(connection: Connection, model: int, count: int, kind: str) -> list[Entry]:
    statement = select(log.c.body).where(log.c.model_id == model, log.c.kind == kind).order_by(log.c.position.desc())
    found = _rows(
        connection, statement.limit(count).execution_options(stream_results=True, max_row_buffer=1), {}, _BYTES
    )
    return [unsealed(0, 0.0, kind, None, None, row.body) for row in found]


def said(connection: Connection, model: int, after: int, last: int, count: int) -> list[Entry]:
    """The next answers, corrections and erasures after a position, up to the row at `last`."""
    statement = (
        select(*_COLUMNS)
        .where(
            log.c.model_id == model,
            log.c.position > after,
            log.c.position <= last,
            log.c.kind.in_(("answer", "vote", "correction", "erasure")),
        )
        .order_by(log.c.position)
        .limit(count)
    )
    return [_entry(row) for row in _rows(connection, statement, {})]


def decisions(connection: Connection, model: int, ids: Iterable[str | None]) -> Iterator[tuple[str, str]]:
    """These events and the texts of the rows that began them, a few at a time."""
    wanted = [one for one in ids if one is not None]
    for start in range(0, len(wanted), _FEW):
        begun = log.c.kind.in_(("choose", "vote")) & log.c.event_id.in_(wanted[start : start + _FEW])
        here = (log.c.model_id == model) & begun
        for row in _rows(connection, select(log.c.event_id, log.c.body).where(here), {}):
            yield row.event_id, row.body


def answer_from(connection: Connection, model: int, position: int) -> tuple[str, str] | None:
    """(event, voter) of the first answer at a position or after it."""
    found = connection.execute(
        select(log.c.event_id, log.c.voter)
        .where(log.c.model_id == model, log.c.position >= position, log.c.kind == "answer")
        .order_by(log.c.position)
        .limit(1)
    ).first()
    return None if found is None else (str(found.event_id), found.voter or "")


# The kinds stand in the text, so that the partial index of the same words serves.
_CHANGES = text(
    "SELECT position, kind, body FROM log WHERE model_id = :model AND position > :after"
    " AND kind IN ('correction', 'erasure') ORDER BY position"
)
_LAST_CHANGE = text("SELECT MAX(position) FROM log WHERE model_id = :model AND kind IN ('correction', 'erasure')")


def undone(connection: Connection, model: int, after: int) -> frozenset[int]:
    """Positions of answers that corrections after a position take back."""
    found = connection.execute(_CHANGES, {"model": model, "after": after})
    bodies = [unsealed(0, 0.0, row.kind, None, None, row.body).body for row in found]
    return frozenset(body.undone for body in bodies if isinstance(body, Corrected))


def changes(connection: Connection, model: int) -> int:
    """The position of the last row that changes what earlier rows mean, 0 if there is none."""
    return connection.execute(_LAST_CHANGE, {"model": model}).scalar() or 0


def erased_up_to(connection: Connection, model: int, position: int) -> bool:
    """Whether somebody was erased from the rows up to here."""
    found = connection.execute(_CHANGES, {"model": model, "after": 0})
    return any(row.kind == "erasure" and row.position <= position for row in found)


def holds(connection: Connection, model: int, entry: Entry) -> bool:
    """Whether this very row is in the log."""
    found = _rows(connection, _AFTER, {"model": model, "after": entry.position - 1, "count": 1})
    return bool(found) and found[0].position == entry.position and found[0].checksum == checksum(entry)
