"""Everyday requests, recognised in the bytes of one read. Whatever is not in their plain form is left to the parser.

What is recognised here means the same to httptools, header by header. There is no word for refusing: None says that
the bytes may be good, bad or only a part.
"""

import re
from typing import NamedTuple

LARGEST = 64 << 10
"""Bytes of a request that is looked at: its body passes uncounted (`budget.SMALL`)."""
_LONGEST_HEAD = 2048
_REMEMBERED = 512
_REQUEST = re.compile(rb"POST (/[\w.~/-]{1,1000}) HTTP/1\.1\r\n")
_FIELD = re.compile(rb"([A-Za-z-]{1,20}): ([!-~](?:[ -~]*[!-~])?)")
_LENGTH = re.compile(rb"0|[1-9][0-9]{0,5}")
_NAMES = frozenset(
    {
        b"host",
        b"content-length",
        b"content-type",
        b"connection",
        b"authorization",
        b"user-agent",
        b"accept",
        b"accept-encoding",
        b"accept-language",
        b"sec-fetch-mode",
    }
)
"""Headers that say nothing of where a message ends, through whom it came, or from which page."""


class Head(NamedTuple):
    """The headers of a request: as ASGI has them, by their names, and how long the body is."""

    lines: list[tuple[bytes, bytes]]
    by_name: dict[str, str]
    length: int


class Plain(NamedTuple):
    """An everyday request: a POST, whole, with nothing behind it."""

    path: str
    head: Head
    body: bytes


class Door:
    """Recognises requests. The heads of one client's requests are nearly the same: those seen before are remembered.

    Only how they read is remembered, not who sent them nor what they may, and no more than a megabyte of them.

    >>> door = Door()
    >>> plain = door.recognise(b"POST /v1/x HTTP/1.1\\r\\nHost: here\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
    >>> plain.path, plain.head.by_name["host"], plain.body
    ('/v1/x', 'here', b'{}')
    >>> door.recognise(b"POST /v1/x HTTP/1.1\\r\\nHost: here\\r\\nContent-Length: 3\\r\\n\\r\\n{}") is None
    True
    """

    def __init__(self) -> None:
        self._heads: dict[bytes, Head | None] = {}

    def recognise(self, data: bytes) -> Plain | None:
        """The request that these bytes are, if they are one in plain form."""
        asked = _REQUEST.match(data)
        if asked is None:
            return None
        start = asked.end()
        end = data.find(b"\r\n\r\n", start)
        if not 0 <= end - start <= _LONGEST_HEAD:
            return None
        head = self._head(data[start:end])
        if head is None or head.length != len(data) - end - 4:
            return None
        return Plain(asked[1].decode(), head, data[end + 4 :])

    def _head(self, block: bytes) -> Head | None:
        try:
            return self._heads[block]
        except KeyError:
            if len(self._heads) >= _REMEMBERED:
                self._heads.clear()
            head = self._heads[block] = _read(block)
            return head


def _read(block: bytes) -> Head | None:
    """The head of these lines, if each is a plain header of a known name and none comes twice."""
    found: dict[bytes, bytes] = {}
    for line in block.split(b"\r\n"):
        field = _FIELD.fullmatch(line)
        name = b"" if field is None else field[1].lower()
        if field is None or name not in _NAMES or name in found:
            return None
        found[name] = field[2]
    length = found.get(b"content-length", b"")
    if b"host" not in found or not _LENGTH.fullmatch(length):
        return None
    if found.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    return Head(list(found.items()), {name.decode(): value.decode() for name, value in found.items()}, int(length))
