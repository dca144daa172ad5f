"""Files as chunks of rows: delimited tables, JSON lines, JSON arrays and Parquet, compressed or not.

`sniff` finds out from the first bytes how a file is written, `chunks` reads it. A row that cannot be read is listed in
its chunk with the reason, so that the caller may refuse the file or count the row.
"""

import ast
import codecs
import csv
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from conquer.data.compression import DataError, Source, first_bytes, is_compressed, line_blocks, lines, name_of, pieces

ROWS = 1 << 14
"""Rows of a chunk: enough for columns to be worth while, few enough to stay in a cache."""
BYTES = 1 << 22
"""Bytes of a chunk, roughly: long texts make short chunks."""
PART_BYTES = 64 << 20
"""Bytes of the parts that `cut` makes."""
UTF8 = "utf-8"
LATIN = "cp1252"
"""What programs for Windows write; it contains all of Latin-1 that is used in practice."""
_DELIMITERS = (",", ";", "\t", "|")
_LOOK = 1 << 20
_LONGEST_CELL = (1 << 24) + (1 << 10)
_LARGEST_ARRAY = 1 << 30
_LONGEST_LITERAL = 1 << 20
_FIRST_ROWS = 256
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_LEDGER = re.compile(rb'"kind"\s*:\s*"open"')
_QUOTED = re.compile(r'"[^"]*"(\t"[^"]*")*')
_PREFLIB = re.compile(rb"#\s*(FILE NAME|TITLE|NUMBER ALTERNATIVES|DATA TYPE)\s*:", re.IGNORECASE)
_UNDECODED = re.compile("[\udc80-\udcff]")

Form = Literal["table", "jsonl", "json", "ledger", "parquet", "preflib"]
Row = dict[str, Any] | ValueError
"""Fields by name, or why there are none."""


class FormatError(DataError):
    """A file of a kind that is not read, such as a spreadsheet; the message says how to save it."""


class FilePart(NamedTuple):
    """A file and how it is written, or the lines of it that begin in the bytes [start, stop).

    `line` is the number of its first line, `header` the names of the columns where the part does not begin with them.
    `quoted`: a cell in quotes may hold delimiters and line ends.
    """

    source: Source
    form: Form
    delimiter: str = ","
    quoted: bool = True
    encoding: str = UTF8
    start: int = 0
    stop: int | None = None
    line: int = 1
    header: tuple[str, ...] = ()

    def at(self, line: int) -> str:
        """The place of a row, for messages."""
        return f"{name_of(self.source)}, {'row' if self.form in ('json', 'parquet') else 'line'} {line}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a file: the line each begins in, the names of the columns, and the cells of a column.

    `bad` gives, by position, the reasons why rows cannot be read; their cells are None.
    """

    lines: Sequence[int]
    names: Sequence[str]
    column: Callable[[str], list[Any]]
    bad: dict[int, str]
    objects: list[dict[str, Any]] | None = None
    """The rows of JSON as they came, each with its own fields; None: all rows have the columns `names`."""

    def rows(self) -> Iterator[tuple[int, Row]]:
        """(line, row) of every row."""
        if self.objects is not None:
            for k, line in enumerate(self.lines):
                yield line, ValueError(self.bad[k]) if k in self.bad else self.objects[k]
            return
        columns = {name: self.column(name) for name in self.names}
        for k, line in enumerate(self.lines):
            yield line, ValueError(self.bad[k]) if k in self.bad else {name: columns[name][k] for name in columns}


def sniff(source: str | os.PathLike[str] | bytes) -> FilePart:
    """A file, or the content of one, with the form its first bytes show.

    >>> sniff("Name;Preis\\nGrün;3,5\\n".encode("latin-1"))[1:5]
    ('table', ';', True, 'cp1252')
    """
    found: Source = source if isinstance(source, bytes) else Path(source)
    if isinstance(found, Path) and not found.is_file():
        raise DataError(f"{found} is a folder: name its files" if found.is_dir() else f"no file {found}")
    start, name = first_bytes(found, _LOOK), name_of(found)
    if start.startswith(_SPREADSHEETS):
        raise FormatError(f"{name} is a spreadsheet or a ZIP archive: save the sheet as CSV (in Excel: CSV UTF-8)")
    if start.startswith(_UTF16) or b"\x00" in start[:4]:
        raise FormatError(f"{name} is UTF-16 or not a text: save it as UTF-8 (in Excel: CSV UTF-8)")
    if start.startswith(b"PAR1"):
        return FilePart(found, "parquet")
    encoding = encoding_of(start)
    start = start.removeprefix(codecs.BOM_UTF8).lstrip()
    if not start:
        raise FormatError(f"{name} is empty")
    first = start.partition(b"\n")[0]
    if start.startswith(b"{"):
        return FilePart(found, "ledger" if _LEDGER.search(first[:4096]) else "jsonl", encoding=encoding)
    if start.startswith(b"["):
        return FilePart(found, "json", encoding=encoding)
    if _PREFLIB.search(start[:4096]):
        return FilePart(found, "preflib", encoding=encoding)
    header = decoded(first, encoding)
    delimiter = delimiter_of(header)
    # Tab-separated files quote nothing, as amazon_reviews_us does not, unless the header itself is quoted.
    quoted = delimiter != "\t" or _QUOTED.fullmatch(header.rstrip()) is not None
    return FilePart(found, "table", delimiter, quoted, encoding)


def encoding_of(start: bytes) -> str:
    """UTF-8, or Windows' Latin-1 where most non-ASCII lines are not valid UTF-8."""
    if start.isascii():
        return UTF8
    balance = 0
    every = start.split(b"\n")
    for line in every[:-1] if len(every) > 1 else every:  # the last line may be cut inside a character
        if not line.isascii():
            balance += 1 if _is_utf8(line) else -1
    return UTF8 if balance >= 0 else LATIN


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def decoded(line: bytes, encoding: str) -> str:
    """A line as text; bytes that are no UTF-8 become surrogates, so that their row can be refused."""
    return line.decode(encoding, "surrogateescape" if encoding == UTF8 else "replace")


def delimiter_of(header: str) -> str:
    """Comma, semicolon, tab or bar, whichever is most frequent in the header outside quotes."""
    outside = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=outside.count)


def point(cell: str) -> str:
    """A number with a decimal comma, as tables with semicolons have it, with a point; any other cell as it is."""
    whole, comma, rest = cell.strip().partition(",")
    return f"{whole}.{rest}" if comma and whole.removeprefix("-").isdecimal() and rest.isdecimal() else cell


def chunks(part: FilePart) -> Iterator[Chunk]:
    """The rows of a part of a file, up to 16,384 at a time."""
    if part.form == "parquet":
        return _parquet(part.source)
    if part.form == "json":
        return from_rows(_array(part))
    if part.form in ("jsonl", "ledger"):
        meter = _Meter()
        return from_rows(_json_lines(part, meter), meter)
    return _table(part)


def cut(part: FilePart, size: int = PART_BYTES) -> list[FilePart]:
    """The file in parts of about `size` bytes, the same on every machine.

    Small, compressed and non-line files, and tables with cells of several lines, are not split.
    """
    path = part.source
    assert isinstance(path, Path)
    total = path.stat().st_size
    if total <= size or part.form not in ("table", "jsonl") or is_compressed(path):
        return [part]
    header = tuple(_header(part, _reader(part, _Meter()))) if part.form == "table" else ()
    quoted = part.form == "table" and part.quoted
    parts, start, line, stop = [], 0, 1, 0
    for number, text in enumerate(lines(path), 2):
        if quoted and text.count(b'"') % 2:
            return [part]
        stop += len(text)
        if stop - start >= size or stop == total:
            parts.append(part._replace(start=start, stop=stop, line=line, header=header if start else ()))
            start, line = stop, number
    return parts


@dataclass(slots=True)
class _Meter:
    """How much has been read: bytes, and whether some of them were no UTF-8."""

    bytes: int = 0
    damaged: bool = False


def from_rows(rows: Iterator[tuple[int, Any]], meter: _Meter | None = None) -> Iterator[Chunk]:
    """Chunks of (line, row) pairs; everything but a dict is a bad row."""
    meter = meter or _Meter()
    while some := _some(rows, meter):
        found = [row if isinstance(row, dict) else {} for _, row in some]
        bad = {
            k: str(row) if isinstance(row, ValueError) else f"expected an object with fields, got {row!r:.60}"
            for k, (_, row) in enumerate(some)
            if not isinstance(row, dict)
        }
        names = list(dict.fromkeys(name for row in found for name in row))
        yield Chunk([line for line, _ in some], names, _fields_of(found), bad, found)


def _some(rows: Iterator[tuple[int, Any]], meter: _Meter) -> list[tuple[int, Any]]:
    some, enough = [], meter.bytes + BYTES
    for row in islice(rows, ROWS):
        some.append(row)
        if meter.bytes > enough:
            break
    return some


def _fields_of(rows: list[dict[str, Any]]) -> Callable[[str], list[Any]]:
    return lambda name: [row.get(name) for row in rows]


def _json_lines(part: FilePart, meter: _Meter) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines(part.source, part.start, part.stop), part.line):
        meter.bytes += len(line)
        if line.strip():
            yield number, _object(line if part.encoding == UTF8 else decoded(line, part.encoding).encode())


def _object(line: bytes) -> Any:
    try:
        return json.loads(line.removeprefix(codecs.BOM_UTF8))
    except (ValueError, RecursionError) as error:
        # McAuley's files of 2014 and before hold Python dictionaries: single quotes, True and None. A syntax tree takes
        # a hundred times its text, so a long line is not one of them.
        try:
            if len(line) > _LONGEST_LITERAL:
                raise ValueError("too long")
            # As JSON would hold it: every key is a text.
            return json.loads(json.dumps(ast.literal_eval(line.decode().strip())))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return ValueError(f"not a JSON object ({error!s:.100})")


def _array(part: FilePart) -> Iterator[tuple[int, Any]]:
    """(number, row) of a JSON array, which is read as one. A string is a row with that text."""
    parts, size = [], 0
    for piece in pieces(part.source):
        parts.append(piece)
        size += len(piece)
        if size > _LARGEST_ARRAY:
            raise DataError(f"{name_of(part.source)}: a JSON array of more than 1 GB; save it as JSON lines")
    try:
        text = b"".join(parts).decode(part.encoding, "strict" if part.encoding == UTF8 else "replace")
        rows = json.loads(text.removeprefix("\ufeff"), parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name_of(part.source)}: the JSON array is broken ({error!s:.100})") from None
    return ((number, {"text": row} if isinstance(row, str) else row) for number, row in enumerate(rows, 1))


def _integer(digits: str) -> int | float:
    """Python refuses integers of more than 4,300 digits; one such number must not end the whole array."""
    return int(digits) if len(digits) < 400 else float(digits)


def _table(part: FilePart) -> Iterator[Chunk]:
    meter = _Meter()
    reader = _reader(part, meter)
    header = list(part.header) or _header(part, reader)
    blank = [None] * len(header)
    line, read = part.line + reader.line_num, 0
    while True:
        rows: list[list[Any]] = []
        bad: dict[int, str] = {}
        # As many rows as fit, judged by the length of those before.
        many = max(64, min(ROWS, BYTES * read // max(1, meter.bytes))) if read else _FIRST_ROWS
        before, first = reader.line_num, line
        try:
            rows.extend(islice(reader, many))
        except csv.Error as error:
            # A quote that is not closed takes the lines up to the next quote with it.
            taken = reader.line_num - before - sum(map(_line_count, rows))
            for lost in range(max(1, taken)):
                bad[len(rows)] = _reason(error) if lost == 0 else f"part of the broken row {lost} lines above"
                rows.append(blank)
        if not rows:
            return
        read += len(rows)
        line = part.line + reader.line_num
        places: Sequence[int] = range(first, first + len(rows))
        if line - first != len(rows):  # cells of several lines
            places = list(accumulate(map(_line_count, rows[:-1]), initial=first))
        if {*map(len, rows)} != {len(header)}:
            kept = [k for k, row in enumerate(rows) if row]
            rows, places = [rows[k] for k in kept], [places[k] for k in kept]
            now = {k: place for place, k in enumerate(kept)}
            bad = {now[k]: reason for k, reason in bad.items()}
            for k, row in enumerate(rows):
                if len(row) != len(header):
                    bad[k], rows[k] = f"expected {len(header)} columns, got {len(row)}", blank
        if meter.damaged:
            _refuse_undecoded(rows, header, bad)
        yield Chunk(places, header, _cells_of(part, rows, header), bad)


def _line_count(row: Sequence[str | None]) -> int:
    return 1 + sum(cell.count("\n") for cell in row if cell)


def _refuse_undecoded(rows: list[list[Any]], header: list[str], bad: dict[int, str]) -> None:
    for k, row in enumerate(rows):
        for name, cell in zip(header, row, strict=True):
            if cell and (found := _UNDECODED.search(cell)):
                bad.setdefault(k, f"column {name!r:.60} is not UTF-8 at character {found.start()}: save it as UTF-8")


def _reader(part: FilePart, meter: _Meter) -> Any:
    # The limit is the process's own and is only ever raised: the usual 131,072 characters are too few for long texts.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if part.quoted else csv.QUOTE_NONE
    return csv.reader(_decoded_lines(part, meter), delimiter=part.delimiter, quoting=quoting, strict=part.quoted)


def _decoded_lines(part: FilePart, meter: _Meter) -> Iterator[str]:
    mark = part.start == 0
    for some in line_blocks(part.source, part.start, part.stop):
        meter.bytes += len(some)
        try:
            text = some.decode(part.encoding, "strict" if part.encoding == UTF8 else "replace")
        except UnicodeDecodeError:
            text, meter.damaged = decoded(some, UTF8), True
        # Before the first cell is read: a quote after the mark would be a letter.
        text, mark = text.removeprefix("\ufeff") if mark else text, False
        whole = text.split("\n")
        last = whole.pop()
        yield from [line + "\n" for line in whole]
        if last:
            yield last


def _header(part: FilePart, reader: Any) -> list[str]:
    try:
        names: list[str] = next(filter(None, reader), [])
    except csv.Error as error:
        raise FormatError(f"{part.at(reader.line_num)}: the header cannot be read ({_reason(error)})") from None
    return [name.strip().removeprefix("#").strip() for name in names]


def _reason(error: csv.Error) -> str:
    return r"lines must end in \n or \r\n, not in \r alone" if "new-line" in str(error) else str(error)


def _cells_of(part: FilePart, rows: list[list[Any]], header: list[str]) -> Callable[[str], list[Any]]:
    def column(name: str) -> list[Any]:
        if header.count(name) > 1:
            raise DataError(f"{part.at(1)}: two columns are called {name!r:.60}; rename one of them")
        return list(map(itemgetter(header.index(name)), rows))

    return column


def _parquet(source: Source) -> Iterator[Chunk]:
    name = name_of(source)
    try:
        import polars as pl
    except ImportError:
        raise ImportError(f"{name}: Parquet needs polars; run: pip install 'conquer-bandits[study]'") from None
    assert isinstance(source, Path)
    try:
        scan = pl.scan_parquet(source)
        total = int(scan.select(pl.len()).collect().item())
        step = max(64, min(ROWS, BYTES * total // source.stat().st_size))
        for start in range(0, total, step):
            batch = scan.slice(start, step).collect()
            yield Chunk(range(start + 1, start + 1 + len(batch)), batch.columns, _lists_of(batch), {})
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise DataError(f"{name}: not a readable Parquet file ({error!s:.200})") from None


def _lists_of(batch: Any) -> Callable[[str], list[Any]]:
    return lambda name: list(batch[name].to_list())
