"""One way to compile: cached on disk under a key that changes whenever any kernel changes."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy
from numba.core import config
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])


def _candidates(key: str) -> Iterator[Path]:
    if override := os.environ.get("CONQUER_CACHE"):
        yield Path(override) / key
        return
    yield Path(__file__).parent / "__pycache__" / key
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conquer" / key
    yield Path(tempfile.gettempdir()) / f"conquer-{os.getuid() if hasattr(os, 'getuid') else 0}" / key


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _cache_folder() -> str:
    """The first writable folder named after a hash of the kernels' source.

    Numba's own check sees an edit in the compiled file but not in a function it calls from another file.
    """
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    versions = f"{numba.__version__}-{numpy.__version__}-{sys.version_info.major}.{sys.version_info.minor}"
    digest.update(versions.encode())
    for folder in _candidates(f"kernels-{digest.hexdigest()}"):
        if _writable(folder):
            return str(folder)
    raise OSError("no writable folder for compiled kernels; set CONQUER_CACHE to one")


CACHE_FOLDER = _cache_folder()


def jit(function: F) -> F:
    """Compile without fastmath: the same bits on every machine. Releases the interpreter lock."""
    settings: Any = config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = CACHE_FOLDER
    try:
        compiled = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
    finally:
        settings.CACHE_DIR = before
    return cast(F, compiled)


def inline(function: F) -> F:
    """Compile a small function into each caller; it has no cache entry of its own."""
    return cast(F, numba.njit(error_model="numpy", nogil=True)(function))


def implements(primitive: Callable[..., Any], state: type) -> Callable[[F], F]:
    """Register the decorated function as `primitive` for compiled callers whose first argument is a `state`."""

    def register(function: F) -> F:
        compiled = inline(function)

        def typer(*types: Any) -> Any:
            if getattr(types[0], "instance_class", None) is state:
                return lambda *arguments: compiled(*arguments)
            return None

        overload(primitive, strict=False)(typer)
        return compiled

    return register
