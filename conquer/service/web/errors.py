"""From a refusal to its status code and its reply: the one place where the two meet."""

from conquer.service.errors import Kind, RefusalError
from conquer.service.web.messages import Reply, encode

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
    Kind.INDETERMINATE: 504,
}


def status_of(refusal: RefusalError) -> int:
    """The status code of a refusal.

    >>> status_of(RefusalError(Kind.CONFLICT, "answered", "another answer came first"))
    409
    """
    return STATUS[refusal.kind]


def failure(status: int, code: str, message: str) -> Reply:
    """An error as a client sees it.

    >>> failure(404, "not_found", "there is no GET /x").body
    b'{"error":{"code":"not_found","message":"there is no GET /x"}}'
    """
    return Reply(encode({"error": {"code": code, "message": message}}), status)


def refused(refusal: RefusalError) -> Reply:
    """A refusal as a client sees it, with the headers that belong to its kind."""
    reply = failure(status_of(refusal), refusal.code, refusal.message)
    if refusal.retry_after is not None:
        reply.headers.append((b"retry-after", str(refusal.retry_after).encode()))
    if refusal.kind is Kind.NO_KEY:
        reply.headers.append((b"www-authenticate", b"Bearer"))
    return reply
