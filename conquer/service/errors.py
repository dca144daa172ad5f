"""Refusals: requests that are not carried out. `web.endpoint` turns them into status codes."""

import enum


class Kind(enum.Enum):
    """Why a request is not carried out."""

    MALFORMED = "the request cannot be read"
    NO_KEY = "the key is missing or wrong"
    NOT_ALLOWED = "the key may not do this"
    UNKNOWN = "there is no such thing"
    SLOW = "the request did not arrive in time"
    CONFLICT = "the request contradicts the current state"
    TOO_LARGE = "the body is too large"
    INVALID = "the request is not valid"
    BUSY = "too many requests are waiting"
    UNAVAILABLE = "the server cannot do this now"
    INDETERMINATE = "the outcome is unknown"


class RefusalError(ValueError):
    """A request that is not carried out; nothing has changed.

    >>> RefusalError(Kind.UNKNOWN, "unknown_model", "there is no model 'x'").code
    'unknown_model'
    """

    def __init__(self, kind: Kind, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.code, self.message, self.retry_after = kind, code, message, retry_after
        self.tainted = False
        """The model in memory may have changed before the refusal; it must be loaded again."""


def unknown_model(name: str) -> RefusalError:
    return RefusalError(Kind.UNKNOWN, "unknown_model", f"there is no model {name!r}")


def unknown_event(model: str, event: str) -> RefusalError:
    return RefusalError(Kind.UNKNOWN, "unknown_event", f"model {model!r} has no event {event!r}")


def invalid(message: str) -> RefusalError:
    return RefusalError(Kind.INVALID, "invalid", message)


def conflict(code: str, message: str) -> RefusalError:
    return RefusalError(Kind.CONFLICT, code, message)


def stopping() -> RefusalError:
    return RefusalError(Kind.UNAVAILABLE, "stopping", "the server is stopping", retry_after=1)
