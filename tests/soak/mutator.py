"""Requests gone wrong: bytes flipped, cut, repeated, spliced; hostile tokens where values, names and headers stand."""

import random
import re
from collections.abc import Sequence

_DEEP = 2000
TOKENS: tuple[bytes, ...] = (
    b"1e400", b"-1e400", b"1.7e308", b"-1.7e308", b"5e-324", b"9" * 400, b"-" + b"9" * 400, b"0." + b"0" * 400 + b"1",
    b"18446744073709551616", b"-5", b"NaN", b"Infinity", b"null", b"true", b"{}", b"[]", b'""', b'"\\u0000"',
    b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"a\\n"', b'"m\\n"', b'".."', b'"a/b"',
    b'"%00"', b"[" * _DEEP + b"]" * _DEEP, b'{"a":' * _DEEP + b"1" + b"}" * _DEEP, b"[" * _DEEP,
    b'"' + b"x" * 300_000 + b'"',
    b'"' + "é\u2028\ufeff😀".encode() * 50 + b'"', b'{"a":1,"a":2}', b"[1,2,3]", b"1_000", b"0x10", b"01", b"+1", b"1e",
)  # fmt: skip
PARTS: tuple[bytes, ...] = (
    b"%00", b"%0a", b"%ff", b"..", b"%2e%2e", b"%2f", b"//", b"\\", b"?", b"#", b"&count=" + b"9" * 5000, b"?after=-1",
    b"?after=" + b"1" * 19, b"?format=%ff", b"?held_out=", b"\xc3\xa9", b"\xff", b"x" * 9000, b"%", b"%zz", b"\t", b" ",
)  # fmt: skip
HEADERS: tuple[bytes, ...] = (
    b"Content-Length: -1", b"Content-Length: 9" + b"9" * 30, b"Content-Length: 3", b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked", b"Expect: 100-continue", b"Content-Type: \xff",
    b"Authorization: Bearer \xff\xfe",
    b"Authorization: Bearer " + b"k" * 5000, b"Cookie: conquer_session=" + b"a.b.c" * 400, b"Cookie: \xff=\xfe;;=;",
    b"Host: evil.example", b"Host: [::1", b"Origin: null", b"X-Forwarded-For: " + b"1," * 2000, b"Connection: upgrade",
    b"Upgrade: websocket", b"Content-Encoding: gzip", b": empty", b"no colon", b"A: " + b"b" * 70_000,
    b"Range: bytes=0-",
    b"Ocp-Apim-Subscription-Key: \x00", b"X-Conquer-Token: " + b"\xc3" * 50, b"If-None-Match: *",
)  # fmt: skip
METHODS = (b"GET", b"POST", b"PUT", b"PATCH", b"HEAD", b"OPTIONS", b"TRACE", b"get", b"\xff", b"G" * 99)
_VALUE = re.compile(rb'-?\d+(?:\.\d+)?(?:e-?\d+)?|"(?:[^"\\]|\\.)*"|true|false|null')


def mutated(rng: random.Random, recorded: Sequence[bytes]) -> bytes:
    """One request made of the recorded ones; its length is mostly declared as it is, so that the body is read."""
    head, _, body = rng.choice(recorded).partition(b"\r\n\r\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.random()
        if kind < 0.45 and body:
            body = _values(rng, body)
        elif kind < 0.65 and body:
            body = damaged(rng, body, rng.choice(recorded).partition(b"\r\n\r\n")[2])
        elif kind < 0.85:
            head = _path(rng, head)
        elif kind < 0.95:
            lines = head.split(b"\r\n")
            lines.insert(rng.randint(1, len(lines)), rng.choice(HEADERS))
            head = b"\r\n".join(lines)
        else:
            head = damaged(rng, head, rng.choice(recorded))
    if rng.random() < 0.97:
        head = re.sub(rb"(?m)^Content-Length: \d+\r?$", b"Content-Length: %d" % len(body), head)
    return head + b"\r\n\r\n" + body


def _values(rng: random.Random, body: bytes) -> bytes:
    """A value of the JSON in place of which something else stands."""
    found = list(_VALUE.finditer(body))
    if not found:
        return damaged(rng, body, b"x")
    place = rng.choice(found)
    return body[: place.start()] + rng.choice(TOKENS) + body[place.end() :]


def damaged(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.randint(1, 40))
    kind = rng.randrange(6)
    if kind == 0 and data:
        at = min(at, len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:at] + data[at:end] * rng.randint(2, 50) + data[end:]
    if kind == 3:
        return data[:at] + other[rng.randrange(len(other) + 1) :]
    if kind == 4:
        return data[:at] + rng.choice(TOKENS) + data[at:]
    return data[:at]


def _path(rng: random.Random, head: bytes) -> bytes:
    line, _, rest = head.partition(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or not words[1].startswith(b"/"):
        return head
    path = words[1]
    at = rng.randint(1, len(path))
    kind = rng.randrange(4)
    if kind == 0:
        words[1] = path[:at] + rng.choice(PARTS) + path[at:]
    elif kind == 1:
        words[1] = path + rng.choice(PARTS)
    elif kind == 2:
        parts = path.split(b"/")
        parts[rng.randrange(1, len(parts))] = rng.choice((b"", b".", b"..", b"x" * 300, b"e1", b"keep-text", *PARTS))
        words[1] = b"/".join(parts)
    else:
        words[0] = rng.choice(
            (b"GET", b"POST", b"PUT", b"PATCH", b"HEAD", b"OPTIONS", b"TRACE", b"get", b"\xff", b"G" * 99)
        )
    return b" ".join(words) + b"\r\n" + rest
