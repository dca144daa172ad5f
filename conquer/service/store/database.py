"""Opening a store: SQLite with full durability and one writer, or PostgreSQL shared by many servers."""

import contextlib
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from conquer.service.store.connections import connect_options, make_durable
from conquer.service.store.migrations import upgrade
from conquer.service.store.private import keep_private
from conquer.service.store.scrubbing import cut_log, vacuum
from conquer.service.store.servers import Presence, enter, leave

_PATIENT = 5
"""Two who erase, one who prunes, two logs that are read for annotators; the writer (two) and folds have their own."""


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
        # Another name for the same file is the same store: its lock is beside the file itself.
        self.path = None if self.shared else Path(str(url.database)).resolve()
        if self.path is not None:
            url = url.set(database=str(self.path))
        self.presence = Presence()
        self._scrubbing = threading.Lock()
        self._patient = threading.BoundedSemaphore(_PATIENT)
        self._claimed = False
        self._unclean = False
        self._lock: int | None = None
        self.engine = create_engine(
            url, pool_size=4, max_overflow=7, pool_pre_ping=self.shared, connect_args=connect_options(url)
        )
        if not self.shared:
            make_durable(self.engine)
        try:
            self._keep_private()
            with self.writing() as connection:
                upgrade(connection)
        except (DBAPIError, OSError) as error:
            self.engine.dispose()
            raise StoreError(f"cannot open the store {shown(url)}: {_why(error)}") from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.engine.connect().execution_options(conquer_writes=True) as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def reading(self, patient: bool = False, soon: bool = False) -> Iterator[Connection]:
        """`patient` readers may take any time, also between two statements: they hold nothing others wait for.

        Only a few of them read at once, so that connections are left; those that are done `soon` need not wait.
        """
        options: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if self.shared else {}
        few = self._patient if patient and not soon else contextlib.nullcontext()
        with few, self.engine.connect().execution_options(**options) as connection, connection.begin():
            if patient and self.shared:
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield connection

    def claim(self) -> None:
        """Become a process that writes logs: the only one of a SQLite store, on PostgreSQL one of a kind."""
        if self._claimed:
            return
        if self.path is None:
            self._join()
        else:
            self._lock = self._locked(Path(f"{self.path}.lock"))
        self._claimed = True

    def _join(self) -> None:
        with self.writing() as connection:
            others = enter(connection, self.presence)
        if others:
            raise StoreError(
                f"the store is served by a version that folds rows by other rules: {'; '.join(others)}."
                " Stop those servers first; one that was killed counts for ten seconds more"
            )

    def _locked(self, path: Path) -> int:
        keep_private(path, create=True)
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
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
        return handle

    def checkpoint(self) -> None:
        """Move committed pages from SQLite's log into its file, beside the writer rather than inside its commits."""
        if self._unclean:
            self._clean(1)
        if self.shared:
            return
        connection = self.engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            connection.close()

    def scrub(self) -> bool:
        """Take the old versions of emptied rows from the disk; whether that was done. For a thread beside the writer.

        SQLite has overwritten them in its file, so what is left is its log, which is cut to nothing. PostgreSQL marks
        their room as free. What cannot be done now, because somebody reads an older state, `checkpoint` does later.
        """
        try:
            self.checkpoint()
            return self._clean()
        except (DBAPIError, sqlite3.Error, OSError):
            # What came before has been committed, and stays so.
            self._unclean = True
            return False

    def scrub_soon(self) -> None:
        """`scrub`; with the next `checkpoint`, once for all calls, while one is at it, and on PostgreSQL.

        That looks through whole tables for it.
        """
        if self.shared or not self._scrubbing.acquire(blocking=False):
            self._unclean = True
            return
        try:
            self.scrub()
        finally:
            self._scrubbing.release()

    def _clean(self, *tries: int) -> bool:
        # Before, not after: what is deleted meanwhile may have come too late for this time.
        self._unclean, done = False, False
        try:
            done = self._scrubbed(*tries)
        finally:
            if not done:
                self._unclean = True
        return done

    def _scrubbed(self, *tries: int) -> bool:
        if not self.shared:
            return cut_log(self.engine, *tries)
        vacuum(self.engine)
        return True

    def _keep_private(self) -> None:
        """SQLite makes its other files with the rights of the store's own."""
        if self.path is not None:
            keep_private(self.path, create=True)
            for suffix in ("-wal", "-shm"):
                keep_private(Path(f"{self.path}{suffix}"))

    def bytes_used(self) -> int:
        """The size of the store on disk."""
        if self.path is not None:
            files = (self.path, Path(f"{self.path}-wal"))
            return sum(path.stat().st_size for path in files if path.exists())
        with self.reading() as connection:
            return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())

    def close(self) -> None:
        if self._claimed and self.shared:
            # If the store is away, the sign of life grows old by itself.
            with contextlib.suppress(DBAPIError), self.writing() as connection:
                leave(connection, self.presence)
        self._claimed = False
        self.engine.dispose()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _why(error: DBAPIError | OSError) -> str:
    """What the driver or the system says, in one line."""
    said = error.strerror if isinstance(error, OSError) else str(error.orig)
    return " ".join((said or str(error)).split())


def parsed(address: str) -> URL:
    """The address as a URL of a driver this package ships, or a StoreError."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise StoreError(f"a store is sqlite:///FILE or postgresql://USER@HOST/NAME, got {address!r}") from None
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:" and not url.query:
        return url.set(drivername="sqlite+pysqlite")
    raise StoreError(f"a store is sqlite:///FILE or postgresql://USER@HOST/NAME, got {address!r}")


def shown(url: URL) -> str:
    """The address without its password."""
    return url.render_as_string(hide_password=True)
