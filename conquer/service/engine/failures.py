"""What can go wrong with a batch, and how a client is told."""

import logging
import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from conquer.service.errors import Kind, RefusalError

logger = logging.getLogger(__name__)
_LOCK_TIMEOUT = "55P03"
_LOST = DBAPIError | PendingRollbackError | NoConnectionError
"""What a store that goes away makes of a transaction."""
_REFUSED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CONSTRAINT})
"""Errors after which SQLite has certainly not written the end of a transaction, as after a write that failed."""


class NotBegunError(Exception):
    """The store opened no transaction."""


class RolledBackError(Exception):
    """A commit that was not made: nothing of the batch has happened."""


class UnknownOutcomeError(Exception):
    """A commit that may or may not have been made."""


def cause_of(error: BaseException) -> Any:
    """The driver's own error."""
    return getattr(error, "orig", None) or error


def is_conflict(error: BaseException) -> bool:
    """Whether another server has written what the batch wanted to write."""
    return isinstance(error, IntegrityError)


def is_locked(error: BaseException) -> bool:
    """Whether another server's transaction held up the batch for too long."""
    return getattr(cause_of(error), "sqlstate", None) == _LOCK_TIMEOUT


def is_rolled_back(error: BaseException) -> bool:
    """Whether the store itself said that a commit was refused. A failing disk or a lost connection says nothing.

    SQLite may have written the whole transaction before `fdatasync` failed: a restart may bring it back.
    """
    cause = cause_of(error)
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0)
        return code == sqlite3.SQLITE_IOERR_WRITE or code & 0xFF in _REFUSED
    state = getattr(cause, "sqlstate", None)
    return state is not None and not str(state).startswith(("57", "08"))


def as_told(error: BaseException) -> BaseException:
    """The failure as a client hears it."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, UnknownOutcomeError):
        message = f"the store failed while it committed ({error}); the outcome is unknown: send the request again"
        return RefusalError(Kind.INDETERMINATE, "indeterminate", message, retry_after=1)
    if isinstance(error, NotBegunError | RolledBackError | OSError | _LOST):
        message = f"the store failed ({cause_of(error)}); nothing was learnt"
        return RefusalError(Kind.UNAVAILABLE, "storage", message, retry_after=1)
    logger.error("a batch failed; its models are loaded again", exc_info=error)
    return error
