"""How each connection behaves: SQLite durable and short of patience, PostgreSQL with a limit to every wait."""

import sqlite3
from typing import Any

from sqlalchemy import Connection, Engine, PoolProxiedConnection, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "secure_delete=ON",
    # Checkpoints are made in the background; a commit makes one only if those fall far behind.
    "wal_autocheckpoint=8192",
)
WAIT = 5.0
"""Seconds that a writer waits for another process to let go of a SQLite store."""
_SHARED = {
    "synchronous_commit": "on",
    # Nobody waits longer for a lock than a client for a reply; who gives up is told to try again.
    "lock_timeout": "2s",
    "statement_timeout": "60s",
    # A server that is frozen inside a transaction keeps its locks no longer than this.
    "idle_in_transaction_session_timeout": "10s",
}
"""Settings of every PostgreSQL session."""
_NETWORK = {
    "connect_timeout": 5,
    # A PostgreSQL that has vanished without a word is given up after about 20 s.
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
}


def connect_options(url: URL) -> dict[str, Any]:
    """What the driver is told when it connects."""
    if url.get_backend_name() == "postgresql":
        options = " ".join(f"-c {name}={value}" for name, value in _SHARED.items())
        return {"options": options, "prepare_threshold": 3, **_NETWORK}
    return {"timeout": WAIT, "check_same_thread": False}


def wait_for(connection: PoolProxiedConnection, seconds: float) -> None:
    """From now on this SQLite connection waits so long where another holds the store."""
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
    cursor.fetchall()


def run_straight(connection: Connection, statement: str, values: tuple[Any, ...]) -> None:
    """Run a statement that returns nothing, without SQLAlchemy's steps around it where the driver is SQLite's.

    What goes wrong is told as SQLAlchemy tells it.
    """
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(statement, values)
        return
    raw: Any = connection.connection.driver_connection
    try:
        raw.execute(statement, values)
    except sqlite3.Error as error:
        raise DBAPIError.instance(statement, None, error, sqlite3.Error, dialect=connection.dialect) from error


def make_durable(engine: Engine) -> None:
    """Every commit reaches the disk before it returns; transactions are ours to begin, writers at once as writers."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        # Straight to the driver: this runs for every commit.
        raw: Any = connection.connection.driver_connection
        try:
            if not raw.in_transaction:
                raw.execute("BEGIN IMMEDIATE" if options.get("conquer_writes") else "BEGIN")
        except sqlite3.Error as error:
            raise DBAPIError.instance("BEGIN", None, error, sqlite3.Error, dialect=connection.dialect) from error
