"""Bytes in and out: a body read within its limits, and a reply with the headers that every reply has."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import msgspec
from starlette.types import Receive, Scope, Send

from conquer.service.errors import Kind, RefusalError
from conquer.service.web.limits import SMALL, Hold

Headers = list[tuple[bytes, bytes]]

encode = msgspec.json.Encoder().encode
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_NO_STORE = (b"cache-control", b"no-store")
_JSON = (b"content-type", b"application/json")
_DIGITS = 15
_SLICE = 256 << 10
"""Bytes of a reply that are sent at once."""
_RATE = 32 << 10
"""Bytes a second that a body must arrive with in the long run."""
_READER = 60.0
"""Seconds that a slice of a reply may wait to be read."""


class ClientGoneError(Exception):
    """The client hung up, or does not read: nothing more is sent."""


@dataclass(slots=True)
class Reply:
    """A reply that is not JSON with the route's own status. `chunks` are sent instead of `body`."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: Headers = field(default_factory=list)
    chunks: AsyncIterator[bytes] | None = None


def attachment(body: bytes, name: str, kind: str = "application/octet-stream") -> Reply:
    """A file for the client to save under `name`."""
    return Reply(body, kind=kind, headers=[(b"content-disposition", f'attachment; filename="{name}"'.encode())])


def headers_of(scope: Scope) -> dict[str, str]:
    """A request's headers by their names in lower case."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def address_of(scope: Scope) -> str:
    """The client's address; "" if it is unknown."""
    client = scope.get("client")
    return client[0] if client else ""


async def disconnected(receive: Receive) -> None:
    """Wait until the client hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def read_body(scope: Scope, receive: Receive, limit: int, hold: Hold, seconds: float) -> bytes:
    """The whole body, held in the budget.

    Raises RefusalError as soon as the body is too long, finds no room, or does not arrive: each part must come within
    `seconds`, and all of it within `seconds` and 32 KB a second.
    """
    announced = False
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit() or len(value) > _DIGITS or int(value) > limit:
                raise _too_large(limit, f", got {value[:80].decode('latin-1')}")
            if int(value) > SMALL:
                announced = True
                hold.request(int(value))
    # A bytearray, not a list of parts: each may be a single byte.
    whole = bytearray()
    loop = asyncio.get_running_loop()
    start = now = loop.time()
    while True:
        try:
            async with asyncio.timeout_at(min(now + seconds, start + seconds + len(whole) / _RATE)):
                message = await receive()
        except TimeoutError:
            raise RefusalError(
                Kind.SLOW, "slow", f"the body did not arrive in {seconds:g} s and {_RATE >> 10} KB a second"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part = message.get("body", b"")
        if len(whole) + len(part) > limit:
            raise _too_large(limit)
        if not message.get("more_body") and not whole:
            return bytes(part)
        whole += part
        if not announced and len(whole) > SMALL:
            hold.request(len(part))
        if not message.get("more_body"):
            return bytes(whole)
        now = loop.time()


def _too_large(limit: int, got: str = "") -> RefusalError:
    return RefusalError(Kind.TOO_LARGE, "too_large", f"a body may have {limit} bytes{got}")


async def counted(chunks: AsyncIterator[bytes], hold: Hold) -> AsyncIterator[bytes]:
    """The same bytes, each chunk held while it is being sent. Raises RefusalError without room for the beginning.

    Later, when a reply has begun and cannot become a refusal, the iteration ends with the RefusalError.
    """
    first = bytearray()
    # The beginning may be a single line, which says nothing of what follows.
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
        headers.append(_NO_STORE)
    if reply.chunks is None and reply.status != 204:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    return headers


async def send_json(send: Send, status: int, body: bytes) -> None:
    """Send JSON that must not be cached."""
    headers = [_JSON, _NOSNIFF, _NO_STORE, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if len(body) <= _SLICE:
        await send({"type": "http.response.body", "body": body})
    else:
        await _send_body(send, body)


async def send_reply(send: Send, reply: Reply, receive: Receive) -> None:
    """Send any reply, whole or chunk by chunk. Raises ClientGoneError if the client does not read it."""
    await send({"type": "http.response.start", "status": reply.status, "headers": headers_for(reply)})
    if reply.chunks is not None:
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            async for chunk in reply.chunks:
                if gone.done():
                    raise ClientGoneError
                await _send_body(send, chunk, more=True)
        except RefusalError as refusal:
            if refusal.code != "flight":
                raise
            # Without its end, the client can tell that the reply is not whole.
            raise ClientGoneError from None
        finally:
            gone.cancel()
    await _send_body(send, reply.body)


async def _send_body(send: Send, body: bytes, more: bool = False) -> None:
    """Send slices, each when the one before has left: unread bytes stay here, where they are counted."""
    if len(body) <= _SLICE and not more:
        await send({"type": "http.response.body", "body": body})
        return
    for at in range(0, len(body), _SLICE):
        try:
            async with asyncio.timeout(_READER):
                await send({"type": "http.response.body", "body": body[at : at + _SLICE], "more_body": True})
        except TimeoutError:
            raise ClientGoneError from None
    if not more:
        await send({"type": "http.response.body", "body": b""})
