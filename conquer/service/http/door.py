"""Everyday requests, recognised in the bytes of one read. Whatever is not in their plain form is left to the parser.

What is recognised here means the same to httptools, header by header. There is no word for refusing: None says that
the bytes may be good, bad or only a part.
"""

import re
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

LARGEST = 64 << 10
"""Bytes of a request that is looked at: its body passes uncounted (`budget.SMALL`)."""
_LONGEST_HEAD = 2048
_REMEMBERED = 512
_SEGMENT = r"([\w.~-]{1,1000})"
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
Target = TypeVar("Target")


class Head(NamedTuple):
    """The headers of a request: as ASGI has them, by their names, and how long the body is."""

    lines: list[tuple[bytes, bytes]]
    by_name: dict[str, str]
    length: int


class Door(Generic[Target]):
    """Recognises POST requests to its routes, each to a model ({name}) or to an event of it ({event_id}).

    The heads of one client's requests are nearly the same: those seen before are remembered. Only how they read is
    remembered, not who sent them nor what they may, and no more than a megabyte of them.

    >>> door = Door([("/v1/{name}/x", "the target")])
    >>> found = door.recognise(b"POST /v1/a/x HTTP/1.1\\r\\nHost: b\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
    >>> target, path, head, body = found
    >>> target, path, head.by_name["host"], body
    ('the target', {'name': 'a'}, 'b', b'{}')
    >>> door.recognise(b"POST /v1/a/x HTTP/1.1\\r\\nHost: b\\r\\nContent-Length: 3\\r\\n\\r\\n{}") is None
    True
    """

    def __init__(self, routes: Iterable[tuple[str, Target]]) -> None:
        self._heads: dict[bytes, Head | None] = {}
        # By the last group of what matches: the target, and the groups of the name and of the event, 0 without one.
        self._routes: dict[int | None, tuple[Target, int, int]] = {}
        lines, last = [], 0
        for path, target in routes:
            names = re.findall(r"{(\w+)}", path)
            if names not in (["name"], ["name", "event_id"]):
                raise ValueError(f"{path} must have a {{name}} and may have an {{event_id}}, got {names}")
            first, last = last + 1, last + len(names)
            self._routes[last] = target, first, last if last > first else 0
            lines.append(re.sub(r"\\{\w+\\}", lambda _: _SEGMENT, re.escape(path)))
        # Without a route nothing matches.
        self._line = re.compile(rf"POST (?:{'|'.join(lines) or '(?!)'}) HTTP/1\.1\r\n".encode())

    def recognise(self, data: bytes) -> tuple[Target, dict[str, str], Head, bytes] | None:
        """The request that these bytes are, if they are one in plain form: whole, with nothing behind it."""
        asked = self._line.match(data)
        if asked is None:
            return None
        start = asked.end()
        end = data.find(b"\r\n\r\n", start)
        if not 0 <= end - start <= _LONGEST_HEAD:
            return None
        block = data[start:end]
        head = self._heads.get(block) or self._head(block)
        if head is None or head.length != len(data) - end - 4:
            return None
        target, name, event = self._routes[asked.lastindex]
        path = {"name": asked[name].decode()}
        if event:
            path["event_id"] = asked[event].decode()
        return target, path, head, data[end + 4 :]

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
