"""From a refusal to its status code: the one place where the two meet."""

from conquer.service.errors import Kind, RefusalError

STATUS = {
    Kind.MALFORMED: 400,
    Kind.NO_KEY: 401,
    Kind.NOT_ALLOWED: 403,
    Kind.UNKNOWN: 404,
    Kind.SLOW: 408,
    Kind.CONFLICT: 409,
    Kind.TOO_LARGE: 413,
    Kind.INVALID: 422,
    Kind.BUSY: 429,
    Kind.UNAVAILABLE: 503,
}


def status_of(refusal: RefusalError) -> int:
    """The status code of a refusal.

    >>> status_of(RefusalError(Kind.CONFLICT, "answered", "another answer came first"))
    409
    """
    return STATUS[refusal.kind]
