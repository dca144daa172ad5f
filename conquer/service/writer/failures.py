"""What can go wrong with a batch, and what those who wait for it are told."""

import logging
import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from conquer.service.errors import Kind, RefusalError

logger = logging.getLogger(__name__)
_LOCKED = "55P03"
"""PostgreSQL: another transaction holds a row for longer than we wait."""


_LOST = DBAPIError | PendingRollbackError | NoConnectionError
"""What a store that goes away makes of a transaction."""


class NotBegunError(Exception):
    """The store did not open a transaction."""


class UndoneError(Exception):
    """A commit that was not made: nothing of the batch has happened."""


class UnknownOutcomeError(Exception):
    """A commit of which nobody can say whether it was made."""


def cause_of(error: BaseException) -> Any:
    """What the driver said."""
    return getattr(error, "orig", None) or error


def is_busy(error: BaseException) -> bool:
    """Whether another process holds the SQLite store."""
    cause = cause_of(error.__cause__ or error)
    return isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def is_locked(error: BaseException) -> bool:
    """Whether another server holds a model of the PostgreSQL store."""
    return getattr(cause_of(error), "sqlstate", None) == _LOCKED


def rolled_back(error: BaseException) -> bool:
    """Whether PostgreSQL itself said that a commit was refused, rather than going away."""
    state = getattr(cause_of(error), "sqlstate", None)
    return state is not None and not str(state).startswith(("57", "08"))


def concerns_all(error: Exception) -> bool:
    """Whether the failure is nobody's in particular: trying one by one would not help."""
    return isinstance(error, NotBegunError | UnknownOutcomeError)


def as_told(error: Exception) -> Exception:
    """The failure as a client hears it."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, UnknownOutcomeError):
        message = f"the store went away while it committed ({error}); whether this was done is not known: send it again"
        return RefusalError(Kind.INDETERMINATE, "indeterminate", message, retry_after=1)
    if isinstance(error, NotBegunError | UndoneError | OSError | _LOST):
        message = f"the store did not take it ({cause_of(error)}); nothing was learnt"
        return RefusalError(Kind.UNAVAILABLE, "storage", message, retry_after=1)
    logger.error("a batch failed; its models are read again from the store", exc_info=error)
    return error
