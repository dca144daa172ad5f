"""How a text file is written: its encoding and, where it is a table, what separates its columns."""

import csv
import re
from pathlib import Path
from typing import Literal

from conquer.data.compression import NoReviewsError, first_bytes

_LOOK = 1 << 20
"""Bytes that tell how a file is written."""
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_DELIMITERS = (",", ";", "\t", "|")
UTF8 = "utf-8"
LATIN = "cp1252"
"""What programs for Windows write; all of Latin-1 that is ever written is in it."""


class DialectError(ValueError):
    """A file that is written in a way that is not read; the message says how to write it."""


def encoding_of(start: bytes) -> str:
    """UTF-8, or Latin-1 as Windows has it, where more lines of `start` say so; a last character cut off does not count.

    >>> encoding_of("Straße".encode()), encoding_of("Straße".encode("latin-1")), encoding_of(b"plain")
    ('utf-8', 'cp1252', 'utf-8')
    """
    if start.startswith(_MARKS):
        raise DialectError("the file is UTF-16: save it as UTF-8 (in Excel: CSV UTF-8)")
    votes = 0
    lines = start.split(b"\n")
    for line in lines[:-1] if len(lines) > 1 else lines:
        if not line.isascii():
            votes += 1 if _is_utf8(line) else -1
    return UTF8 if votes >= 0 else LATIN


def start_of(path: Path) -> tuple[bytes, str]:
    """The first megabyte of a file, and its encoding."""
    start = first_bytes(path, _LOOK)
    try:
        return start, encoding_of(start)
    except DialectError as error:
        raise NoReviewsError(f"{path}: {error}") from None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def decoded(line: bytes, encoding: str) -> str:
    """A line as text; bytes that mean nothing stay apart as surrogates, so that the row they are in can be named.

    >>> decoded(b"Stra\\xdfe", LATIN), decoded(b"Stra\\xdfe", UTF8).isprintable()
    ('Straße', False)
    """
    return line.decode(encoding, "surrogateescape" if encoding == UTF8 else "replace")


def delimiter_of(header: str) -> str:
    """What separates the columns of a table with this first line: comma, semicolon, tab or bar, whichever is most.

    >>> delimiter_of("id;text;stars"), delimiter_of('id,"a;b;c;d",text'), delimiter_of("text")
    (';', ',', ',')
    """
    outside = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=outside.count)


def quoting_of(delimiter: str) -> Literal[0, 3]:
    """Tables with tabs quote nothing, as amazon_reviews_us does; in all others a quoted cell may hold anything."""
    return csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
