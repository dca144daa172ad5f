"""Where compiled code lies on disk: in folders whose names change whenever a kernel that it was made from changes."""

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path


def _candidates(key: str) -> Iterator[Path]:
    if override := os.environ.get("CONQUER_CACHE"):
        yield Path(override) / key
        return
    yield _ROOM / "__pycache__" / key
    cache_home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not cache_home.startswith("~"):  # a user without a home
        yield Path(cache_home) / "conquer" / key
    yield Path(tempfile.gettempdir()) / f"conquer-{_user()}-{key}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _usable(folder: Path) -> bool:
    """Whether we can write there and nobody else can: what lies in the folder is run."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        info = folder.stat()
        if hasattr(os, "getuid") and (info.st_uid != _user() or info.st_mode & 0o022):
            return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


_ROOM = Path(__file__).parents[1]
_IMPORT = re.compile(r"^from conquer\.kernels((?:\.\w+)*) import ([\w, ]+|\([^)]*\))", re.MULTILINE)


_AROUND = {".core.tiers", ".core.cache"}
"""Modules that decide when a kernel is compiled or where it lies, not what it becomes."""


def _sources(module: str, found: dict[str, bytes]) -> dict[str, bytes]:
    """The source of a kernel module (".rounds.steps") and of every kernel module it imports, by name."""
    path = _ROOM.joinpath(*module.split(".")).with_suffix(".py")
    if module not in found and module not in _AROUND and path.exists():
        found[module] = path.read_bytes()
        for home, names in _IMPORT.findall(found[module].decode()):
            for name in (home, *(f"{home}.{name}" for name in re.findall(r"\w+", names))):
                _sources(name, found)
    return found


@cache
def _made_with() -> str:
    """The versions that compiled code depends on, without an import of the compiler."""
    return f"{version('numba')}-{version('numpy')}-{sys.version_info.major}.{sys.version_info.minor}"


@cache
def folder_of(module: str) -> Path | None:
    """The first usable folder named after a hash of the module's source and of all it imports; None if there is none.

    Numba's own check sees an edit in the compiled file but not in a function it calls from another file.
    """
    module = module.removeprefix("conquer.kernels")
    digest = hashlib.blake2b(digest_size=8)
    digest.update(_made_with().encode())
    for _, source in sorted(_sources(module, _sources(".core.native", {})).items()):
        digest.update(source)
    for folder in _candidates(f"{module.strip('.')}-{digest.hexdigest()}"):
        if _usable(folder):
            return folder
    if override := os.environ.get("CONQUER_CACHE"):
        raise OSError(f"CONQUER_CACHE must be a folder that only you can write to, got {override!r}")
    return None


def is_compiled(folder: Path, name: str) -> bool:
    """Whether somebody has compiled the function of this name, for some types."""
    return next(folder.glob(f"*.{name}-kernel.*.nbi"), None) is not None
