"""Reading and writing models and their logs; every statement the hot path runs is here."""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, select

from conquer.service.http.schemas import ModelSettings
from conquer.service.log.event import Event
from conquer.service.log.records import FOLD, Decision, Entry, checksum, decoded, encoded
from conquer.service.store.schema import digests, items, leases, log, models, pruned, retired, snapshots

_settings = msgspec.json.Decoder(ModelSettings).decode

_COLUMNS = (log.c.position, log.c.at, log.c.kind, log.c.event_id, log.c.voter, log.c.body)
_AFTER = (
    select(*_COLUMNS)
    .where(log.c.model_id == bindparam("model"), log.c.position > bindparam("after"))
    .order_by(log.c.position)
    .limit(bindparam("count"))
)
_OF_EVENTS = (
    select(*_COLUMNS)
    .where(log.c.model_id == bindparam("model"), log.c.event_id.in_(bindparam("events", expanding=True)))
    .order_by(log.c.position)
)
_ROWS = 500
_LOCK = (
    select(models.c.id, models.c.name, models.c.settings, models.c.position, models.c.base)
    .where(models.c.name.in_(bindparam("names", expanding=True)))
    .order_by(models.c.id)
)


@dataclass(frozen=True, slots=True)
class Header:
    """A row of `models`."""

    id: int
    name: str
    settings: ModelSettings
    position: int
    base: int


def headers(connection: Connection, names: Sequence[str], lock: bool) -> dict[str, Header]:
    """The models with these names; with `lock`, held until the transaction ends, always in the same order."""
    statement = _LOCK.with_for_update() if lock else _LOCK
    found = connection.execute(statement, {"names": list(names)})
    return {row.name: Header(row.id, row.name, _settings(row.settings), row.position, row.base) for row in found}


def all_headers(connection: Connection) -> list[Header]:
    found = connection.execute(select(models).order_by(models.c.name))
    return [Header(row.id, row.name, _settings(row.settings), row.position, row.base) for row in found]


def _entry(row: Any) -> Entry:
    return Entry(row.position, row.at, row.event_id, row.voter, decoded(row.kind, row.body))


def entries(connection: Connection, model: int, after: int, chunk: int = 1000) -> Iterator[list[Entry]]:
    """The rows after a position, in order, in lists of at most `chunk`."""
    while True:
        found = connection.execute(_AFTER, {"model": model, "after": after, "count": chunk}).all()
        if found:
            yield [_entry(row) for row in found]
            after = found[-1].position
        if len(found) < chunk:
            return


def events(connection: Connection, model: int, ids: Iterable[str]) -> dict[str, Event]:
    """These events as their rows tell them; unknown ids are left out."""
    found: dict[str, Event] = {}
    wanted = list(ids)
    for start in range(0, len(wanted), 500):
        part = wanted[start : start + 500]
        for row in connection.execute(_OF_EVENTS, {"model": model, "events": part}):
            entry = _entry(row)
            if row.kind == "choose":
                found[row.event_id] = Event.of(entry)
            elif row.event_id in found:
                found[row.event_id].follow(entry)
    return found


def latest_choices(connection: Connection, model: int, count: int) -> list[Decision]:
    """The last rounds, newest first."""
    found = connection.execute(
        select(log.c.body)
        .where(log.c.model_id == model, log.c.kind == "choose")
        .order_by(log.c.position.desc())
        .limit(count)
    )
    return [decoded("choose", row.body) for row in found]


def answer_from(connection: Connection, model: int, position: int) -> tuple[str, str] | None:
    """(event, voter) of the first answer at a position or after it."""
    found = connection.execute(
        select(log.c.event_id, log.c.voter)
        .where(log.c.model_id == model, log.c.position >= position, log.c.kind == "answer")
        .order_by(log.c.position)
        .limit(1)
    ).first()
    return None if found is None else (str(found.event_id), found.voter or "")


def append(connection: Connection, model: int, rows: Sequence[Entry]) -> None:
    """Write rows whose positions were given out under the model's lock."""
    # One statement for many rows: every step of the driver hands the interpreter over, and waits to get it back.
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        values: list[Any] = []
        for row in part:
            text = encoded(row.body)
            values += (model, row.position, row.kind, row.event, row.voter, row.at, text, FOLD, checksum(row, text))
        connection.exec_driver_sql(_insert(len(part), connection.dialect.paramstyle), tuple(values))
    mark = _mark(connection.dialect.paramstyle)
    connection.exec_driver_sql(f"UPDATE models SET position = {mark} WHERE id = {mark}", (rows[-1].position, model))


def _mark(paramstyle: str) -> str:
    return "?" if paramstyle == "qmark" else "%s"


@functools.cache
def _insert(rows: int, paramstyle: str) -> str:
    mark = _mark(paramstyle)
    one = f"({', '.join([mark] * 9)})"
    columns = "model_id, position, kind, event_id, voter, at, body, format, checksum"
    return f"INSERT INTO log ({columns}) VALUES {', '.join([one] * rows)}"


def undone(connection: Connection, model: int, after: int) -> frozenset[int]:
    """Positions of answers that corrections after a position take back."""
    found = connection.execute(
        select(log.c.body).where(log.c.model_id == model, log.c.position > after, log.c.kind == "correction")
    )
    return frozenset(decoded("correction", row.body).undone for row in found)


def changes(connection: Connection, model: int) -> int:
    """The position of the last row that changes what earlier rows mean, 0 if there is none."""
    found = connection.execute(
        select(func.max(log.c.position)).where(log.c.model_id == model, log.c.kind.in_(("correction", "erasure")))
    )
    return found.scalar() or 0


def remove_model(connection: Connection, model: int) -> None:
    for table in (log, snapshots, items, leases, pruned, retired, digests):
        connection.execute(delete(table).where(table.c.model_id == model))
    connection.execute(delete(models).where(models.c.id == model))
