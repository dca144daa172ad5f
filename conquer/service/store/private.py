"""Files that only their owner reads: the store, what SQLite keeps beside it, its lock and its secret."""

import contextlib
import logging
import os
import secrets
import stat
from pathlib import Path

logger = logging.getLogger("conquer.service")
_OWNER = 0o600


def keep_private(path: Path, create: bool = False) -> None:
    """Make sure that nobody else may read or write a file; one that others could is said so in the log.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keep_private(Path(folder, "a"), create=True)
    ...     oct(Path(folder, "a").stat().st_mode & 0o777)
    '0o600'
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    try:
        handle = os.open(path, flags, _OWNER)
    except FileNotFoundError:
        if create:
            raise
        return
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode & ~_OWNER:
            os.fchmod(handle, mode & _OWNER)
            logger.warning("%s could be read or written by others (mode %o); now it is %o", path, mode, mode & _OWNER)
    finally:
        os.close(handle)


def secret_in(path: Path) -> str:
    """The secret that a file holds; made, with the file, where there is none. All who ask at once get the same."""
    if not path.exists():
        room = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        handle = os.open(room, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER)
        try:
            os.write(handle, secrets.token_urlsafe(32).encode())
            os.fsync(handle)
            # Whoever links first has made it.
            with contextlib.suppress(FileExistsError):
                os.link(room, path)
        finally:
            os.close(handle)
            room.unlink()
    keep_private(path)
    return path.read_text().strip()
