"""Kernels that Python calls. Nobody waits for a compiler: until there is machine code, the source itself runs.

A kernel is interpreted at first. Once that has taken a moment, its machine code is loaded from disk by a thread, or
made by a process of its own if there is none; both tiers give the same bits. A call that would be slow interpreted
waits for the machine code, and says so. CONQUER_TIER=plain always interprets, CONQUER_TIER=compiled compiles here.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from conquer.kernels.core import building
from conquer.kernels.core.compile import toolchain
from conquer.kernels.core.signatures import Signature, signature

Steps = Callable[..., int]

MOST = 1_000_000
"""Innermost steps that are interpreted while the compiler works: a few tenths of a second."""


def tier() -> str:
    """auto, plain or compiled."""
    name = os.environ.get("CONQUER_TIER") or "auto"
    if name not in ("auto", "plain", "compiled"):
        raise ValueError(f"CONQUER_TIER must be auto, plain or compiled, got {name!r}")
    return name


_inside = threading.local()


class TwoTier:
    """One kernel in both tiers. As soon as the compiler is loaded, its module holds the compiled function itself."""

    def __init__(self, function: Callable[..., Any], steps: Steps | None, heavy: bool = False) -> None:
        update_wrapper(self, function)
        self.function, self._steps, self.heavy = function, steps, heavy
        self.home, self.name = function.__module__, function.__qualname__
        self.entry = self
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._made is not None:
            return self._made(*arguments)
        return self.run_for(*arguments)(*arguments)

    def run_for(self, *arguments: Any) -> Any:
        """What to call with these arguments, there being no machine code for their types in this process."""
        if getattr(_inside, "interpreting", False):
            return self.function  # called by a kernel that is interpreted: part of its work, and compiled with it
        name = tier()
        if name == "plain":
            return self.interpret
        if name == "compiled":
            return self._compile(arguments)
        key = signature(arguments)
        if building.insisting() or (self._steps is not None and self._steps(*arguments) > MOST):
            return self.made if building.wait(self, key) else self._compile(arguments)
        if building.is_hot():
            building.request(self, key)
        return self.interpret

    def interpret(self, *arguments: Any) -> Any:
        """Run the source, with the arithmetic of machine code: words wrap around, 1/0 is infinite."""
        began, _inside.interpreting = time.thread_time(), True
        try:
            with np.errstate(all="ignore"):
                return self.function(*arguments)
        finally:
            _inside.interpreting = False
            building.count(time.thread_time() - began)

    def _compile(self, arguments: tuple[Any, ...]) -> Any:
        toolchain()
        made = self.made
        return type(made)._compile_for_args(made, *arguments)

    @property
    def is_made(self) -> bool:
        """Whether a call runs machine code."""
        return bool(self._made.overloads) if self._made is not None else tier() == "compiled"

    @property
    def made(self) -> Any:
        """Numba's dispatcher. It asks us whenever it has no code for some types."""
        if self._made is None:
            from conquer.kernels.core import native

            made = native.dispatcher(self.function, self.run_for)
            made.entry = self
            self._made = made
            module = sys.modules.get(self.home)
            if getattr(module, self.name, None) is self:
                setattr(module, self.name, self._made)
        return self._made

    @property
    def _numba_type_(self) -> Any:
        return toolchain().types.Dispatcher(self.made)

    def load(self, key: Signature) -> bool:
        """Take the code for these types from disk; whether there is some."""
        from conquer.kernels.core import native

        return native.load(self.made, native.types_of(key))

    def build(self, key: Signature) -> None:
        """Have the code for these types, on disk too where there is a folder for it."""
        from conquer.kernels.core import native

        toolchain()
        self.made.compile(native.types_of(key))


def is_made(kernel: Any) -> bool:
    """Whether a call of this kernel runs machine code: for those who know a faster way than to interpret its source."""
    return bool(kernel.entry.is_made)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that Python calls: the same bits on every machine. Machine code releases the interpreter lock."""
    return TwoTier(function, None)


def heavy(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same; of all that is asked for it takes longest to compile, so it is made first."""
    return TwoTier(function, None, heavy=True)


def sized(steps: Steps) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The same; `steps(*arguments)` says about how many innermost steps a call takes, and large calls wait."""
    return lambda function: TwoTier(function, steps)
