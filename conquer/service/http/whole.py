"""Replies in one piece: head and body in one write, for a call of the system costs more than encoding both."""

from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

JOINED = 64 << 10
"""Bytes of a body up to which it is copied behind its head, so that both go in one packet."""
PLAIN = (
    (b"content-type", b"application/json"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
"""The headers of the everyday reply: JSON, not to be cached."""
WHOLE = "conquer.whole"
"""An extension of ASGI: what sends an everyday reply at once, or says that it cannot."""
Headers = list[tuple[bytes, bytes]]
_LAST = b"connection: close\r\n"
_CONTINUE = b"HTTP/1.1 100"


_NO_HEAD: tuple[Headers | None, bytes] = None, b""
_heads: dict[int, tuple[Headers | None, bytes]] = {}
"""All of an everyday reply that is the same for a second, by its status: when the date changes, another list comes."""


def plain_reply(status: int, headers: Headers, body: bytes) -> bytes:
    """The everyday reply, with the server's own `headers`: a list that nobody changes.

    >>> plain_reply(200, [(b"date", b"now")], b"{}").split(b"\\r\\n")[:2]
    [b'HTTP/1.1 200 OK', b'date: now']
    """
    known, head = _heads.get(status, _NO_HEAD)
    if known is not headers:
        head = STATUS_LINE[status] + _lines(headers) + _lines(PLAIN) + b"content-length: "
        _heads[status] = headers, head
    return b"%b%d\r\n\r\n%b" % (head, len(body), body)


def any_reply(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes, ends: bool = False) -> bytes:
    """A reply with these headers; `ends`: the connection's last one.

    >>> any_reply(404, [(b"content-length", b"0")], b"", ends=True).split(b"\\r\\n")[:3]
    [b'HTTP/1.1 404 Not Found', b'content-length: 0', b'connection: close']
    """
    return STATUS_LINE[status] + _lines(headers) + (_LAST if ends else b"") + b"\r\n" + body


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def refusal(status: int, code: str, message: str, headers: bytes = b"") -> bytes:
    """A connection's last reply, in one piece."""
    body = f'{{"error":{{"code":"{code}","message":"{message}"}}}}'.encode()
    start = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n" % len(body)
    return STATUS_LINE[status] + start + headers + b"\r\n" + body


class Hangup:
    """A connection's transport as its replies see it: closing it is up to the connection.

    A reply's head waits for what follows it: two calls of the system for every reply would cost more than encoding it.
    """

    __slots__ = ("_head", "_write", "close", "is_closing")

    def __init__(self, protocol: Any) -> None:
        self._write, self.is_closing = protocol.transport.write, protocol.transport.is_closing
        self.close = protocol.finish
        self._head = b""

    def write(self, data: bytes) -> None:
        head = self._head
        if head:
            self._head = b""
            if len(data) <= JOINED:
                self._write(head + data)
                return
            self._write(head)
        elif data.endswith(b"\r\n\r\n") and data.startswith(b"HTTP/1.1 ") and not data.startswith(_CONTINUE):
            self._head = data
            return
        self._write(data)

    def flush(self) -> None:
        """Send a head that nothing follows."""
        if self._head:
            head, self._head = self._head, b""
            self._write(head)
