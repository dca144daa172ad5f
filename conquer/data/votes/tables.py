"""Files of votes as chunks of rows, streamed: CSV, TSV, JSON lines, JSON arrays, Parquet, whatever compressed them."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from conquer.data.compression import first_bytes
from conquer.data.votes.arrays import array_rows
from conquer.data.votes.parts import DELIMITERS, FilePart, line_blocks, lines_of
from conquer.data.votes.vote import VoteError

ROWS = 1 << 14
"""Rows of a chunk: enough for whole columns to be worth while, few enough to stay in a cache."""
BYTES = 1 << 22
"""Bytes of a chunk's rows, about: long texts make short chunks."""
LONGEST_CELL = (1 << 24) + (1 << 10)
"""Characters of a cell: a text of the longest kind, and space around it."""
_OPENING = re.compile(rb'"kind"\s*:\s*"open"')
_QUOTED = re.compile(rb'"[^"]*"(\t"[^"]*")*')
_PREFLIB = re.compile(rb"#\s*(FILE NAME|TITLE|NUMBER ALTERNATIVES|DATA TYPE)\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table: where each begins, the columns' names, and each column's cells.

    `bad` are the rows that are none, by position, each with its reason; their cells are None.
    """

    lines: Sequence[int]
    names: Sequence[str]
    column: Callable[[str], list[Any]]
    bad: dict[int, str]


@dataclass(slots=True)
class Meter:
    """How many bytes have been read."""

    bytes: int = 0


def form_of(path: Path) -> str:
    """What kind of file it is, by its first bytes: one of DELIMITERS, jsonl, ledger, json, parquet or preflib."""
    start = first_bytes(path)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in start[:4]:
        raise VoteError(f"{path}, line 1: not UTF-8 but UTF-16 or no text at all; save it as UTF-8")
    if start.startswith(b"PAR1"):
        return "parquet"
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise VoteError(f"{path}: the file is empty")
    if start.startswith(b"{"):
        return "ledger" if _OPENING.search(start.split(b"\n", 1)[0]) else "jsonl"
    if re.match(rb"\[\s*(\{|\]|$)", start):
        return "json"
    if _PREFLIB.search(start):
        return "preflib"
    header = start.split(b"\n", 1)[0]
    if b"\t" in header:
        return "quoted tsv" if _QUOTED.fullmatch(header.rstrip()) else "tsv"
    return "semicolons" if header.count(b";") > header.count(b",") else "csv"


def chunks(part: FilePart) -> Iterator[Chunk]:
    """The rows of a part of a file, some thousand at a time."""
    if part.form == "parquet":
        return _parquet(part.path)
    meter = Meter()
    if part.form == "json":
        return from_rows(_metered(part, meter), meter)
    if part.form in ("jsonl", "ledger"):
        return from_rows(_json_lines(part, meter), meter)
    return _delimited(part)


def header_of(path: Path, form: str) -> list[str]:
    """The names of a delimited file's columns."""
    return _header(path, _reader(FilePart(path, form), Meter()))


def _reader(part: FilePart, meter: Meter) -> Any:
    # Of the whole process, and only ever raised: the usual 131,072 characters are fewer than a long text has.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    if part.form == "tsv":
        return csv.reader(_decoded(part, meter), delimiter="\t", quoting=csv.QUOTE_NONE)
    return csv.reader(_decoded(part, meter), delimiter=DELIMITERS[part.form], strict=True)


def _reason(error: csv.Error) -> str:
    return r"lines must end in \n or \r\n, not in \r alone" if "new-line" in str(error) else str(error)


def _decoded(part: FilePart, meter: Meter) -> Iterator[str]:
    """Every line, decoded many at a time; a line that is not UTF-8 is named."""
    number, mark = part.line, part.start == 0
    for some in line_blocks(part):
        meter.bytes += len(some)
        try:
            text = some.decode("utf-8")
        except UnicodeDecodeError as error:
            line = number + some.count(b"\n", 0, error.start)
            raise VoteError(f"{part.path}, line {line}: not UTF-8 ({error.reason})") from None
        # Before the first cell is read: within it, a quote after the mark would be a letter.
        text, mark = text.removeprefix("\ufeff") if mark else text, False
        whole = text.split("\n")
        last = whole.pop()
        yield from [line + "\n" for line in whole]
        if last:
            yield last
        number += len(whole)


def _header(path: Path, reader: Any) -> list[str]:
    try:
        names: list[str] = next(filter(None, reader), [])
    except csv.Error as error:
        raise VoteError(f"{path}, line {reader.line_num}: no header of a table ({_reason(error)})") from None
    names = [name.strip().removeprefix("#").strip() for name in names]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise VoteError(f"{path}, line {reader.line_num}: columns need different names, got {twice!r:.200} twice")
    return names


def _delimited(part: FilePart) -> Iterator[Chunk]:
    meter = Meter()
    reader = _reader(part, meter)
    header = list(part.header) or _header(part.path, reader)
    width = len(header)
    places = {name: place for place, name in enumerate(header)}
    blank = [None] * width
    line, read = part.line + reader.line_num, 0
    while True:
        rows: list[list[Any]] = []
        bad: dict[int, str] = {}
        # As many rows as fit: by how long they have been so far.
        many = max(64, min(ROWS, BYTES * read // max(1, meter.bytes))) if read else 256
        before = reader.line_num
        try:
            rows.extend(islice(reader, many))
        except csv.Error as error:
            bad[len(rows)] = _reason(error)
            rows.append(blank)
        if not rows:
            return
        read += len(rows)
        lines: Sequence[int] = range(line, line + len(rows))
        if reader.line_num - before != len(rows):  # cells of several lines
            sizes = [1 + sum(cell.count("\n") for cell in row if cell) for row in rows]
            lines = list(accumulate(sizes[:-1], initial=line))
        line = part.line + reader.line_num
        if {*map(len, rows)} != {width}:
            kept = [k for k, row in enumerate(rows) if row]
            rows, lines = [rows[k] for k in kept], [lines[k] for k in kept]
            bad = {kept.index(k): reason for k, reason in bad.items()}
            for k, row in enumerate(rows):
                if len(row) != width:
                    bad[k], rows[k] = f"expected {width} columns, got {len(row)}", blank
        yield Chunk(lines, header, _columns_of(rows, places), bad)


def _columns_of(rows: list[list[Any]], places: dict[str, int]) -> Callable[[str], list[Any]]:
    return lambda name: list(map(itemgetter(places[name]), rows))


def _metered(part: FilePart, meter: Meter) -> Iterator[tuple[int, Any]]:
    for line, size, row in array_rows(part.path):
        meter.bytes += size
        yield line, row


def _json_lines(part: FilePart, meter: Meter) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines_of(part), part.line):
        meter.bytes += len(line)
        if line.strip():
            yield number, _object(line)


def _object(line: bytes) -> Any:
    try:
        return json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        return ValueError(f"not a JSON object ({error!s:.100})")


def from_rows(rows: Iterator[tuple[int, Any]], meter: Meter | None = None) -> Iterator[Chunk]:
    """Chunks of (line, mapping) pairs; anything but a mapping is a bad row. `meter`: how much was read of them."""
    meter = meter or Meter()
    while some := _some(rows, meter):
        lines = [line for line, _ in some]
        found = [row if isinstance(row, dict) else {} for _, row in some]
        bad = {
            k: str(row) if isinstance(row, ValueError) else f"expected an object with fields, got {row!r:.60}"
            for k, (_, row) in enumerate(some)
            if not isinstance(row, dict)
        }
        names = list(dict.fromkeys(name for row in found for name in row))
        yield Chunk(lines, names, _fields_of(found), bad)


def _some(rows: Iterator[tuple[int, Any]], meter: Meter) -> list[tuple[int, Any]]:
    some, enough = [], meter.bytes + BYTES
    for row in islice(rows, ROWS):
        some.append(row)
        if meter.bytes > enough:
            break
    return some


def _fields_of(rows: list[dict[str, Any]]) -> Callable[[str], list[Any]]:
    return lambda name: [row.get(name) for row in rows]


def _parquet(path: Path) -> Iterator[Chunk]:
    try:
        import polars as pl
    except ImportError:
        raise ImportError(f"{path}: Parquet needs polars; run: pip install 'conquer-bandits[study]'") from None
    try:
        scan = pl.scan_parquet(path)
        total = int(scan.select(pl.len()).collect().item())
        step = max(64, min(ROWS, BYTES * total // path.stat().st_size))
        for start in range(0, total, step):
            batch = scan.slice(start, step).collect()
            yield Chunk(range(start + 1, start + 1 + len(batch)), batch.columns, _lists_of(batch), {})
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise VoteError(f"{path}: not a readable Parquet file ({error!s:.200})") from None


def _lists_of(batch: Any) -> Callable[[str], list[Any]]:
    return lambda name: list(batch[name].to_list())
