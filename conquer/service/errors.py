"""What the service says no to, in its own words; `http.errors` alone turns them into status codes."""

import enum


class Kind(enum.Enum):
    """Why a request is not carried out."""

    MALFORMED = "it cannot be read"
    NO_KEY = "nobody has said who is asking"
    NOT_ALLOWED = "whoever asks may not"
    UNKNOWN = "there is no such thing"
    SLOW = "it did not arrive in time"
    CONFLICT = "it contradicts what has happened"
    TOO_LARGE = "it is larger than allowed"
    INVALID = "it can be read and makes no sense"
    BUSY = "too many are waiting"
    UNAVAILABLE = "the server cannot do it now"
    INDETERMINATE = "whether it was done is not known"


class RefusalError(ValueError):
    """A request that is not carried out; nothing has changed.

    >>> RefusalError(Kind.UNKNOWN, "unknown_model", "there is no model 'x'").code
    'unknown_model'
    """

    def __init__(self, kind: Kind, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.code, self.message, self.retry_after = kind, code, message, retry_after
        self.tainted = False
        """Memory may have changed before the refusal: the model must be read again from the store."""


def unknown_model(name: str) -> RefusalError:
    return RefusalError(Kind.UNKNOWN, "unknown_model", f"there is no model {name!r}")


def unknown_event(model: str, event: str) -> RefusalError:
    return RefusalError(Kind.UNKNOWN, "unknown_event", f"model {model!r} has no event {event!r}")


def invalid(message: str) -> RefusalError:
    return RefusalError(Kind.INVALID, "invalid", message)


def conflict(code: str, message: str) -> RefusalError:
    return RefusalError(Kind.CONFLICT, code, message)
