"""Kernels that Python calls. Nobody waits for a compiler: until there is compiled code, the source itself runs.

A kernel that lies compiled on disk is loaded at its first call. Else a process of its own compiles it, and meanwhile
the source is interpreted, with the same bits. Kernels that would be slow so (`heavy`) wait, and say that they do.
CONQUER_TIER=plain always interprets; CONQUER_TIER=compiled compiles here, at once.
"""

import os
import sys
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Protocol

import numpy as np

from conquer.kernels.core import building
from conquer.kernels.core.cache import folder_of, is_compiled, note_compiled
from conquer.kernels.core.compile import toolchain

Heavy = Callable[..., bool]


class Kernel(Protocol):
    """What the decorators return: called like the function it was."""

    def __call__(self, *arguments: Any) -> Any: ...


def tier() -> str:
    """auto, plain or compiled."""
    name = os.environ.get("CONQUER_TIER", "auto")
    if name not in ("auto", "plain", "compiled"):
        raise ValueError(f"CONQUER_TIER must be auto, plain or compiled, got {name!r}")
    return name


class Entry:
    """One kernel, in the tier it has reached; once compiled its module holds the compiled function itself."""

    def __init__(self, function: Callable[..., Any], heavy: Heavy | None) -> None:
        update_wrapper(self, function)
        self.function, self._heavy = function, heavy
        self.home = function.__module__
        self.name = function.__qualname__
        self.source = function.__code__.co_filename
        self.folder = folder_of(self.home.removeprefix("conquer.kernels"))
        self._made: Any = None
        self.run: Callable[..., Any] = self._first

    def __call__(self, *arguments: Any) -> Any:
        return self.run(*arguments)

    @property
    def dispatcher(self) -> Any:
        """Numba's own, which compiles at its first call or finds the code on disk."""
        if self._made is None:
            numba = toolchain()
            config = numba.core.config
            before = config.CACHE_DIR
            config.CACHE_DIR = str(self.folder or before)
            try:
                self._made = numba.njit(cache=self.folder is not None, error_model="numpy", nogil=True)(self.function)
            finally:
                config.CACHE_DIR = before
        return self._made

    @property
    def _numba_type_(self) -> Any:
        return toolchain().types.Dispatcher(self.dispatcher)

    def _first(self, *arguments: Any) -> Any:
        name = tier()
        if name == "plain":
            self.run = self._interpret
        elif name == "compiled" or is_compiled(self.folder, self.name, self.source):
            return self.compile(arguments)
        elif self.folder is None or (self._heavy is not None and self._heavy(*arguments)):
            building.say(f"compiling {self.name}, once")
            return self.compile(arguments)
        else:
            self.run = self._meanwhile
            building.request(self, arguments)
        return self.run(*arguments)

    def _meanwhile(self, *arguments: Any) -> Any:
        if self._heavy is not None and self._heavy(*arguments):
            building.wait(self)
            return self.run(*arguments)
        return self._interpret(*arguments)

    def _interpret(self, *arguments: Any) -> Any:
        # As compiled code has it: words wrap around, and 1/0 is infinite.
        with np.errstate(all="ignore"):
            return self.function(*arguments)

    def compile(self, arguments: tuple[Any, ...]) -> Any:
        """Call it with these, compiled here or loaded from disk."""
        result = self.dispatcher(*arguments)
        note_compiled(self.folder, self.name, self.source)
        self.adopt()
        return result

    def prepare(self, arguments: tuple[Any, ...]) -> None:
        """Compile it for arguments of these types, or load it, without a call."""
        numba = toolchain()
        self.dispatcher.compile(tuple(numba.typeof(each) for each in arguments))
        note_compiled(self.folder, self.name, self.source)

    def adopt(self) -> None:
        """From now on the compiled function runs."""
        self.run = self.dispatcher
        module = sys.modules.get(self.home)
        if getattr(module, self.name, None) is self:
            setattr(module, self.name, self.dispatcher)


def jit(function: Callable[..., Any]) -> Kernel:
    """A kernel that Python calls: the same bits on every machine. Compiled it releases the interpreter lock."""
    return Entry(function, None)


def heavy(when: Heavy) -> Callable[[Callable[..., Any]], Kernel]:
    """The same, but where `when(*arguments)` it waits for the compiler: interpreted it would take longer."""
    return lambda function: Entry(function, when)


def always(*arguments: Any) -> bool:
    """For `heavy`: loops over many rounds."""
    return True
