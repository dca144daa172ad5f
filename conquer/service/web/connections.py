"""Connections within bounds: how many are open, how long a head may be and take, and clients that do not read."""

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEAD = 64 << 10
"""Bytes that may arrive before a request begins."""
_PENDING = 1 << 20
"""Bytes that may arrive between two parts of a body: more than the server reads ahead."""
_BODY = frozenset({b"content-length", b"transfer-encoding"})
"""Headers of a request with a body."""
_UNREAD = 4
"""Looks, as far apart as the deadline of a head, after which a client that has read nothing is cut off."""
_LINGER = 1.0
"""Seconds without a byte after which the rest of a body is no longer waited for."""
_FILES = 256
"""Open files left for the store, its log and what is being accepted."""
_ENOUGH = 1 << 20
_REFUSAL = (
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    'content-length: {size}\r\n\r\n{{"error":{{"code":"connections","message":"{reason}"}}}}'
)
Client = tuple[str, int]


@dataclass(slots=True)
class Bounds:
    """How many connections are open, in all and from one address. 0 `per_address`: as many as there is room for.

    >>> bounds = Bounds(connections=3, per_address=1, trusted="10.0.0.0/8")
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
    trusted: str = ""
    """Addresses and networks of proxies, each of which connects for many clients."""
    open: int = 0
    guards: "dict[Client, Guard]" = field(default_factory=dict)
    """The open connections, by the client's address and port."""
    _by_address: Counter[str] = field(default_factory=Counter)

    def enter(self, address: str) -> str:
        """Count a connection; returns why there is no room for it, "" if there is."""
        if self.open >= self.connections:
            return f"{self.open} connections are open"
        if 0 < self.per_address <= self._by_address[address] and not self._is_proxy(address):
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

    def _is_proxy(self, address: str) -> bool:
        return not address or any(_covers(one.strip(), address) for one in self.trusted.split(",") if one)


def _covers(proxy: str, address: str) -> bool:
    """Whether the address is the proxy's; what is no address or network is compared as text."""
    try:
        return ip_address(address) in ip_network(proxy, strict=False)
    except ValueError:
        return proxy in ("*", address)


def room_for(connections: int) -> tuple[int, int]:
    """(connections, backlog) within this process's open files, whose limit is raised as far as it may be."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _ENOUGH if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, _ENOUGH), hard))
    room = min(connections, max(files - _FILES, files // 2))
    # Connections beyond the bound are accepted before they are refused, a backlog of them at a time.
    return room, max(1, min(2048, (files - room) // 2))


class Guard(asyncio.Protocol):
    """A protocol between the socket and the server's own, which gets everything as it comes.

    `Requests` reports when a request begins and ends, and the parts of its body that were read.

    - Before a request begins, its head is arriving: it has `bounds.seconds` and 64 KB.
    - While one is under way, bytes that do not become parts of its body (trailers, chunk headers) are bounded.
    - After a reply that came before the whole body, the rest is read and dropped while it comes, for at most
      `bounds.seconds`: closing at once would take the reply away from the client.
    - A client that reads nothing of its reply for four to five times `bounds.seconds` is cut off.
    """

    bounds: Bounds
    inner: Callable[..., Any]
    """The class of the server's protocol."""

    @classmethod
    def around(cls, inner: Callable[..., Any], bounds: Bounds) -> "type[Guard]":
        """The class of guards around the protocols of one server."""
        return type(cls.__name__, (cls,), {"inner": inner, "bounds": bounds})

    def __init__(self, **options: Any) -> None:
        self._inner = type(self).inner(**options)
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._client: Client = ("", 0)
        self._admitted = False
        self._under_way = self._received = 0
        self._drains_until = 0.0
        """When the rest of a body that was not read is cut off; 0: there is none."""
        self._deadline: asyncio.TimerHandle | None = None
        self._looks: asyncio.TimerHandle | None = None
        self._unsent = self._stuck = 0
        """Bytes that were left to send at the last look, and how many looks have found none of them gone."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if (link := transport.get_extra_info("socket")) is not None and link.family != socket.AF_UNIX:
            # asyncio's own loop leaves it on for sockets that it has not made.
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = transport.get_extra_info("peername")
        self._client = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else ("", id(self))
        if reason := self.bounds.enter(self._client[0]):
            size = len(reason) + len('{"error":{"code":"connections","message":""}}')
            self._transport.write(_REFUSAL.format(size=size, reason=reason).encode())
            self._transport.close()
            return
        self._admitted = True
        self.bounds.guards[self._client] = self
        self._inner.connection_made(self._transport)
        self._look()
        self._set_deadline(self.bounds.seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        if self._admitted:
            if self._looks is not None:
                self._looks.cancel()
            self._admitted = False
            self.bounds.leave(self._client[0])
            self.bounds.guards.pop(self._client, None)
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._admitted:
            return
        if self._drains_until:
            self._set_deadline(min(_LINGER, self._drains_until - self._loop.time()))
        elif self._received > (_PENDING if self._under_way else _HEAD):
            self._transport.abort()
            return
        else:
            self._received += len(data)
        if not self._under_way and self._deadline is None:
            self._set_deadline(self.bounds.seconds)
        self._inner.data_received(data)

    def eof_received(self) -> None:
        if self._admitted:
            self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        # Part of the buffer has gone, however full it is again at the next look.
        self._unsent = 0
        self._inner.resume_writing()

    def begin(self) -> None:
        """A request begins: its head has arrived."""
        self._under_way += 1
        self._received = 0
        self._drains_until = 0.0
        self._clear_deadline()

    def progress(self) -> None:
        """A part of a body has been read."""
        self._received = 0

    def end(self, whole: bool) -> None:
        """A request has ended; `whole`: all of its body was read. The time until the next one is the server's."""
        self._under_way -= 1
        if not whole and not self._under_way:
            self._drains_until = self._loop.time() + self.bounds.seconds
            self._set_deadline(min(_LINGER, self.bounds.seconds))

    def _set_deadline(self, seconds: float) -> None:
        self._clear_deadline()
        self._deadline = self._loop.call_later(seconds, self._transport.close)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look(self) -> None:
        """Cut the connection off if its client has long read nothing; closing would wait for it for ever."""
        left = self._transport.get_write_buffer_size()
        self._stuck = self._stuck + 1 if 0 < self._unsent <= left else 0
        self._unsent = left
        if self._stuck >= _UNREAD:
            self._transport.abort()
        else:
            self._looks = self._loop.call_later(self.bounds.seconds, self._look)


class Requests:
    """Middleware that reports a connection's requests to its guard."""

    def __init__(self, app: ASGIApp, bounds: Bounds) -> None:
        self._app, self._guards = app, bounds.guards

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guard = self._guards.get(tuple(scope.get("client") or ())) if scope["type"] == "http" else None
        if guard is None:
            await self._app(scope, receive, send)
            return
        whole = not any(name in _BODY for name, _ in scope["headers"])

        async def reported() -> Message:
            nonlocal whole
            message = await receive()
            guard.progress()
            whole = whole or not message.get("more_body")
            return message

        guard.begin()
        try:
            await self._app(scope, receive if whole else reported, send)
        finally:
            guard.end(whole)
