"""Opening a store: SQLite with full durability and one writer, or PostgreSQL shared by many servers."""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from conquer.service.store.migrations import upgrade

_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "secure_delete=ON",
    # Checkpoints are made in the background; a commit makes one only if those fall far behind.
    "wal_autocheckpoint=8192",
)


class StoreError(OSError):
    """The store cannot be opened or is in use; the message says what to do."""


class Database:
    """A migrated store. `writing()` is a transaction that commits durably, `reading()` one that sees a fixed state.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> database = Database(f"sqlite:///{folder.name}/a.db")
    >>> with database.reading() as connection:
    ...     connection.exec_driver_sql("SELECT COUNT(*) FROM models").scalar()
    0
    >>> database.close(); folder.cleanup()
    """

    def __init__(self, address: str) -> None:
        url = parsed(address)
        self.shared = url.get_backend_name() == "postgresql"
        self.path = None if self.shared else Path(str(url.database)).absolute()
        self._lock: int | None = None
        self.engine = create_engine(
            url, pool_size=4, max_overflow=4, pool_pre_ping=self.shared, connect_args=_connect(url)
        )
        if not self.shared:
            _durable(self.engine)
        try:
            with self.writing() as connection:
                upgrade(connection)
        except (DBAPIError, OSError) as error:
            self.engine.dispose()
            raise StoreError(f"cannot open the store {shown(url)}: {getattr(error, 'orig', error)}") from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.engine.connect().execution_options(conquer_writes=True) as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        options: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if self.shared else {}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def claim(self) -> None:
        """Become the one process that writes the log of this SQLite store; PostgreSQL needs no claim."""
        if self.path is None or self._lock is not None:
            return
        handle = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(handle, 20).decode() or "unknown"
            os.close(handle)
            raise StoreError(
                f"the store {self.path} is being served by process {owner}; a SQLite store has one server."
                " Stop that one, or use a PostgreSQL store, which many servers can share"
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        self._lock = handle

    def checkpoint(self) -> None:
        """Move committed pages from SQLite's log into its file, beside the writer rather than inside its commits."""
        if self.shared:
            return
        connection = self.engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            connection.close()

    def bytes_used(self) -> int:
        """The size of the store on disk."""
        if self.path is not None:
            files = (self.path, Path(f"{self.path}-wal"))
            return sum(path.stat().st_size for path in files if path.exists())
        with self.reading() as connection:
            return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())

    def close(self) -> None:
        self.engine.dispose()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def parsed(address: str) -> URL:
    """The address as a URL of a driver this package ships, or a StoreError."""
    try:
        url = make_url(address)
    except ArgumentError:
        raise StoreError(f"a store is sqlite:///FILE or postgresql://USER@HOST/NAME, got {address!r}") from None
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        return url.set(drivername="sqlite+pysqlite")
    raise StoreError(f"a store is sqlite:///FILE or postgresql://USER@HOST/NAME, got {address!r}")


def shown(url: URL) -> str:
    """The address without its password."""
    return url.render_as_string(hide_password=True)


def _connect(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "postgresql":
        return {"options": "-c synchronous_commit=on", "prepare_threshold": 3}
    return {"timeout": 30, "check_same_thread": False}


def _durable(engine: Engine) -> None:
    """Every commit reaches the disk before it returns; transactions are ours to begin, writers at once as writers."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("conquer_writes")
        # Straight to the driver: this runs for every commit.
        raw: Any = connection.connection.driver_connection
        try:
            raw.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        except sqlite3.Error as error:
            raise DBAPIError.instance("BEGIN", None, error, sqlite3.Error, dialect=connection.dialect) from error
