"""Bytes in and out: reads a body within its limits, and sends a reply with the headers that all replies need."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.budget import SMALL, Hold
from conquer.service.http.whole import PLAIN, WHOLE

Scope = Any
Receive = Any
Send = Any
Headers = list[tuple[bytes, bytes]]

encode = msgspec.json.Encoder().encode
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_NONE: dict[str, Any] = {}
_DIGITS = 15
_SLICE = 256 << 10


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


def address_of(scope: Scope) -> str:
    """Where a request comes from, "" where that cannot be known."""
    client = scope.get("client")
    return client[0] if client else ""


async def read_body(scope: Scope, receive: Receive, limit: int, hold: Hold) -> bytes:
    """The whole body. Refused as soon as it is known to be too long, or to be more than there is room for now.

    How long it may take is up to the connection, which ends what is too slow.
    """
    announced = False
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit() or len(value) > _DIGITS or int(value) > limit:
                raise _too_large(limit, f", got {value[:80].decode('latin-1')}")
            if int(value) > SMALL:
                announced = True
                hold.request(int(value))
    message = await receive()
    if not message.get("more_body") and message["type"] == "http.request":
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        return body
    # One array, not a list of parts: they may be of a byte each.
    whole = bytearray()
    while message["type"] != "http.disconnect":
        part = message.get("body", b"")
        whole += part
        if len(whole) > limit:
            raise _too_large(limit)
        if not announced and len(whole) > SMALL:
            hold.request(len(part))
        if not message.get("more_body"):
            return bytes(whole)
        message = await receive()
    raise RefusalError(Kind.SLOW, "slow", "the client went away, or its body did not arrive in time")


def _too_large(limit: int, got: str = "") -> RefusalError:
    return RefusalError(Kind.TOO_LARGE, "too_large", f"a body may have {limit} bytes{got}")


async def send_json(scope: Scope, send: Send, status: int, body: bytes) -> None:
    """The everyday reply: JSON, not to be cached."""
    whole = scope.get("extensions", _NONE).get(WHOLE)
    if whole is not None and whole(scope, status, body):
        return
    headers = [*PLAIN, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if len(body) <= _SLICE:
        await send({"type": "http.response.body", "body": body})
    else:
        await _send_body(send, body)


async def _send_body(send: Send, body: bytes, more: bool = False) -> None:
    """In slices, each when the one before is on its way: what nobody reads stays here, where it is counted."""
    for at in range(0, len(body) - _SLICE, _SLICE):
        await send({"type": "http.response.body", "body": body[at : at + _SLICE], "more_body": True})
    last = max(0, (len(body) - 1) // _SLICE) * _SLICE
    await send({"type": "http.response.body", "body": body[last:] if last else body, "more_body": more})


async def counted(chunks: AsyncIterator[bytes], hold: Hold) -> AsyncIterator[bytes]:
    """The same bytes, each chunk held while it is being sent. A RefusalError if there is no room for the beginning.

    Later, when a reply has begun and cannot become a refusal, the iteration ends with the RefusalError.
    """
    first = bytearray()
    # The beginning may be a line alone, which says nothing of what follows.
    while len(first) <= SMALL and (chunk := await anext(chunks, None)) is not None:
        first += chunk
    hold.chunk(len(first))
    return _held(bytes(first), chunks, hold)


async def _held(first: bytes, chunks: AsyncIterator[bytes], hold: Hold) -> AsyncIterator[bytes]:
    yield first
    del first
    async for chunk in chunks:
        hold.chunk(len(chunk))
        yield chunk


def headers_for(reply: Reply) -> Headers:
    """The headers that a reply is sent with.

    >>> headers_for(Reply(b"{}"))[2:]
    [(b'cache-control', b'no-store'), (b'content-length', b'2')]
    """
    headers = [(b"content-type", reply.kind.encode()), _NOSNIFF, *reply.headers]
    if not any(name == b"cache-control" for name, _ in reply.headers):
        headers.append((b"cache-control", b"no-store"))
    if reply.chunks is None and reply.status != 204:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    return headers


async def send_reply(send: Send, reply: Reply, receive: Receive) -> None:
    """Any other reply, in one piece or chunk by chunk."""
    await send({"type": "http.response.start", "status": reply.status, "headers": headers_for(reply)})
    if reply.chunks is not None:
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            async for chunk in reply.chunks:
                if gone.done():
                    # Nothing is made for somebody who has left.
                    return
                await _send_body(send, chunk, more=True)
        except RefusalError as refusal:
            if refusal.code != "flight":
                raise
            # There is no room to go on. Without its end, the client can tell that the reply is not whole.
            return
        finally:
            gone.cancel()
    await _send_body(send, reply.body)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
