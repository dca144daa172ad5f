"""Models and their logs: every statement about rows that requests run."""

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, bindparam, func, select, true

from conquer.service.errors import Kind, RefusalError
from conquer.service.model.records import (
    FOLD,
    NAMES,
    Corrected,
    Decision,
    Entry,
    Event,
    Settled,
    Unreadable,
    Voted,
    checksum,
    summed,
    unsealed,
)
from conquer.service.model.schemas import ModelSettings
from conquer.service.store.schema import CHANGES, log, models

_settings = msgspec.json.Decoder(ModelSettings).decode
_settled = msgspec.json.Decoder(Settled).decode

_COLUMNS = [log.c[name] for name in ("position", "at", "kind", "event_id", "voter", "body", "format", "checksum")]
_BYTES = 4 << 20
"""A list of rows ends with the row whose body reaches this size: one row may be as large as a request."""
_ROWS = 500
"""Rows of one INSERT."""
_FEW = 16
"""Rounds read at once; each may be as large as a request."""
_OF_MODEL = select(*_COLUMNS).where(log.c.model_id == bindparam("model")).order_by(log.c.position)
_AFTER = _OF_MODEL.where(log.c.position > bindparam("after")).limit(bindparam("count"))
_sizes = _AFTER.with_only_columns(log.c.position, func.octet_length(log.c.body).label("size")).subquery()
_sums = select(
    _sizes.c.position, (func.sum(_sizes.c.size).over(order_by=_sizes.c.position) - _sizes.c.size).label("before")
).subquery()
# PostgreSQL sends the whole result before its first row can be read.
_BOUNDED = _AFTER.where(
    log.c.position <= select(func.max(_sums.c.position)).where(_sums.c.before < _BYTES).scalar_subquery()
)
_OF_EVENTS = _OF_MODEL.where(log.c.event_id.in_(bindparam("events", expanding=True)), log.c.kind != "flag")
_LAST = select(func.max(log.c.position)).where(log.c.model_id == models.c.id).scalar_subquery().label("last")
_ALL = select(models, _LAST)
_NAMED = _ALL.where(models.c.name.in_(bindparam("names", expanding=True)))


@dataclass(frozen=True, slots=True)
class Header:
    """A row of `models`, with the position of the last row of its log."""

    id: int
    name: str
    settings: ModelSettings
    position: int
    base: int
    pooled: int
    title: str = ""
    paused: bool = False


def headers(connection: Connection, names: Sequence[str]) -> dict[str, Header]:
    """The models with these names."""
    return {row.name: _header(row) for row in connection.execute(_NAMED, {"names": list(names)})}


def all_headers(connection: Connection) -> list[Header]:
    """Every model with readable settings, by name."""
    found = []
    for row in connection.execute(_ALL.order_by(models.c.name)).all():
        # `headers` says what is wrong with the others.
        with contextlib.suppress(RefusalError):
            found.append(_header(row))
    return found


def _header(row: Any) -> Header:
    try:
        settings = _settings(row.settings)
    except msgspec.DecodeError as error:
        message = f"the settings of model {row.name!r} cannot be read: {error}"
        raise RefusalError(Kind.UNAVAILABLE, "unreadable_model", message) from None
    # A model whose rows have all been pruned continues after its base.
    position = max(row.last or 0, row.base)
    return Header(row.id, row.name, settings, position, row.base, row.pooled, row.title, bool(row.paused))


def append(connection: Connection, model: int, entries: Sequence[Entry]) -> None:
    """Insert sealed rows; an IntegrityError if the model has a row at one of their positions."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    # One statement for many rows: with a statement each, the thread gives up the interpreter's lock for every row.
    for start in range(0, len(entries), _ROWS):
        part = entries[start : start + _ROWS]
        values: list[Any] = []
        for row in part:
            position, at, kind, event, voter = row.position, row.at, NAMES[type(row.body)], row.event, row.voter
            total = summed(position, at, kind, event, voter, row.text)
            values += (model, position, kind, event, voter, at, total, row.text.decode())
        connection.exec_driver_sql(_insert(len(part), mark), tuple(values))


@functools.cache
def _insert(rows: int, mark: str) -> str:
    one = f"({', '.join([mark] * 8)}, {FOLD})"
    columns = "model_id, position, kind, event_id, voter, at, checksum, body, format"
    return f"INSERT INTO log ({columns}) VALUES {', '.join([one] * rows)}"


def _entry(row: Sequence[Any]) -> Entry:
    position, at, kind, event, voter, body, rules, total = row
    if rules > FOLD:
        message = f"row {position} has version {rules}, this program reads up to {FOLD}: upgrade it"
        raise RefusalError(Kind.UNAVAILABLE, "newer_rows", message)
    entry = unsealed(position, at, kind, event, voter, body)
    if total is not None and total != summed(position, at, kind, event, voter, entry.text):
        entry.body = Unreadable(kind, "its checksum does not fit")
    return entry


def _rows(
    connection: Connection, statement: Select[Any], values: dict[str, Any], most: float = float("inf")
) -> list[Any]:
    """The rows of a query until their bodies reach `most` bytes."""
    rows, size = [], 0
    with connection.execute(statement, values) as found:
        for row in found:
            rows.append(row)
            size += len(row.body)
            if size >= most:
                break
    return rows


def entries(connection: Connection, model: int, after: int, count: int = 1000) -> list[Entry]:
    """The next rows after a position, at most `count` and some megabytes; none only at the end of the log."""
    statement = _BOUNDED if connection.dialect.name == "postgresql" else _AFTER
    rows = _rows(connection, statement, {"model": model, "after": after, "count": count}, _BYTES)
    return [_entry(row) for row in rows]


def events_within(
    connection: Connection, model: int, ids: Sequence[str], most: float = 4 * _BYTES
) -> tuple[dict[str, Event], int, int]:
    """The first of these events, until their rows reach `most` bytes: (events, how many ids, bytes).

    At least one id is looked up. Unknown ids are left out of the events. Flags are not read.
    """
    found: dict[str, Event] = {}
    done = size = 0
    while done < len(ids) and size < most:
        # One, then two, then four: their sizes are not known.
        part = list(ids[done : done + min(done + 1, _FEW)])
        for row in _rows(connection, _OF_EVENTS, {"model": model, "events": part}):
            entry = _entry(row)
            size += len(entry.text)
            if isinstance(entry.body, Decision | Voted):
                found[str(entry.event)] = Event.of(entry)
            elif entry.event in found:
                found[entry.event].follow(entry)
        done += len(part)
    return found, done, size


class Begun(msgspec.Struct):
    """The part of a decision or a vote that says which it is; empty for a damaged row."""

    names: tuple[str, ...] = ()
    planted: str | None = None
    ordinal: int | None = None


_begun = msgspec.json.Decoder(Begun).decode


def begun(connection: Connection, model: int, ids: Iterable[str | None]) -> Iterator[tuple[str, Begun]]:
    """The first rows of these events, a few at a time."""
    wanted = [one for one in ids if one is not None]
    for start in range(0, len(wanted), _FEW):
        here = log.c.kind.in_(("choose", "vote")) & log.c.event_id.in_(wanted[start : start + _FEW])
        for row in _rows(connection, select(log.c.event_id, log.c.body).where(log.c.model_id == model, here), {}):
            try:
                yield row.event_id, _begun(row.body)
            except (msgspec.DecodeError, RecursionError):
                yield row.event_id, Begun()


def latest(connection: Connection, model: int, kind: str, count: int) -> list[Any]:
    """The bodies of the last rows of a kind, newest first; some megabytes at most."""
    statement = select(log.c.body).where(log.c.model_id == model, log.c.kind == kind).order_by(log.c.position.desc())
    one_by_one = statement.limit(count).execution_options(stream_results=True, max_row_buffer=1)
    found = [unsealed(0, 0.0, kind, None, None, row.body).body for row in _rows(connection, one_by_one, {}, _BYTES)]
    return [body for body in found if not isinstance(body, Unreadable)]


def said(connection: Connection, model: int, after: int, last: int, count: int) -> list[Entry]:
    """The next answers, votes, corrections and erasures after a position, up to the row at `last`."""
    kinds = log.c.kind.in_(("answer", "vote", "correction", "erasure"))
    statement = _AFTER.where(log.c.position <= last, kinds)
    return [_entry(row) for row in _rows(connection, statement, {"model": model, "after": after, "count": count})]


def answer_from(connection: Connection, model: int, position: int) -> tuple[str, str] | None:
    """(event, voter) of the first answer at a position or after it."""
    here = (log.c.model_id == model) & (log.c.position >= position) & (log.c.kind == "answer")
    statement = select(log.c.event_id, log.c.voter).where(here).order_by(log.c.position).limit(1)
    found = connection.execute(statement).first()
    return None if found is None else (str(found.event_id), found.voter or "")


def settled_up_to(connection: Connection, model: int, events: Sequence[str]) -> dict[str, int]:
    """The position up to which each event's flags are settled; events without a settled flag are left out."""
    here = (log.c.model_id == model) & (log.c.kind == "settle")
    last = select(func.max(log.c.position)).where(here, log.c.event_id.in_(events)).group_by(log.c.event_id)
    rows = connection.execute(select(log.c.event_id, log.c.body).where(here, log.c.position.in_(last)))
    found: dict[str, int] = {}
    for row in rows:
        try:
            found[row.event_id] = _settled(row.body).flag
        except (msgspec.DecodeError, RecursionError):
            # A damaged row settles nothing.
            continue
    return found


def flags_after(connection: Connection, model: int, event: str, after: int, most: int) -> list[tuple[int, str | None]]:
    """(position, voter) of an event's first flags after a position."""
    rows = connection.execute(
        select(log.c.position, log.c.voter)
        .where(log.c.model_id == model, log.c.event_id == event, log.c.kind == "flag", log.c.position > after)
        .order_by(log.c.position)
        .limit(most)
    )
    return [(row.position, row.voter) for row in rows]


def undone(connection: Connection, model: int, after: int) -> frozenset[int]:
    """Positions of answers that are undone by corrections after a position."""
    here = select(log.c.kind, log.c.body).where(log.c.model_id == model, log.c.position > after, CHANGES)
    bodies = [unsealed(0, 0.0, row.kind, None, None, row.body).body for row in connection.execute(here)]
    return frozenset(body.undone for body in bodies if isinstance(body, Corrected))


def changes(connection: Connection, model: int) -> int:
    """The position of the last correction or erasure, 0 if there is none."""
    last = select(func.max(log.c.position)).where(log.c.model_id == model, CHANGES)
    return connection.execute(last).scalar() or 0


def end_of_old(connection: Connection, model: int, after: int, before: float, now: float) -> int:
    """The position up to which all rows after `after` were written before a time.

    A row from the future, of a clock that was ahead, is as old as the next row that is not.
    """
    here = (log.c.model_id == model) & (log.c.position > after)
    young = here & (log.c.at >= before) & (log.c.at <= now)
    first = connection.execute(select(func.min(log.c.position)).where(young)).scalar()
    old = here & (log.c.at < before) & (true() if first is None else log.c.position < first)
    return connection.execute(select(func.max(log.c.position)).where(old)).scalar() or after


def holds(connection: Connection, model: int, entry: Entry) -> bool:
    """Whether the log holds this very row."""
    found = _rows(connection, _AFTER, {"model": model, "after": entry.position - 1, "count": 1})
    return bool(found) and found[0].position == entry.position and found[0].checksum == checksum(entry)
