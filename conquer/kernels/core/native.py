"""The compiler's side: kernels as machine code, made or found on disk. Imported only when something is compiled."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import caching
from numba.core.compiler_lock import global_compiler_lock

from conquer.kernels.core.cache import folder_of
from conquer.kernels.core.libraries import KernelCompiler

_NUMBERS: dict[str, Any] = {"bool": numba.boolean, "int": numba.int64, "float": numba.float64}


class _Folder(caching._CacheLocator):
    """Numba's view of a folder of ours. Its name says what is in it, so a file's date or place does not matter."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Folder | None":
        folder = folder_of(function.__module__)
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


def dispatcher(function: Callable[..., Any], miss: Callable[..., Any] | None) -> Any:
    """The compiled function, without any code yet. No fastmath; it releases the interpreter lock.

    `miss`, where given, is asked with the arguments for something to call when there is no code for them.
    """
    made: Any = numba.njit(error_model="numpy", nogil=True, pipeline_class=KernelCompiler)(function)
    if folder_of(function.__module__) is not None:
        made._cache = _Cache(function)
    if miss is not None:
        made._compile_for_args = miss
    return made


def types_of(signature: Sequence[Any]) -> tuple[Any, ...]:
    """Numba's types of a signature.

    >>> from conquer.kernels.core.signatures import signature
    >>> types_of(signature((np.zeros(2), 3)))
    (Array(float64, 1, 'C', False, aligned=True), int64)
    """
    return tuple(_type(each) for each in signature)


def _type(kind: Sequence[Any]) -> Any:
    if kind[0] == "array":
        _, name, ndim, layout, writeable = kind
        return numba.types.Array(_scalar(name), ndim, layout, readonly=not writeable)
    if kind[0] == "scalar":
        return _scalar(kind[1])
    if kind[0] == "tuple":
        _, home, name, parts = kind
        types = types_of(parts)
        if not home:
            return numba.types.BaseTuple.from_types(types)
        return numba.types.BaseTuple.from_types(types, getattr(importlib.import_module(home), name))
    return _NUMBERS[kind[0]]


def _scalar(name: str) -> Any:
    return numba.from_dtype(np.dtype(name))


def load(made: Any, types: tuple[Any, ...]) -> bool:
    """Take its code for these types from disk; whether there is some."""
    with global_compiler_lock:
        if types in made.overloads:
            return True
        found = made._cache.load_overload(types, made.targetctx)
        if found is None:
            return False
        made.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
        made.add_overload(found)
        return True
