"""Replies: JSON, files, downloads in slices, and refusals with their status codes."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse

from conquer.service.errors import Kind, RefusalError
from conquer.service.web.limits import SMALL, Hold

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
JSON = "application/json"
_SLICE = 256 << 10
"""Bytes of a reply that are sent at once."""
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
encode = msgspec.json.Encoder().encode


def reply(body: bytes = b"", kind: str = JSON, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A reply of media type `kind` that is not cached unless its headers say so."""
    return Response(body, status, {**_HEADERS, **headers} if headers else _HEADERS, kind)


def failure(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error.

    >>> failure(404, "not_found", "there is no GET /x").body
    b'{"error":{"code":"not_found","message":"there is no GET /x"}}'
    """
    return reply(encode({"error": {"code": code, "message": message}}), status=status, headers=headers)


def refused(refusal: RefusalError) -> Response:
    """A refusal, with the headers of its kind."""
    headers = {} if refusal.retry_after is None else {"retry-after": str(refusal.retry_after)}
    if refusal.kind is Kind.NO_KEY:
        headers["www-authenticate"] = "Bearer"
    return failure(STATUS[refusal.kind], refusal.code, refusal.message, headers)


def attachment(content: "bytes | AsyncIterator[bytes]", name: str, kind: str = "application/octet-stream") -> Response:
    """A file for the client to save under `name`."""
    headers = {**_HEADERS, "content-disposition": f'attachment; filename="{name}"'}
    if isinstance(content, bytes):
        return Response(content, headers=headers, media_type=kind)
    return StreamingResponse(content, headers=headers, media_type=kind)


async def counted(response: Response, hold: Hold) -> Response:
    """A download, or a reply longer than a slice, with its bytes held in the budget until they are sent.

    Raises RefusalError without room for the beginning. When the reply has begun and cannot become a refusal, it ends
    with the RefusalError.
    """
    parts: Any = None
    if isinstance(response, StreamingResponse):
        parts, beginning = response.body_iterator, b""
        # The beginning may be a single line, which says nothing of what follows.
        while len(beginning) <= SMALL and (part := await anext(parts, None)) is not None:
            beginning += part
        hold.cover(len(beginning))
    else:
        beginning = bytes(response.body)
        if len(beginning) <= _SLICE:
            return response
    return StreamingResponse(_slices(beginning, parts, hold), response.status_code, dict(response.headers))


async def _slices(part: bytes | None, parts: Any, hold: Hold) -> AsyncIterator[bytes]:
    while part is not None:
        for at in range(0, len(part), _SLICE):
            yield part[at : at + _SLICE]
        part = await anext(parts, None) if parts else None
        hold.cover(len(part or b""))
