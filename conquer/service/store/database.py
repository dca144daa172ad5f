"""Opening a store: SQLite with full durability and one server, or PostgreSQL shared by many."""

import contextlib
import fcntl
import functools
import logging
import os
import secrets
import socket
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from conquer import __version__
from conquer.service.store.schema import FORMAT, create_tables, stored_format
from conquer.service.store.servers import enter, leave

logger = logging.getLogger("conquer.service")
_OWNER = 0o600
_TRIES = 40
"""Attempts to truncate the write-ahead log while others read."""
_MOMENT = 0.02
"""Seconds that a checkpoint waits for readers; writers wait meanwhile."""
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "secure_delete=ON",
    # A background job makes checkpoints; a commit makes one only if that job falls far behind.
    "wal_autocheckpoint=8192",
)
_SQLITE = {
    # Seconds that a writer waits for another process's lock.
    "timeout": 5.0,
    "check_same_thread": False,
}
_SESSION = {
    "synchronous_commit": "on",
    # A request waits no longer for a lock than its client waits for a reply.
    "lock_timeout": "2s",
    "statement_timeout": "60s",
    # A server frozen inside a transaction loses its locks after this time.
    "idle_in_transaction_session_timeout": "10s",
}
_POSTGRES = {
    "options": " ".join(f"-c {name}={value}" for name, value in _SESSION.items()),
    "prepare_threshold": 3,
    "connect_timeout": 5,
    # A PostgreSQL that no longer replies is given up after about 20 s.
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
}


class StoreError(OSError):
    """The store cannot be opened or is in use; the message tells what to do."""


class NoStoreError(StoreError):
    """There is no store at this address."""


class Database:
    """An open store. `writing()` is a transaction that commits durably, `reading()` one that sees a fixed state.

    Opening changes nothing: a store of another format is refused, a missing one is created only with `create`.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> database = Database(f"sqlite:///{folder.name}/a.db", create=True)
    >>> with database.reading() as connection:
    ...     connection.exec_driver_sql("SELECT COUNT(*) FROM models").scalar()
    0
    >>> database.close(); folder.cleanup()
    """

    def __init__(self, address: str, create: bool = False) -> None:
        url = _parsed(address)
        self.shared = url.get_backend_name() == "postgresql"
        # Another name for the same file is the same store: its lock is beside the file itself.
        self.path = None if self.shared else Path(str(url.database)).resolve()
        if self.path is not None:
            url = url.set(database=str(self.path))
        self.identity = f"{socket.gethostname()}, process {os.getpid()}, version {__version__}, {secrets.token_hex(4)}"
        """What other servers of the store call this one."""
        self.unclean = not self.shared
        """Old versions of changed rows may be on the disk, from a deletion, or since another process was killed."""
        self._cleaning = threading.Lock()
        self._lock: int | None = None
        self.engine = create_engine(
            url,
            pool_size=4,
            max_overflow=7,
            pool_pre_ping=self.shared,
            connect_args=_POSTGRES if self.shared else _SQLITE,
        )
        if not self.shared:
            _make_durable(self.engine)
        try:
            self._open(url.render_as_string(hide_password=True), create)
        except (DBAPIError, OSError) as error:
            self.engine.dispose()
            if isinstance(error, StoreError):
                raise
            why = error.strerror if isinstance(error, OSError) else str(error.orig)
            name, why = url.render_as_string(hide_password=True), " ".join((why or str(error)).split())
            raise StoreError(f"cannot open the store {name}: {why}") from error

    def _open(self, address: str, create: bool) -> None:
        found, name = self._format(), self.path or address
        if found is None and not create:
            raise NoStoreError(f"there is no store {name}; say which with --store")
        if found not in (None, FORMAT):
            raise StoreError(
                f"this store has format {found}, this program reads {FORMAT}: open {name} with the version of CONQUER"
                " that made it"
            )
        if self.path is not None:
            if found is None:
                # SQLite makes its other files with the mode of the store's own.
                self.path.touch(_OWNER)
            for suffix in ("", "-wal", "-shm"):
                keep_private(Path(f"{self.path}{suffix}"))
        if found is None:
            with self.writing() as connection:
                create_tables(connection)

    def _format(self) -> int | None:
        """The store's format, None where there is no store; changes nothing."""
        engine = self.engine
        if self.path is not None:
            if not self.path.exists() or not self.path.stat().st_size:
                return None
            engine = create_engine(f"sqlite:///file:{quote(str(self.path))}?mode=ro&uri=true", poolclass=NullPool)
        with engine.connect() as connection:
            return stored_format(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes."""
        with self.engine.connect().execution_options(conquer_writes=True) as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def reading(self, patient: bool = False) -> Iterator[Connection]:
        """A transaction that sees one state of the store; `patient`: without a time limit, also between statements."""
        options: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if self.shared else {}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            if patient and self.shared:
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield connection

    def claim(self) -> None:
        """Register as a process that writes logs: the only one of a SQLite store, one of several on PostgreSQL.

        An upgrade of an older format would run here, once no server of another version is alive.
        """
        if self.path is not None:
            if self._lock is None:
                self._lock = self._locked(Path(f"{self.path}.lock"))
            return
        with self.writing() as connection:
            others = enter(connection, self.identity)
        if others:
            raise StoreError(
                f"the store is served by a version with other replay rules: {'; '.join(others)}."
                " Stop those servers first; a killed one counts as alive for ten seconds"
            )

    def _locked(self, path: Path) -> int:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER)
        keep_private(path)
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
        """Move committed pages from SQLite's write-ahead log into its file, outside of the engine's commits.

        If the store is `unclean`, this also removes old versions of changed rows. SQLite overwrites them in its file,
        so its log is truncated, unless a reader prevents it. PostgreSQL marks their space as free.
        """
        with self._cleaning:
            unclean, done = self.unclean, False
            if unclean:
                # Reset before: what is deleted meanwhile may be too late for this time.
                self.unclean = False
            try:
                done = self._move_log("TRUNCATE" if unclean else "PASSIVE") if self.path else self._vacuum(unclean)
            finally:
                self.unclean |= unclean and not done

    def scrub(self) -> bool:
        """Remove old versions of changed rows from the disk; returns whether that succeeded. Takes seconds.

        What other readers prevent now, the next `checkpoint` does.
        """
        self.unclean = True
        # The change itself is committed, so a failure is no failure of it.
        with contextlib.suppress(DBAPIError, sqlite3.Error, OSError):
            for attempt in range(_TRIES):
                time.sleep(2 * _MOMENT if attempt else 0)
                self.checkpoint()
                if not self.unclean:
                    return True
        return False

    def _move_log(self, mode: str) -> bool:
        """Make a checkpoint of SQLite; False if readers or writers prevent it."""
        with contextlib.closing(sqlite3.connect(str(self.path), timeout=_MOMENT)) as connection:
            busy, *_ = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        return not busy

    def _vacuum(self, unclean: bool) -> bool:
        """Let PostgreSQL reuse the space of old versions."""
        if unclean:
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                # Out of the pool, which must not get a connection with this setting.
                connection.detach()
                connection.exec_driver_sql("SET statement_timeout = 0")
                connection.exec_driver_sql("VACUUM log, snapshots, leases, items, images")
        return True

    def bytes_used(self) -> int:
        """The size of the store on disk."""
        if self.path is not None:
            files = (self.path, Path(f"{self.path}-wal"))
            return sum(path.stat().st_size for path in files if path.exists())
        with self.reading() as connection:
            return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())

    def close(self) -> None:
        """Close all connections, and release the store for other servers."""
        if self.shared:
            # If the store is away, the sign of life expires by itself.
            with contextlib.suppress(DBAPIError), self.writing() as connection:
                leave(connection, self.identity)
        self.engine.dispose()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _parsed(address: str) -> URL:
    """The address as a URL of a supported driver, or a StoreError."""
    with contextlib.suppress(ArgumentError, ValueError):
        url = make_url(address)
        if url.get_backend_name() == "postgresql":
            return url.set(drivername="postgresql+psycopg")
        if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:") and not url.query:
            return url.set(drivername="sqlite+pysqlite")
    raise StoreError(f"a store is sqlite:///FILE or postgresql://USER@HOST/NAME, got {address!r}")


def keep_private(path: Path) -> None:
    """Restrict a file, if there is one, to its owner; logs a warning if others had access."""
    # By its path: closing a second handle of SQLite's files would release its locks.
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0
    if mode & ~_OWNER:
        path.chmod(mode & _OWNER)
        logger.warning("%s could be read or written by others (mode %o); now it is %o", path, mode, mode & _OWNER)


def _make_durable(engine: Engine) -> None:
    """Every commit reaches the disk before it returns; transactions that write take the lock when they begin."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        # A damaged file may hold text that is not UTF-8; the checksum of its row reports it.
        connection.text_factory = functools.partial(str, encoding="utf-8", errors="replace")
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("conquer_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
