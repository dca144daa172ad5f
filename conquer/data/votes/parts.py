"""Parts of files: whole files, or ranges of bytes that end with a line, cut the same way on every machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from conquer.data.compression import check_length, is_compressed, lines, pieces

PART_BYTES = 64 << 20
_PIECE = 4 << 20
DELIMITERS = {"csv": ",", "semicolons": ";", "tsv": "\t", "quoted tsv": "\t"}
"""What separates the cells of each form of a table. A "tsv" quotes nothing; one whose header is quoted is another."""


class FilePart(NamedTuple):
    """A file, or the lines of it that begin in [start, stop); `line` is the first one's number.

    `header`: the names of a delimited file's columns where the part does not begin with them.
    """

    path: Path
    form: str
    start: int = 0
    stop: int | None = None
    line: int = 1
    header: tuple[str, ...] = ()


def lines_of(part: FilePart) -> Iterator[bytes]:
    """Every line of the part, with its line end."""
    if part.start == 0 and part.stop is None:
        yield from lines(part.path)
        return
    with part.path.open("rb") as file:
        file.seek(part.start)
        left = (part.stop or part.path.stat().st_size) - part.start
        for line in file:
            if left <= 0:
                return
            left -= len(line)
            yield line


def line_blocks(part: FilePart) -> Iterator[bytes]:
    """Whole lines of the part, about a megabyte of them at a time."""
    rest = b""
    for piece in pieces(part.path, part.start, part.stop):
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        else:
            rest += piece
            check_length(part.path, rest)
    if rest:
        yield rest


def cut(part: FilePart, header: tuple[str, ...], size: int = PART_BYTES) -> list[FilePart]:
    """The part as several of about `size` bytes; itself where it is small, compressed, or no lines can be told apart.

    A table in which a line has an odd number of quotes may hold a cell of several lines, so it stays whole.
    """
    total = part.path.stat().st_size
    if total <= size or part.form not in (*DELIMITERS, "jsonl") or is_compressed(part.path):
        return [part]
    quoted = part.form in DELIMITERS and part.form != "tsv"
    parts, start, line, seen, number = [], 0, 1, 0, 1
    open_quotes = 0
    with part.path.open("rb") as file:
        while piece := file.read(_PIECE):
            codes = np.frombuffer(piece, np.uint8)
            ends = np.flatnonzero(codes == 10)
            if quoted:
                quotes = np.cumsum(codes == 34)
                at_ends = quotes[ends] + open_quotes
                if (at_ends % 2).any():
                    return [part]
                open_quotes = (open_quotes + int(quotes[-1])) % 2
            goal = start + size - seen
            while ends.size and goal < len(piece):
                place = int(np.searchsorted(ends, max(goal - 1, 0)))
                if place == ends.size:
                    break
                stop, after = seen + int(ends[place]) + 1, number + place + 1
                if stop >= total:
                    break
                parts.append(part._replace(start=start, stop=stop, line=line, header=header if start else ()))
                start, line = stop, after
                goal = start + size - seen
            seen, number = seen + len(piece), number + ends.size
    parts.append(part._replace(start=start, stop=total, line=line, header=header if start else ()))
    return parts
