"""A store's two secrets. One signs page cookies and stays out of backups. The other marks people and events that are
gone, and travels with the store: without it their marks could not be found again.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlalchemy import Connection, Insert, Table, select
from sqlalchemy.dialects import postgresql, sqlite

from conquer.service.store.database import Database, StoreError
from conquer.service.store.private import secret_in
from conquer.service.store.schema import retired
from conquer.service.store.schema import secrets as stored

COOKIES, MARKS = "cookies", "marks"
VARIABLE = "CONQUER_SECRET"
_LEAST = 32
_MADE_HERE = re.compile(r"([0-9a-f]{1,16})-[0-9a-f]{16}")
"""An id that the server gave out: the round's ordinal, and chance."""


def cookie_secret(database: Database) -> str:
    """What signs cookies: $CONQUER_SECRET, else a file beside a SQLite store, or a row that servers share."""
    given = os.environ.get(VARIABLE, "")
    if given:
        if len(given) < _LEAST:
            raise StoreError(f"{VARIABLE} must have at least {_LEAST} characters, got {len(given)}")
        return given
    if database.path is not None:
        path = Path(f"{database.path}.secret")
        found = secret_in(path)
        if len(found) < _LEAST:
            raise StoreError(
                f"{path} must hold at least {_LEAST} characters, got {len(found)}: remove it for a new one"
            )
        return found
    with database.writing() as connection:
        return _agreed(connection, COOKIES)


def marks_secret(connection: Connection) -> str:
    """What marks are keyed with, made once per store."""
    return _agreed(connection, MARKS)


def voter_mark(secret: str, model: int, voter: str) -> str:
    """A stand-in for a voter's name that only somebody who knows the name and this store can find again."""
    return hmac.new(secret.encode(), f"{model}:{voter}".encode(), hashlib.sha256).hexdigest()


def event_mark(secret: str, model: int, event: str) -> str:
    """A stand-in for an event's id; shorter, for there are many."""
    return hmac.new(secret.encode(), f"event:{model}:{event}".encode(), hashlib.sha256).hexdigest()[:32]


def ordinal_in(event: str) -> int | None:
    """The ordinal in an id that a server made up, None for other ids.

    >>> ordinal_in("1f-0123456789abcdef"), ordinal_in("order-17")
    (31, None)
    """
    found = _MADE_HERE.fullmatch(event)
    return None if found is None else int(found[1], 16)


def retire(connection: Connection, model: int, events: Iterable[str]) -> None:
    """Keep these ids from being used a second time; those that a server made up need no row."""
    secret = marks_secret(connection)
    rows = [{"model_id": model, "event": event_mark(secret, model, one)} for one in events if ordinal_in(one) is None]
    if rows:
        connection.execute(_once(connection, retired), rows)


def retired_events(connection: Connection, model: int, events: Sequence[str], ordinal: int) -> set[str]:
    """Those of some ids, none of them in the log, whose rows have been pruned; `ordinal` is the next round's."""
    numbers = {one: ordinal_in(one) for one in events}
    gone = {one for one, number in numbers.items() if number is not None and number < ordinal}
    others = [one for one, number in numbers.items() if number is None]
    secret = marks_secret(connection) if others else ""
    for start in range(0, len(others), 500):
        marks = {event_mark(secret, model, one): one for one in others[start : start + 500]}
        found = connection.execute(
            select(retired.c.event).where(retired.c.model_id == model, retired.c.event.in_(list(marks)))
        )
        gone |= {marks[row.event] for row in found}
    return gone


def _agreed(connection: Connection, name: str) -> str:
    """A secret of the store. Servers that start together each bring one, and all take the one that was first."""
    wanted = select(stored.c.value).where(stored.c.name == name)
    found = connection.execute(wanted).scalar()
    if found is None:
        new = {"name": name, "value": secrets.token_urlsafe(32)}
        connection.execute(_once(connection, stored), new)
        found = connection.execute(wanted).scalar_one()
    return str(found)


def _once(connection: Connection, table: Table) -> Insert:
    """An insert that passes over rows that are there."""
    kind = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return kind(table).on_conflict_do_nothing()
