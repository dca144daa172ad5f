"""The kernels' decorators. A kernel is plain Python; numba, which takes a second to import, comes when it is compiled.

The same source runs in two tiers, interpreted and compiled, and gives the same bits: the arithmetic is IEEE's in
both, in the same order (no fastmath, no contraction).
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_LOCK = threading.RLock()
_LATER: list[Callable[[], None]] = []
_loaded: Any = None


def toolchain() -> Any:
    """The module numba, with every kernel known to it."""
    global _loaded
    if _loaded is None:
        with _LOCK:
            import numba
            import numba.extending

            for action in _LATER:
                action()
            _LATER.clear()
            _loaded = numba
    return _loaded


def when_loaded(action: Callable[[], None]) -> None:
    """Do this once numba is there: now, or when something is compiled for the first time."""
    with _LOCK:
        if _loaded is None:
            _LATER.append(action)
        else:
            action()


_PART: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def stand_in(function: Callable[..., Any], compiled: Callable[..., Any]) -> None:
    """Where compiled code calls `function`, `compiled` is what numba compiles."""
    import numba

    holder: Any = function
    holder.dispatcher = numba.njit(**_PART)(compiled)  # the type alone would not keep it
    holder._numba_type_ = numba.types.Dispatcher(holder.dispatcher)


def part(function: F) -> F:
    """A function that only kernels call, compiled with each of them: no entry from Python, which takes long to compile.

    It is the function itself; compiled callers find in it what numba makes of it.
    """
    when_loaded(lambda: stand_in(function, function))
    return function


def interpreted_as(plain: Callable[..., Any]) -> Callable[[F], F]:
    """A part whose loops over long vectors are `plain` when interpreted: the same operations on whole vectors."""

    def register(function: F) -> F:
        when_loaded(lambda: stand_in(plain, function))
        return plain  # type: ignore[return-value]  # called as the function it stands for

    return register


def primitive(function: F) -> F:
    """A name for kernels to call; what it does depends on the type of its first argument, see `implements`."""
    bodies: dict[type, Callable[..., Any]] = {}

    def dispatch(state: Any, *rest: Any) -> Any:
        return bodies[type(state)](state, *rest)

    dispatch.__name__, dispatch.__doc__ = function.__name__, function.__doc__
    dispatch.bodies = bodies  # type: ignore[attr-defined]  # `implements` adds to them
    return dispatch  # type: ignore[return-value]  # called as the function it is named after


def implements(primitive: Callable[..., Any], state: type) -> Callable[[F], F]:
    """Register the decorated function as `primitive` for callers whose first argument is a `state`."""

    def register(function: F) -> F:
        def typer(*types: Any) -> Any:
            return function if getattr(types[0], "instance_class", None) is state else None

        def overload() -> None:
            import numba.extending

            options: Any = _PART
            numba.extending.overload(primitive, strict=False, jit_options=options)(typer)

        primitive.bodies[state] = function  # type: ignore[attr-defined]  # set by `primitive`
        when_loaded(overload)
        return part(function)

    return register
