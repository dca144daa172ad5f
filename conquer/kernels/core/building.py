"""A process of its own that compiles kernels, one after the other, while this one goes on."""

import base64
import contextlib
import importlib
import itertools
import json
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Buildable(Protocol):
    home: str
    name: str

    def prepare(self, arguments: tuple[Any, ...]) -> None: ...

    def adopt(self) -> None: ...


_IDLE_SECONDS = 20.0
_LOCK = threading.Lock()
_ASKED: dict[tuple[str, str], tuple[Buildable, tuple[Any, ...], threading.Event]] = {}
_child: subprocess.Popen[str] | None = None
_failed: dict[tuple[str, str], str] = {}


def _to_stderr(text: str) -> None:
    print(f"conquer: {text} ...", file=sys.stderr, flush=True)


say: Callable[[str], None] = _to_stderr
"""What is done with a line about a wait; a program with bars of its own puts its own function here."""


def example(value: Any) -> Any:
    """A small value of the same numba type.

    >>> example(np.zeros((3, 4))).shape
    (1, 1)
    """
    if isinstance(value, np.ndarray):
        small = np.zeros((1,) * value.ndim, value.dtype)
        small.flags.writeable = value.flags.writeable
        return small
    if isinstance(value, tuple):
        parts = [example(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _packed(arguments: tuple[Any, ...]) -> str:
    """As text; pickling forgets which arrays may not be written to, so that goes beside."""
    fixed: list[bool] = []
    _walk(arguments, lambda array: fixed.append(not array.flags.writeable))
    return base64.b64encode(pickle.dumps((arguments, fixed))).decode()


def _unpacked(text: str) -> tuple[Any, ...]:
    arguments, fixed = pickle.loads(base64.b64decode(text))
    flags = iter(fixed)

    def fix(array: Any) -> None:
        array.flags.writeable = not next(flags)

    _walk(arguments, fix)
    result: tuple[Any, ...] = arguments
    return result


def _walk(value: Any, action: Callable[[Any], object]) -> None:
    if isinstance(value, np.ndarray):
        action(value)
    elif isinstance(value, tuple):
        for each in value:
            _walk(each, action)


def request(kernel: Buildable, arguments: tuple[Any, ...]) -> None:
    """Have it compiled for arguments of these types; it adopts the code when it is there."""
    global _child
    small = tuple(example(each) for each in arguments)
    line = json.dumps({"home": kernel.home, "name": kernel.name, "types": _packed(small)})
    with _LOCK:
        _ASKED[kernel.home, kernel.name] = kernel, small, threading.Event()
        for _ in range(2):
            if _child is None or _child.poll() is not None:
                _child = _start()
            try:
                assert _child.stdin is not None
                _child.stdin.write(line + "\n")
                _child.stdin.flush()
                return
            except OSError:
                _child = None  # it had just ended, with nothing left to do


def wait(kernel: Buildable) -> None:
    """Until it is compiled, and say so."""
    entry = _ASKED.get((kernel.home, kernel.name))
    if entry is not None:
        say(f"compiling {kernel.name}, once")
        while not entry[2].wait(0.5):
            if _child is None or _child.poll() is not None:
                break
    kernel.prepare(entry[1] if entry is not None else ())
    kernel.adopt()


def _start() -> "subprocess.Popen[str]":
    child = subprocess.Popen(
        [sys.executable, "-m", "conquer.kernels.core.building"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C is for us: what it has begun is there next time
    )
    threading.Thread(target=_adopt_all, args=(child,), name="conquer-kernels", daemon=True).start()
    return child


def _adopt_all(child: "subprocess.Popen[str]") -> None:
    """Take over what the process has compiled, kernel by kernel."""
    assert child.stdout is not None
    for line in child.stdout:
        home, name, problem = json.loads(line)
        kernel, arguments, done = _ASKED[home, name]
        if problem:
            _failed[home, name] = problem
        else:
            kernel.prepare(arguments)
            kernel.adopt()
        done.set()
    child.wait()


def main() -> None:
    """Compile what stands on the lines of the input, and end with it, or when nothing more came for a while."""
    os.environ["CONQUER_TIER"] = "compiled"
    os.nice(5)
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=lambda: [orders.put(line) for line in itertools.chain(sys.stdin, [""])], daemon=True).start()
    while line := _next(orders):
        order = json.loads(line)
        problem = ""
        try:
            kernel = getattr(importlib.import_module(order["home"]), order["name"])
            kernel.prepare(_unpacked(order["types"]))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):  # whoever asked has gone: compiled it is all the same
            os.write(1, json.dumps([order["home"], order["name"], problem]).encode() + b"\n")


def _next(orders: "queue.SimpleQueue[str]") -> str:
    try:
        return orders.get(timeout=_IDLE_SECONDS)
    except queue.Empty:
        return ""


if __name__ == "__main__":
    main()
