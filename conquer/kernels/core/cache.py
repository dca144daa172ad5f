"""Folders of machine code: their names change whenever a kernel that the code was made from changes."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_KERNELS = Path(__file__).parents[1]
_IMPORT = re.compile(r"^from conquer\.kernels((?:\.\w+)*) import ([\w, ]+|\([^)]*\))", re.MULTILINE)
_AROUND = {".core.background", ".core.cache"}
"""Modules that decide when a kernel is compiled or where its code lies, not what it becomes."""


def _candidates(key: str) -> Iterator[Path]:
    if override := os.environ.get("CONQUER_CACHE"):
        yield Path(override) / key
        return
    yield _KERNELS / "__pycache__" / key
    cache_home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not cache_home.startswith("~"):  # a user without a home
        yield Path(cache_home) / "conquer" / key
    for folder in _temporary():
        yield folder / f"conquer-{_user()}-{key}"


def _temporary() -> list[Path]:
    """Folders for temporary files; a container with a read-only disk usually has memory to write to."""
    import tempfile  # here and below: a short program needs neither of these imports

    memory = [Path("/dev/shm")]
    try:
        return [Path(tempfile.gettempdir()), *memory]
    except OSError:
        return memory


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _usable(folder: Path) -> bool:
    """Whether we can write to the folder and other users cannot: its content is run."""
    import tempfile

    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        info = folder.stat()
        if hasattr(os, "getuid") and (info.st_uid != _user() or info.st_mode & 0o022):
            return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _sources(module: str, found: dict[str, bytes]) -> dict[str, bytes]:
    """The source of a kernel module (".rounds.choice") and of every kernel module it imports, by name."""
    path = _KERNELS.joinpath(*module.split(".")).with_suffix(".py")
    if module not in found and module not in _AROUND and path.exists():
        found[module] = path.read_bytes()
        for home, names in _IMPORT.findall(found[module].decode()):
            for name in (home, *(f"{home}.{name}" for name in re.findall(r"\w+", names))):
                _sources(name, found)
    return found


@cache
def folder_of(module: str) -> Path | None:
    """The first usable folder named after a hash of the module's source and of all it imports; None if there is none.

    Numba's own check sees an edit in the compiled file but not in a function it calls from another file.
    """
    from importlib.metadata import version

    module = module.removeprefix("conquer.kernels")
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{version('numba')}-{version('numpy')}-{sys.version_info[:2]}".encode())
    for _, source in sorted(_sources(module, {}).items()):
        digest.update(source)
    for folder in _candidates(f"{module.strip('.')}-{digest.hexdigest()}"):
        if _usable(folder):
            return folder
    if override := os.environ.get("CONQUER_CACHE"):
        raise OSError(f"CONQUER_CACHE must be a folder that only you can write to, got {override!r}")
    return None


def marker(module: str, name: str, types: Any) -> Path:
    """The file that says that numba's cache has a kernel for these types.

    Numba's own key also contains the source file's path and modification time.
    """
    folder = folder_of(module)
    assert folder is not None, "only where there is a folder"
    source = _KERNELS.joinpath(*module.split(".")[2:]).with_suffix(".py")
    key = json.dumps([types, str(source), source.stat().st_mtime_ns])
    return folder / f"{name}-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}.made"
