"""One way to compile: cached on disk under a key that changes whenever any kernel changes."""

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy
from numba.core import caching
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])


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


def _sources(module: str, found: dict[str, bytes]) -> dict[str, bytes]:
    """The source of a kernel module (".rounds.steps") and of every kernel module it imports, by name."""
    path = _ROOM.joinpath(*module.split(".")).with_suffix(".py")
    if module not in found and path.exists():
        found[module] = path.read_bytes()
        for home, names in _IMPORT.findall(found[module].decode()):
            for name in (home, *(f"{home}.{name}" for name in re.findall(r"\w+", names))):
                _sources(name, found)
    return found


@cache
def _cache_folder(module: str) -> str | None:
    """The first usable folder named after a hash of the module's source and of all it imports; None if there is none.

    Numba's own check sees an edit in the compiled file but not in a function it calls from another file.
    """
    digest = hashlib.blake2b(digest_size=8)
    versions = f"{numba.__version__}-{numpy.__version__}-{sys.version_info.major}.{sys.version_info.minor}"
    digest.update(versions.encode())
    for _, source in sorted(_sources(module, {}).items()):
        digest.update(source)
    for folder in _candidates(f"{module.strip('.')}-{digest.hexdigest()}"):
        if _usable(folder):
            return str(folder)
    if override := os.environ.get("CONQUER_CACHE"):
        raise OSError(f"CONQUER_CACHE must be a folder that only you can write to, got {override!r}")
    return None


class _Folder(caching._CacheLocator):
    """Numba's view of that folder. Its name says what is in it, so a file's date or place does not matter."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Folder | None":
        folder = _cache_folder(function.__module__.removeprefix("conquer.kernels"))
        return None if folder is None else cls(folder)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return "as its folder says"

    def get_disambiguator(self) -> str:
        return "kernel"


class _Files(caching.CompileResultCacheImpl):
    _locator_classes: list[Any] = [_Folder]  # noqa: RUF012, as in numba


class _Cache(caching.FunctionCache):
    _impl_class = _Files


def jit(function: F) -> F:
    """Compile without fastmath: the same bits on every machine. Releases the interpreter lock."""
    compiled: Any = numba.njit(error_model="numpy", nogil=True)(function)
    if _cache_folder(function.__module__.removeprefix("conquer.kernels")) is not None:
        compiled._cache = _Cache(function)
    return cast(F, compiled)


def inline(function: F) -> F:
    """Compile a small function into each caller; it has no cache entry of its own."""
    return cast(F, numba.njit(error_model="numpy", nogil=True)(function))


_PART: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def part(function: F) -> F:
    """Compile a function that only compiled code calls: no entry from Python, which takes longest to compile."""
    return cast(F, numba.njit(**_PART)(function))


def implements(primitive: Callable[..., Any], state: type) -> Callable[[F], F]:
    """Register the decorated function as `primitive` for compiled callers whose first argument is a `state`."""

    def register(function: F) -> F:
        def typer(*types: Any) -> Any:
            return function if getattr(types[0], "instance_class", None) is state else None

        overload(primitive, strict=False, jit_options=_PART)(typer)
        return part(function)

    return register
