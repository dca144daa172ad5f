"""The bytes of a file, whatever compresses it: its beginning, all of it, or whole lines as a stream."""

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

_CHUNK = 1 << 20
_LONGEST_LINE = 64 << 20
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_READERS: dict[bytes, Callable[[IO[bytes]], Any]] = {_GZIP: gzip.open, _XZ[:2]: lzma.open}
COMPRESSED = (".gz", ".xz", ".zst")

Source = Path | bytes
"""A file, or the content of one."""


class DataError(ValueError):
    """Data that cannot be read. The message names the file, the line and the remedy where they are known."""


def name_of(source: Source) -> str:
    """The name used in error messages."""
    return "the file" if isinstance(source, bytes) else str(source)


def first_bytes(source: Source, count: int = 4096) -> bytes:
    """The first bytes of the decompressed content."""
    return next(pieces(source, count), b"")[:count]


def content(source: Source) -> bytes:
    """The decompressed content."""
    return b"".join(pieces(source))


def is_compressed(source: Source) -> bool:
    """Whether the first bytes are those of gzip, xz or zstandard."""
    with _open(source) as raw:
        magic = raw.read(6)
    return magic.startswith(_ZSTD) or magic[:2] in _READERS


def line_blocks(source: Source, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Whole lines with their ends, about a megabyte at a time; [start, stop): bytes of an uncompressed file."""
    rest, number = b"", 1
    for piece in pieces(source) if start == 0 and stop is None else _range(source, start, stop):
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            number += piece.count(b"\n")
            rest = piece[end:]
        else:
            rest += piece
            if len(rest) > _LONGEST_LINE:
                raise DataError(f"{name_of(source)}, line {number}: longer than {_LONGEST_LINE} bytes")
    if rest:
        yield rest


def lines(source: Source, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Every line with its end.

    >>> list(lines(gzip.compress(b"one\\ntwo")))
    [b'one\\n', b'two']
    """
    for block in line_blocks(source, start, stop):
        yield from io.BytesIO(block)


def _open(source: Source) -> IO[bytes]:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _range(source: Source, start: int, stop: int | None) -> Iterator[bytes]:
    with _open(source) as raw:
        raw.seek(start)
        while chunk := raw.read(_CHUNK if stop is None else min(_CHUNK, stop - raw.tell())):
            yield chunk


def pieces(source: Source, size: int = _CHUNK) -> Iterator[bytes]:
    """The decompressed content, about `size` bytes at a time."""
    line = 1
    try:
        for piece in _decompressed(source, size):
            yield piece
            line += piece.count(b"\n")
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        place = f"{name_of(source)}, line {line}"
        raise DataError(f"{place}: the compressed data is broken or cut short ({error})") from None


def _decompressed(source: Source, size: int) -> Iterator[bytes]:
    with _open(source) as raw:
        magic = raw.read(6)
        raw.seek(0)
        if magic.startswith(_ZSTD):
            yield from _zstandard(raw, size)
            return
        reader = _READERS.get(magic[:2])
        with reader(raw) if reader else raw as stream:
            while chunk := stream.read(size):
                yield chunk


def _zstandard(raw: IO[bytes], size: int) -> Iterator[bytes]:
    """Frame by frame: the library's own stream ends a truncated file without an error."""
    import zstandard

    frame = None
    while data := raw.read(size):
        while data:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                content = frame.decompress(data)
            except zstandard.ZstdError as error:
                raise EOFError(str(error)) from None
            if content:
                yield content
            data = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = None
    if frame is not None:
        raise EOFError("the last frame is not complete")
