"""Bytes in and out: reads a body within its limits, and sends a reply with the headers that all replies need."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from conquer.service.errors import Kind, RefusalError

Scope = Any
Receive = Any
Send = Any
Headers = list[tuple[bytes, bytes]]

encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_PLAIN = [_JSON, _NOSNIFF, (b"cache-control", b"no-store")]


@dataclass(slots=True)
class Reply:
    """A reply that is not plain JSON with the route's own status. `chunks` streams instead of `body`."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: Headers = field(default_factory=list)
    chunks: AsyncIterator[bytes] | None = None


def attachment(body: bytes, name: str, kind: str = "application/octet-stream") -> Reply:
    """A file for the client to save under `name`."""
    return Reply(body, kind=kind, headers=[(b"content-disposition", f'attachment; filename="{name}"'.encode())])


def headers_of(scope: Scope) -> dict[str, str]:
    """A request's headers by their names in small letters."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def read_body(scope: Scope, receive: Receive, limit: int, seconds: float) -> bytes:
    """The whole body. Refused as soon as it is known to be too long, or when it does not come in time."""
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > limit):
            raise _too_large(limit, f", got {value.decode('latin-1')}")
    message = await receive()
    if not message.get("more_body") and message["type"] == "http.request":
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
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
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _too_large(limit: int, got: str = "") -> RefusalError:
    return RefusalError(Kind.TOO_LARGE, "too_large", f"a body may have {limit} bytes{got}")


async def send_json(send: Send, status: int, body: bytes) -> None:
    """The everyday reply: JSON, not to be cached."""
    headers = [*_PLAIN, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_reply(send: Send, reply: Reply) -> None:
    """Any other reply, in one piece or chunk by chunk."""
    headers = [(b"content-type", reply.kind.encode()), _NOSNIFF, *reply.headers]
    if not any(name == b"cache-control" for name, _ in reply.headers):
        headers.append((b"cache-control", b"no-store"))
    if reply.chunks is None and reply.status != 204:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.chunks is not None:
        async for chunk in reply.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": reply.body})
