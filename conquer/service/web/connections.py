"""Connections within bounds: how many are open, how long a head may be and take, and clients that do not read."""

import asyncio
import math
import resource
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD = 64 << 10
"""Bytes that may arrive before a request begins."""
_PENDING = 1 << 20
"""Bytes that may arrive between two parts of a body: more than the server reads ahead."""
_UNREAD = 4
"""How many times the time for a head a client may read nothing."""
_LINGER = 1.0
"""Seconds without a byte after which the rest of a body is no longer waited for."""
_FILES = 256
"""Open files left for the store, its log and what is being accepted."""
_ENOUGH = 1 << 20
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b"
)
Client = tuple[str, int]


@dataclass(slots=True)
class Bounds:
    """How many connections are open, in all and from one address. 0 `per_address`: as many as there is room for.

    >>> bounds = Bounds(connections=3, per_address=1, trusted={"10.0.0.1"})
    >>> [bounds.enter(address) for address in ("1.2.3.4", "1.2.3.4", "10.0.0.1", "10.0.0.1", "::1")]
    ['', '1 connections from this address are open', '', '', '3 connections are open']
    >>> bounds.leave("1.2.3.4")
    >>> bounds.enter("1.2.3.4")
    ''
    """

    seconds: float = 15.0
    """Time for a request's head to arrive."""
    connections: int = 1024
    per_address: int = 256
    trusted: Container[str] = ()
    """Addresses of proxies, each of which connects for many clients."""
    open: int = 0
    guards: "dict[Client, Guard]" = field(default_factory=dict)
    """The open connections, by the client's address and port."""
    _by_address: Counter[str] = field(default_factory=Counter)

    def enter(self, address: str) -> str:
        """Count a connection; returns why there is no room for it, "" if there is."""
        if self.open >= self.connections:
            return f"{self.open} connections are open"
        if 0 < self.per_address <= self._by_address[address] and address not in self.trusted:
            return f"{self.per_address} connections from this address are open"
        self.open += 1
        self._by_address[address] += 1
        return ""

    def leave(self, address: str) -> None:
        """Count a connection out that `enter` let in."""
        self.open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]


def room_for(connections: int) -> tuple[int, int]:
    """(connections, backlog) within this process's open files, whose limit is raised as far as it may be."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _ENOUGH if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, _ENOUGH), hard))
    room = min(connections, max(files - _FILES, files // 2))
    # Connections beyond the bound are accepted before they are refused, a backlog of them at a time.
    return room, max(1, min(2048, (files - room) // 2))


class Guard(asyncio.Protocol):
    """A protocol between the socket and uvicorn's own, which gets everything as it comes.

    `Requests` reports when a request begins and ends, and the parts of its body that were read.

    - Before a request begins, its head is arriving: it has `bounds.seconds` and 64 KB.
    - While one is under way, bytes that do not become parts of its body (trailers, chunk headers) are bounded.
    - After a reply that came before the whole body, the rest is read and dropped while it comes, for at most
      `bounds.seconds`: closing at once would take the reply away from the client.
    - A client that reads nothing of its reply for four times `bounds.seconds` is cut off.
    """

    def __init__(self, bounds: Bounds, **options: Any) -> None:
        self._bounds, self._inner = bounds, HttpToolsProtocol(**options)
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._client: Client | None = None
        """None: the connection was refused or is over."""
        self._under_way, self._room, self._drains = 0, _HEAD, 0.0
        """Requests under way, bytes that may still arrive, and until when others are dropped; 0: they end it."""
        self._ends = math.inf
        """When the connection is closed, unless a request begins."""
        self._unsent, self._taken = 0, 0.0
        """Bytes that were left to send at the last look, and when the client last took some."""
        self._looks: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        # A client that has gone already has no address.
        client: Client = (transport.get_extra_info("peername") or ("", id(self)))[:2]
        if reason := self._bounds.enter(client[0]):
            body = msgspec.json.encode({"error": {"code": "connections", "message": reason}})
            self._transport.write(_REFUSAL % (len(body), body))
            self._transport.close()
            return
        self._client = client
        self._bounds.guards[client] = self
        self._inner.connection_made(self._transport)
        self._ends = self._loop.time() + self._bounds.seconds
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._client is not None:
            if self._looks is not None:
                self._looks.cancel()
            self._bounds.leave(self._client[0])
            self._bounds.guards.pop(self._client, None)
            self._client = None
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._client is None:
            return
        if self._room < 0:
            if not self._drains:
                self._transport.abort()
            return
        self._room -= len(data)
        if self._drains:
            self._ends = min(self._loop.time() + _LINGER, self._drains)
        elif not self._under_way and self._ends == math.inf:
            self._ends = self._loop.time() + self._bounds.seconds
        self._inner.data_received(data)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        # Part of the buffer has gone, however full it is again at the next look.
        self._taken = self._loop.time()
        self._inner.resume_writing()

    def begin(self) -> None:
        """A request begins: its head has arrived."""
        self._under_way += 1
        self._room, self._drains, self._ends = _PENDING, 0.0, math.inf

    def progress(self) -> None:
        """A part of a body has been read."""
        self._room = _PENDING

    def end(self, left: int) -> None:
        """A request has ended, with so many bytes of its body left. The time until the next one is the server's."""
        self._under_way -= 1
        if not self._under_way:
            self._room = _HEAD + left
            if left:
                now = self._loop.time()
                self._drains = now + self._bounds.seconds
                self._ends = min(now + _LINGER, self._drains)

    def _look(self) -> None:
        """Close the connection when its time is up. One whose client takes nothing is cut off: closing would wait."""
        now, left = self._loop.time(), self._transport.get_write_buffer_size()
        if not left or left < self._unsent:
            self._taken = now
        self._unsent = left
        if now - self._taken >= _UNREAD * self._bounds.seconds:
            self._transport.abort()
        elif now >= self._ends:
            self._transport.close()
        self._looks = self._loop.call_later(min(1.0, self._bounds.seconds / 10), self._look)


class Requests:
    """Middleware that reports a connection's requests to its guard."""

    def __init__(self, app: ASGIApp, bounds: Bounds) -> None:
        self._app, self._guards = app, bounds.guards

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guard = self._guards.get(scope["client"]) if scope["type"] == "http" else None
        if guard is None:
            await self._app(scope, receive, send)
            return
        left = 0
        for name, value in scope["headers"]:
            if name == b"content-length":
                left = int(value)
            elif name == b"transfer-encoding":
                left = _PENDING

        async def reported() -> Message:
            nonlocal left
            message = await receive()
            guard.progress()
            left = max(1, left - len(message["body"])) if message.get("more_body") else 0
            return message

        guard.begin()
        try:
            await self._app(scope, reported if left else receive, send)
        finally:
            guard.end(left)
