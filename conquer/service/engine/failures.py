"""What can go wrong with a batch, and the error that its clients get."""

import logging
import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from conquer.service.errors import Kind, RefusalError

logger = logging.getLogger(__name__)
STORE = (DBAPIError, PendingRollbackError, NoConnectionError, OSError)
"""Failures of the store, which may be over at the next attempt."""
_LOCK_TIMEOUT = "55P03"
_REFUSED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CONSTRAINT})
"""Errors after which SQLite has certainly not written the end of a transaction, as after a write that failed."""


def cause_of(error: BaseException) -> Any:
    """The driver's own error."""
    return getattr(error, "orig", None) or error


def is_conflict(error: BaseException) -> bool:
    """Whether another server has written what the batch wanted to write, or its transaction held up the batch."""
    return isinstance(error, IntegrityError) or getattr(cause_of(error), "sqlstate", None) == _LOCK_TIMEOUT


def is_rolled_back(error: BaseException) -> bool:
    """Whether the store itself said that a commit was refused. A failing disk or a lost connection says nothing.

    SQLite may have written the whole transaction before `fdatasync` failed, PostgreSQL its commit record before it
    stopped with a system (58) or internal (XX) error: a restart may bring it back.
    """
    cause = cause_of(error)
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0)
        return code == sqlite3.SQLITE_IOERR_WRITE or code & 0xFF in _REFUSED
    state = getattr(cause, "sqlstate", None)
    if getattr(getattr(cause, "diag", None), "severity_nonlocalized", None) in ("FATAL", "PANIC"):
        return False
    return state is not None and not str(state).startswith(("57", "08", "58", "XX"))


def unknown_outcome(error: BaseException) -> RefusalError:
    """For a commit that may or may not have been made."""
    failed = f"the store failed while it committed ({cause_of(error)})"
    message = f"{failed}; the outcome is unknown: send the request again"
    return RefusalError(Kind.INDETERMINATE, "indeterminate", message, retry_after=1)


def as_told(error: BaseException) -> BaseException:
    """The error that a client gets after a failure that changed nothing."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, STORE):
        message = f"the store failed ({cause_of(error)}); nothing was learnt"
        return RefusalError(Kind.UNAVAILABLE, "storage", message, retry_after=1)
    logger.error("work failed", exc_info=error)
    return error
