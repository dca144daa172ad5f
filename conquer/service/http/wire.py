"""Bytes in and out: reads a body within its limits, writes replies and errors with the headers they need."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.errors import status_of

Scope = Any
Receive = Any
Send = Any

encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")
_PLAIN = [_JSON, (b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


@dataclass(slots=True)
class Reply:
    """A ready answer; `chunks` streams instead of `body`."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    chunks: AsyncIterator[bytes] | None = None


async def read_body(scope: Scope, receive: Receive, limit: int, seconds: float) -> bytes:
    """The whole body; 413 as soon as it is known to be too long, 408 when it does not come."""
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > limit):
            raise RefusalError(
                Kind.TOO_LARGE, "too_large", f"a body may have {limit} bytes, got {value.decode('latin-1')}"
            )
    message = await receive()
    if not message.get("more_body") and message["type"] == "http.request":
        body: bytes = message.get("body", b"")
        _check_size(len(body), limit)
        return body
    try:
        async with asyncio.timeout(seconds):
            return await _rest(message, receive, limit)
    except TimeoutError:
        raise RefusalError(Kind.SLOW, "slow", f"the body did not arrive within {seconds:g} seconds") from None


async def _rest(message: Any, receive: Receive, limit: int) -> bytes:
    parts, size = [], 0
    while True:
        if message["type"] == "http.disconnect":
            raise RefusalError(Kind.MALFORMED, "disconnected", "the client went away")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        _check_size(size, limit)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise RefusalError(Kind.TOO_LARGE, "too_large", f"a body may have {limit} bytes")


async def send_json(send: Send, status: int, body: bytes, extra: Iterable[tuple[bytes, bytes]] = ()) -> None:
    headers = [*_PLAIN, (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_reply(send: Send, reply: Reply) -> None:
    headers = [(b"content-type", reply.kind.encode()), (b"x-content-type-options", b"nosniff"), *reply.headers]
    if not any(name == b"cache-control" for name, _ in reply.headers):
        headers.append((b"cache-control", b"no-store"))
    if reply.chunks is None:
        if reply.status != 204:
            headers.append((b"content-length", str(len(reply.body)).encode()))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})
        return
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    async for chunk in reply.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def failure(code: str, message: str) -> bytes:
    """An error's body.

    >>> failure("x", "y")
    b'{"error":{"code":"x","message":"y"}}'
    """
    return encode({"error": {"code": code, "message": message}})


async def send_refusal(send: Send, refusal: RefusalError) -> None:
    extra = []
    if refusal.retry_after is not None:
        extra.append((b"retry-after", str(refusal.retry_after).encode()))
    if status_of(refusal) == 401:
        extra.append((b"www-authenticate", b"Bearer"))
    if status_of(refusal) in (408, 413):
        # What is left of the body will not be read, so the connection cannot be used again.
        extra.append((b"connection", b"close"))
    await send_json(send, status_of(refusal), failure(refusal.code, refusal.message), extra)
