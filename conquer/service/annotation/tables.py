"""Files of items to rows, a mapping each: JSON lines, an array of JSON objects or texts, or a table with a header."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import msgspec

from conquer.data.dialect import UTF8, DialectError, decoded, delimiter_of, encoding_of, quoting_of
from conquer.service.errors import RefusalError, invalid
from conquer.service.http import decoding

FileRow = dict[str, Any]
_row = msgspec.json.Decoder(FileRow).decode
_array = msgspec.json.Decoder(list[FileRow | str]).decode
_DEPTH = 8
"""A group, its items, an item, its features: no row is nested deeper than half of it."""


def read_rows(data: bytes) -> tuple[list[FileRow], bool]:
    """(rows, whether they are cells of a table, all of them texts). A text in an array is a row with that text.

    Tables may be separated by commas, semicolons or tabs, and be UTF-8 or Latin-1; JSON is UTF-8.

    >>> read_rows(b'["good tea", {"id": "b", "text": "bad tea"}]')
    ([{'text': 'good tea'}, {'id': 'b', 'text': 'bad tea'}], False)
    >>> read_rows("Name;Preis\\nGrün;3,5\\n".encode("latin-1"))
    ([{'Name': 'Grün', 'Preis': '3.5'}], True)
    """
    try:
        encoding = encoding_of(data)
    except DialectError as error:
        raise invalid(str(error)) from None
    first = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not first:
        raise invalid("the file is empty")
    if first in b"{[" and encoding != UTF8:
        raise invalid("the file is not UTF-8, and JSON must be: save it as UTF-8")
    text = decoded(data, encoding).removeprefix("\ufeff")
    if encoding == UTF8 and not _is_whole(text):
        raise invalid(f"the file is not UTF-8 in line {_broken_line(text)}: save it as UTF-8")
    rows = list(_json_array(text) if first == b"[" else _json_lines(text) if first == b"{" else _cells(text))
    if not rows:
        raise invalid("the file has no items")
    return rows, first not in b"{["


def _is_whole(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _broken_line(text: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if not _is_whole(line))


def _json_array(text: str) -> Iterator[FileRow]:
    for number, row in enumerate(_read(_array, text, "the array"), 1):
        if isinstance(row, dict) and not _shallow(row, _DEPTH):
            raise invalid(f"item {number} of the array is nested deeper than {_DEPTH}")
        yield {"text": row} if isinstance(row, str) else row


def _json_lines(text: str) -> Iterator[FileRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = _read(_row, line, f"line {number}")
        if not _shallow(row, _DEPTH):
            raise invalid(f"line {number} is nested deeper than {_DEPTH}")
        yield row


def _read(decode: Any, text: str, what: str) -> Any:
    try:
        return decoding.decoded(decode, text.encode(), what)
    except RefusalError as refusal:
        raise invalid(refusal.message) from None


def _shallow(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return not isinstance(value, list) or (depth > 0 and all(_shallow(one, depth - 1) for one in value))


def _cells(text: str) -> Iterator[FileRow]:
    delimiter = delimiter_of(text.lstrip("\r\n").partition("\n")[0])
    reader = csv.DictReader(
        io.StringIO(text), strict=delimiter != "\t", delimiter=delimiter, quoting=quoting_of(delimiter)
    )
    try:
        for number, row in enumerate(reader, 2):
            if None in row or None in row.values():
                raise invalid(f"line {number} has another number of columns than the header")
            # Where semicolons separate, a comma is what a point is elsewhere.
            yield {name: _pointed(cell) for name, cell in row.items()} if delimiter == ";" else dict(row)
    except csv.Error as error:
        raise invalid(f"the file is neither JSON nor a table with a header: {error}") from None


def _pointed(cell: str) -> str:
    whole, comma, rest = cell.strip().partition(",")
    return f"{whole}.{rest}" if comma and whole.removeprefix("-").isdecimal() and rest.isdecimal() else cell
