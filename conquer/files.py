"""Atomic writes, and model files: arrays with a JSON header, as safetensors.

A model file holds no code, and its size bounds the memory its reader allocates.
"""

import errno
import json
import os
import secrets
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
_LARGEST_HEADER = 64 * 2**20
_MOST_PARTS = 2**22
"""Lists, objects and entries of a header: each takes up to a hundred bytes in memory."""
_KEY = "conquer"


class FileError(ValueError):
    """A model file that is damaged, of another program, or of another format."""


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """One file's bytes from a JSON-able header and arrays.

    >>> unpack(pack({"a": 1}, {"x": np.arange(2.0)}))[0]["a"]
    1
    """
    from safetensors.numpy import save

    text = json.dumps({"format": FORMAT, **header}, allow_nan=False)
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata={_KEY: text})


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays (copies, writable); a FileError if the bytes are not a model file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header = _header(data)
    try:
        arrays = {name: np.array(array) for name, array in load(data).items()}
    except (TypeError, ValueError, RecursionError, SafetensorError, OverflowError) as error:
        raise FileError(f"not a conquer model file: {type(error).__name__}: {error}") from None
    return header, arrays


def _header(data: bytes) -> dict[str, Any]:
    if len(data) < 8:
        raise FileError(f"a model file has at least 8 bytes, got {len(data)}")
    (size,) = struct.unpack("<Q", data[:8])
    if size > _LARGEST_HEADER:
        raise FileError("not a conquer model file: it does not begin with the size of a header")
    if size > len(data) - 8:
        raise FileError(f"the model file is truncated: the header claims {size} bytes, the file has {len(data) - 8}")
    text = data[8 : 8 + size]
    parts = sum(text.count(mark) for mark in (b"[", b"{", b","))
    if parts > _MOST_PARTS:
        raise FileError(f"the header has {parts} parts, {_MOST_PARTS} are allowed")
    try:
        outer = json.loads(text, parse_constant=_no_number)
        header = json.loads(outer["__metadata__"][_KEY], parse_constant=_no_number)
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise FileError(f"not a conquer model file: {type(error).__name__}: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else header
        raise FileError(f"the file has format {found!r}, this version reads format {FORMAT}")
    return header


def _no_number(text: str) -> Any:
    raise ValueError(f"a header holds finite numbers, got {text}")


@contextmanager
def replacing(path: str | os.PathLike[str], private: bool = False) -> Iterator[Path]:
    """An empty file in the folder of `path`, which replaces `path` when the block ends.

    A crash or an error leaves the old file or the new one, never a part. A symbolic link stays, its target is replaced.
    An existing file keeps its mode and, where permitted, its owner; a new one gets the mode of the process umask, or
    0600 if `private`.

    Raises
    ------
    OSError
        The folder cannot be written, or `path` exists and is not a regular file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as part:
    ...         _ = part.write_text("new")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    target = Path(os.path.realpath(path))
    old = target.stat() if target.exists() else None
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "not a regular file, so it cannot be replaced", str(path))
    part = target.parent / f".conquer-{secrets.token_hex(8)}"
    # Until it is complete, the new file is not more readable than the old one.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private or old else 0o666))
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        if old is not None and not private:
            with suppress(PermissionError, AttributeError):  # Windows has no chown
                os.chown(part, old.st_uid, old.st_gid)
            part.chmod(stat.S_IMODE(old.st_mode))
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part; see `replacing`.

    A pipe, a terminal or a device is written to directly.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        Path(path).write_bytes(data)
        return
    with replacing(path) as part:
        part.write_bytes(data)


def adopt(
    arrays: Mapping[str, NDArray[Any]],
    shapes: Mapping[str, tuple[int, ...]],
    dtype: Any = np.float64,
    copy: bool = True,
) -> list[NDArray[Any]]:
    """The named arrays, checked to be finite, of this type and these shapes (-1: any length).

    Without `copy` they are the arrays themselves, for a model that copies them into its own memory.
    """
    found = []
    for name, shape in shapes.items():
        array = arrays.get(name)
        fits = (
            array is not None
            and array.dtype == dtype
            and array.ndim == len(shape)
            and all(want in (-1, have) for want, have in zip(shape, array.shape, strict=True))
        )
        if array is None or not fits:
            got = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"array {name!r} must be {np.dtype(dtype)} of shape {shape}, got {got}")
        if not np.isfinite(array).all():
            raise ValueError(f"array {name!r} must be finite")
        found.append(array.copy() if copy else array)
    return found
