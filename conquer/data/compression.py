"""Files as lines of bytes whatever compressed them, so that every reader streams and can say where it is."""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

_CHUNK = 1 << 20
_LONGEST_LINE = 64 << 20
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_PLAIN_READERS: dict[bytes, Callable[[IO[bytes]], Any]] = {_GZIP: gzip.open, _XZ[:2]: lzma.open}
COMPRESSED = (".gz", ".xz", ".zst")


class ReviewFileError(ValueError):
    """A file that cannot be read further; the message names the file and, where known, the line."""


class NoReviewsError(ReviewFileError):
    """A file in which not one review can be found: another kind of file, or its columns have other names."""


class UnreadableError(ValueError):
    """A row that is none; `lines` says how many lines of the file it took with it."""

    def __init__(self, reason: str, lines: int = 1) -> None:
        super().__init__(reason)
        self.lines = lines


def first_bytes(path: Path, count: int = 4096) -> bytes:
    """The first bytes of the content, decompressed."""
    return next(_chunks(path, count), b"")[:count]


def content(path: Path) -> bytes:
    """All of it, decompressed."""
    return b"".join(_chunks(path, _CHUNK))


def pieces(path: Path, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """The content, decompressed, about a megabyte at a time; of a plain file also the bytes in [start, stop)."""
    if start == 0 and stop is None:
        yield from _chunks(path, _CHUNK)
        return
    with path.open("rb") as raw:
        raw.seek(start)
        left = (path.stat().st_size if stop is None else stop) - start
        while left > 0 and (chunk := raw.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk


def check_length(path: Path, line: bytes) -> None:
    """Refuse a line that is longer than any row: it would fill the memory."""
    if len(line) > _LONGEST_LINE:
        raise ReviewFileError(f"{path}: a line longer than {_LONGEST_LINE} bytes")


def is_compressed(path: Path) -> bool:
    """Whether the file says that it is compressed."""
    with path.open("rb") as raw:
        magic = raw.read(6)
    return magic.startswith(_ZSTD) or magic[:2] in _PLAIN_READERS


def lines(path: Path) -> Iterator[bytes]:
    """Every line of the content, with its line end, one at a time.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.txt.gz"
    ...     _ = path.write_bytes(gzip.compress(b"one\\ntwo"))
    ...     list(lines(path))
    [b'one\\n', b'two']
    """
    rest = b""
    number = 0
    for chunk in _chunks(path, _CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            yield line + b"\n"
        if len(rest) > _LONGEST_LINE:
            raise ReviewFileError(f"{path}, line {number + 1}: longer than {_LONGEST_LINE} bytes")
    if rest:
        yield rest


def _chunks(path: Path, size: int) -> Iterator[bytes]:
    """The content in pieces; broken compressed data is named with the line it was reached in."""
    line = 1
    try:
        for chunk in _decompressed(path, size):
            yield chunk
            line += chunk.count(b"\n")
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise ReviewFileError(f"{path}, line {line}: the compressed data is broken or cut short ({error})") from None


def _decompressed(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as raw:
        magic = raw.read(6)
        raw.seek(0)
        if magic.startswith(_ZSTD):
            yield from _zstandard(raw, size)
            return
        reader = _PLAIN_READERS.get(magic[:2])
        if reader is None:
            while chunk := raw.read(size):
                yield chunk
            return
        with reader(raw) as stream:
            while chunk := stream.read(size):
                yield chunk


def _zstandard(raw: IO[bytes], size: int) -> Iterator[bytes]:
    """Frame after frame; the library's own stream would end a cut file without a word."""
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
