"""Files of items to rows, a mapping each: JSON lines, an array of JSON objects or texts, or a table with a header."""

from collections.abc import Iterator
from typing import Any

import msgspec

from conquer.data.compression import is_compressed
from conquer.data.tables import UTF8, FilePart, chunks, point, sniff
from conquer.service.errors import RefusalError, invalid
from conquer.service.model import decoding

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
    if is_compressed(data):
        raise invalid("the file is compressed: upload it as it is")
    try:
        part = sniff(data)
        rows = list(_cells(part) if part.form in ("table", "preflib") else _json_rows(part, data))
    except RefusalError:
        raise
    except ValueError as error:
        raise invalid(str(error)) from None
    if not rows:
        raise invalid("the file has no items")
    return rows, part.form not in ("json", "jsonl", "ledger")


def _json_rows(part: FilePart, data: bytes) -> Iterator[FileRow]:
    text = data.decode("utf-8-sig", "surrogateescape")
    if part.encoding != UTF8 or not _is_utf8(text):
        line = next(number for number, line in enumerate(text.split("\n"), 1) if not _is_utf8(line))
        raise invalid(f"the file is not UTF-8 in line {line}, and JSON must be: save it as UTF-8")
    return _json_array(text) if part.form == "json" else _json_lines(text)


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


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


def _cells(part: FilePart) -> Iterator[FileRow]:
    for chunk in chunks(part):
        for number, row in chunk.rows():
            if isinstance(row, ValueError):
                raise invalid(f"line {number}: {row}")
            # Where semicolons separate, a comma is what a point is elsewhere.
            yield {name: point(cell) for name, cell in row.items()} if part.delimiter == ";" else row
