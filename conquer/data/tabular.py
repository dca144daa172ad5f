"""Rows of the files that are not JSON: delimited tables, Parquet, and the two old block formats."""

import codecs
import csv
import html
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from conquer.data.compression import NoReviewsError, ReviewFileError, UnreadableError, lines
from conquer.data.dialect import decoded, delimiter_of, quoting_of, start_of

Rows = Iterator[tuple[int, Any]]
Wanted = Callable[[Iterable[str]], str | None]
"""Says what is missing among the names of the columns, or None."""
_BATCH = 50_000


def delimited(path: Path, missing: Wanted) -> Rows:
    """(line, row) of a table with a header that has a text and a rating column, separated as its header is.

    It may be UTF-8 or Latin-1. Tab-separated files quote nothing, as amazon_reviews_us does.
    """
    begun, encoding = start_of(path)
    first = decoded(begun.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n").partition(b"\n")[0], encoding)
    delimiter = delimiter_of(first)
    texts = (decoded(line, encoding).removeprefix("\ufeff") for line in lines(path))
    reader = csv.reader(texts, delimiter=delimiter, strict=delimiter != "\t", quoting=quoting_of(delimiter))
    try:
        header = [name.strip() for name in next(filter(None, reader), [])]
    except csv.Error as error:
        reason = r"lines must end in \n or \r\n, not in \r alone" if "new-line" in str(error) else error
        raise NoReviewsError(f"{path}, line {reader.line_num}: no header of a table ({reason})") from None
    if lack := missing(header):
        raise NoReviewsError(f"{path}, line {reader.line_num}: the header {', '.join(header)!r:.200} has {lack}")
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # A quote that is never closed takes the lines up to the next quote with it.
            yield start, UnreadableError(_place(error, start, reader.line_num), reader.line_num + 1 - start)
            continue
        if not cells:
            continue
        if len(cells) != len(header):
            reason = f"expected {len(header)} columns, got {len(cells)}"
            yield start, UnreadableError(_place(reason, start, reader.line_num), reader.line_num + 1 - start)
        else:
            yield start, dict(zip(header, cells, strict=True))


def _place(reason: object, start: int, end: int) -> str:
    return f"{reason}" if end == start else f"{reason}, up to line {end}"


def parquet(path: Path, missing: Wanted) -> Rows:
    """(row number, row) of a Parquet file, a batch at a time."""
    import polars as pl

    try:
        columns = pl.scan_parquet(path).collect_schema().names()
        if lack := missing(columns):
            raise NoReviewsError(f"{path}: the table of {', '.join(columns)!r:.200} has {lack}")
        total = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        for start in range(0, total, _BATCH):
            batch = pl.scan_parquet(path).slice(start, _BATCH).collect()
            for offset, row in enumerate(batch.iter_rows(named=True)):
                yield start + offset + 1, row
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ReviewFileError(f"{path}: not a readable Parquet file ({error})") from None


_TAG = re.compile(r"<(/?)([a-z_]+)>\s*$")


def pseudo_xml(path: Path) -> Rows:
    """(line, row) of Blitzer's files: <review> blocks of <name>, text, </name> lines; not real XML."""
    row: dict[str, str] | None = None
    name, start = None, 0
    body: list[str] = []
    for number, raw in enumerate(lines(path), 1):
        line = _latin(raw)
        tag = _TAG.fullmatch(line.strip())
        if tag and tag.group(2) == "review":
            if row is not None and (name is not None or not tag.group(1)):
                yield start, UnreadableError(f"the review is not closed before line {number}")
            elif row is not None:
                yield start, row
            row, name, start = (None if tag.group(1) else {}), None, number
        elif row is None:
            if line.strip():
                yield number, UnreadableError(f"expected <review>, got {line.strip()!r:.60}")
        elif tag and name is None and not tag.group(1):
            name, body = tag.group(2), []
        elif tag and tag.group(1) and tag.group(2) == name:
            key = {"review_text": "text", "rating": "stars"}.get(name, name)
            row.setdefault(key, _unescaped("".join(body)).strip())
            name = None
        elif name is not None:
            body.append(line)
    if row is not None:
        yield start, UnreadableError("the file ends inside this review")


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:
        # A character reference of more than 4,300 digits is none.
        return text


def blocks(path: Path) -> Rows:
    """(line, row) of the collection of 2013: `key: value` lines, an empty line after each review."""
    row: dict[str, str] = {}
    start = 1
    number = 0
    for number, raw in enumerate(lines(path), 1):
        line = _latin(raw).strip()
        if not line:
            if row:
                yield start, row
            row, start = {}, number + 1
            continue
        key, colon, value = line.partition(": ")
        if colon:
            row[key] = value
        elif not line.endswith(":"):
            yield number, UnreadableError(f"expected 'key: value', got {line!r:.60}")
    if row:
        yield start, row


def _latin(raw: bytes) -> str:
    """Both old formats come as UTF-8 and as Latin-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
