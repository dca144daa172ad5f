"""Kernels: plain Python functions that are interpreted until their machine code is ready.

    interpreted ----------> requested ----------> made
         |   0.5 s of interpreting    loaded from    ^
         |   or `compile_all()`       disk, or       |
         |                            compiled       |
         +-------------------------------------------+
          the caller waits: a large call, `never_interpret()`,
          CONQUER_TIER=compiled, or no folder for machine code

Both tiers run the same source and give the same bits: the arithmetic is IEEE's, in the same order (no fastmath, no
contraction). Numba, which takes a second to import, is imported when something is compiled. `background` does the
requested work; CONQUER_TIER=plain never compiles.
"""

import os
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar

import numpy as np

from conquer.kernels.core import background
from conquer.kernels.core.cache import folder_of

F = TypeVar("F", bound=Callable[..., Any])
Steps = Callable[..., int]
Inline = Literal["never", "always"]

MOST_STEPS = 1_000_000
"""Innermost steps that are interpreted while the compiler works: a few tenths of a second."""

_PART: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_LOCK = threading.RLock()
_LATER: list[Callable[[], None]] = []
_numba: Any = None
_inside = threading.local()


def toolchain() -> Any:
    """Import numba and register every part with it; returns the module."""
    global _numba
    if _numba is None:
        with _LOCK:
            import numba
            import numba.extending

            for action in _LATER:
                action()
            _LATER.clear()
            _numba = numba
    return _numba


def when_loaded(action: Callable[[], None]) -> None:
    """Run `action` once numba is imported: now, or before the first compilation."""
    with _LOCK:
        if _numba is None:
            _LATER.append(action)
        else:
            action()


def overload(function: Callable[..., Any], typer: Callable[..., Any], inline: Inline = "never") -> None:
    """Compiled calls of `function` compile what `typer` returns for the types of the arguments."""
    from numba.extending import overload as numba_overload

    options: Any = _PART
    numba_overload(function, strict=False, jit_options=options, inline=inline)(typer)


def part(function: F) -> F:
    """A function that only kernels call; machine code has no entry from Python, which would take long to compile."""
    when_loaded(lambda: overload(function, lambda *types: function))
    return function


def inlined(function: F) -> F:
    """A small part of loops that is copied into its callers: each call would count references to its arrays."""
    when_loaded(lambda: overload(function, lambda *types: function, inline="always"))
    return function


def primitive(function: F) -> F:
    """A function for kernels to call whose body depends on the type of its first argument, see `implements`."""
    bodies: dict[type, Callable[..., Any]] = {}

    @wraps(function)
    def dispatch(state: Any, *rest: Any) -> Any:
        return bodies[type(state)](state, *rest)

    dispatch.bodies = bodies  # type: ignore[attr-defined]  # `implements` adds to them
    return dispatch  # type: ignore[return-value]  # called as the function it is named after


def implements(primitive: Callable[..., Any], state: type) -> Callable[[F], F]:
    """Register the decorated function as the body of `primitive` for callers whose first argument is a `state`."""

    def register(function: F) -> F:
        def typer(*types: Any) -> Any:
            return function if getattr(types[0], "instance_class", None) is state else None

        primitive.bodies[state] = function  # type: ignore[attr-defined]  # set by `primitive`
        when_loaded(lambda: overload(primitive, typer))
        return part(function)

    return register


def jit(function: F) -> F:
    """A kernel: callable from Python and from other kernels. Machine code releases the interpreter lock."""
    return _entry(function, None)


def sized(steps: Steps) -> Callable[[F], F]:
    """A kernel whose large calls wait for machine code; `steps(*arguments)` estimates the innermost steps of a call."""
    return lambda function: _entry(function, steps)


def _entry(function: F, steps: Steps | None) -> F:
    kernel = KernelEntry(function, steps)
    made = kernel.made

    @wraps(function)
    def call(*arguments: Any) -> Any:
        code = made.get(type(arguments[0]))
        return kernel.call(arguments) if code is None else code(*arguments)

    call.kernel = kernel  # type: ignore[attr-defined]  # for `background` and tests
    when_loaded(lambda: overload(call, lambda *types: function))
    return call  # type: ignore[return-value]  # called as the function it wraps


def tier() -> str:
    """auto, plain or compiled."""
    name = os.environ.get("CONQUER_TIER") or "auto"
    if name not in ("auto", "plain", "compiled"):
        raise ValueError(f"CONQUER_TIER must be auto, plain or compiled, got {name!r}")
    return name


class KernelEntry:
    """One kernel: its source, and its machine code by the type of the first argument (one signature per model)."""

    def __init__(self, function: Callable[..., Any], steps: Steps | None) -> None:
        self.function, self._steps = function, steps
        self.home, self.name = function.__module__, function.__qualname__
        self.made: dict[type, Callable[..., Any]] = {}
        self._dispatcher: Any = None

    def call(self, arguments: tuple[Any, ...]) -> Any:
        """Run a call for which there is no machine code yet."""
        if getattr(_inside, "interpreting", False):
            return self.function(*arguments)  # called by an interpreted kernel: part of its work
        name = tier()
        if name == "plain":
            return self.interpret(arguments)
        waits = name == "compiled" or background.interprets_nothing()
        waits = waits or (self._steps is not None and self._steps(*arguments) > MOST_STEPS)
        if not waits and not background.is_hot():
            return self.interpret(arguments)
        types = background.describe(arguments)
        if name == "auto" and folder_of(self.home) is not None:
            if not waits:
                background.request(self, types)
                return self.interpret(arguments)
            background.wait(self, types)
        elif not waits and not background.is_hot(without_folder=True):
            return self.interpret(arguments)
        self.make(types)
        return self.made[type(arguments[0])](*arguments)

    def interpret(self, arguments: tuple[Any, ...]) -> Any:
        """Run the source with the arithmetic of machine code: words wrap around, 1/0 is infinite."""
        began, _inside.interpreting = time.thread_time(), True
        try:
            with np.errstate(all="ignore"):
                return self.function(*arguments)
        finally:
            _inside.interpreting = False
            background.count(time.thread_time() - began)

    def make(self, types: background.Types) -> None:
        """Load the machine code for these types from disk, or compile and store it."""
        example = background.example(types)
        with _LOCK:
            numba = toolchain()
            if self._dispatcher is None:
                self._dispatcher = self._dispatch(numba)
            self._dispatcher.compile(tuple(map(numba.typeof, example)))
            self.made[type(example[0])] = self._dispatcher

    def _dispatch(self, numba: Any) -> Any:
        folder = folder_of(self.home)
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder or "")  # read when the dispatcher is made
        try:
            return numba.njit(error_model="numpy", nogil=True, cache=folder is not None)(self.function)
        finally:
            numba.config.CACHE_DIR = before
