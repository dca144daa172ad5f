"""The connection that writes, and one beside it that reads while a batch is being written."""

import sqlite3
from typing import Any

from sqlalchemy import Connection, RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from conquer.service.store.database import Database
from conquer.service.writer.failures import NotBegunError, cause_of, rolled_back

_HASTE = 20
"""Milliseconds that the reader waits for a store."""


class StoreConnection:
    """Opened when they are first needed. Each is for one thread at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writes: Connection | None = None
        self._reads: Connection | None = None

    @property
    def reader(self) -> Connection | None:
        """What only reads, from a SQLite store; None before the first `begin`."""
        return self._reads

    def begin(self) -> tuple[Connection, RootTransaction]:
        """A transaction that writes; a NotBegunError where the store does not open one."""
        try:
            connection = self._opened()
            return connection, connection.begin()
        except (SQLAlchemyError, OSError) as error:
            self.drop()
            raise NotBegunError(str(cause_of(error))) from error

    def begin_straight(self) -> Connection:
        """`begin` for a SQLite store, with the driver alone: `commit_straight` ends it."""
        try:
            connection = self._opened()
            raw: Any = connection.connection.driver_connection
            raw.execute("BEGIN IMMEDIATE")
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            self.drop()
            raise NotBegunError(str(cause_of(error))) from error
        return connection

    def commit_straight(self) -> None:
        """Outside of the interpreter, while other threads compute."""
        if self._writes is not None:
            raw: Any = self._writes.connection.driver_connection
            raw.commit()
            if self._writes.in_transaction():
                # SQLAlchemy was asked for something in between, and has taken note of a transaction.
                self._writes.rollback()

    def _opened(self) -> Connection:
        if self._writes is None:
            self._writes = self._database.engine.connect().execution_options(conquer_writes=True)
        if self._reads is None and not self._database.shared:
            self._reads = self._database.engine.connect()
            raw: Any = self._reads.connection.driver_connection
            raw.execute("PRAGMA query_only=ON")
            # It is used on the event loop. Readers hardly ever wait for writers.
            raw.execute(f"PRAGMA busy_timeout={_HASTE}")
        return self._writes

    def end_reading(self) -> None:
        """What is read next is of that moment."""
        if self._reads is not None and self._reads.in_transaction():
            self._reads.rollback()

    def surely_not(self, error: Exception) -> bool:
        """Whether the store itself said that the commit was not made."""
        if self._database.shared or self._writes is None:
            return rolled_back(error)
        raw: Any = self._writes.connection.driver_connection
        return bool(raw.in_transaction)

    def drop(self) -> None:
        """Let go of a connection that may be broken, and of what it has not committed."""
        if self._writes is not None:
            self._writes.invalidate()
            self._writes.close()
            self._writes = None

    def drop_reader(self) -> None:
        """Let go of what reads: the next `begin` opens another."""
        reads, self._reads = self._reads, None
        if reads is not None:
            # It would refuse to write for whoever got it next.
            reads.invalidate()
            reads.close()

    def close(self) -> None:
        """Let go of both."""
        self.drop_reader()
        if self._writes is not None:
            self._writes.close()
            self._writes = None
