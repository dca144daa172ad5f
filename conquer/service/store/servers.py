"""Who serves a PostgreSQL store now. Servers that fold rows by different rules keep each other out."""

import os
import secrets
import socket
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Double, delete, literal_column, select, text
from sqlalchemy.dialects.postgresql import insert

from conquer import __version__
from conquer.service.log.records import FOLD
from conquer.service.store.schema import servers

BEAT = 2.0
"""Seconds between two signs of life."""
ALIVE = 10.0
"""A server that has given none for so long does not count; it looks around before it goes on."""
_LOCK = 0x434E5153
"""Any fixed number: servers that come at the same moment look around one after the other."""
_NOW: ColumnElement[float] = literal_column("extract(epoch from clock_timestamp())::double precision", Double)
"""The store's own clock, which all servers share."""


def _about() -> str:
    return f"{socket.gethostname()}, process {os.getpid()}, version {__version__}"


@dataclass(frozen=True, slots=True)
class Presence:
    """This process, as other servers of the store see it."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    about: str = field(default_factory=_about)


def enter(connection: Connection, me: Presence) -> list[str]:
    """Give a sign of life, unless others that are alive fold by other rules: then return those, and leave."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    others = connection.execute(
        select(servers.c.about, servers.c.fold).where(
            servers.c.id != me.id, servers.c.fold != FOLD, servers.c.seen > _NOW - ALIVE
        )
    ).all()
    if others:
        leave(connection, me)
        return [f"{row.about} (rules {row.fold}, these are {FOLD})" for row in others]
    connection.execute(delete(servers).where(servers.c.seen < _NOW - 10 * ALIVE))
    row = insert(servers).values(id=me.id, fold=FOLD, about=me.about, seen=_NOW)
    connection.execute(row.on_conflict_do_update(index_elements=["id"], set_={"seen": _NOW, "fold": FOLD}))
    return []


def leave(connection: Connection, me: Presence) -> None:
    """Nobody needs to wait for this server any more."""
    connection.execute(delete(servers).where(servers.c.id == me.id))
