"""Machine code made in the background: threads load it, and processes of their own compile it.

A request names a kernel and the types of its arguments. A thread takes it; where the code is not on disk, the thread
asks its compiling process for it and loads what that process has left there. The compiling process holds none of our
locks, is nicer than its parent, and imports nothing from the current folder.
"""

import atexit
import contextlib
import gc
import importlib
import itertools
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.kernels.core.cache import marker

if TYPE_CHECKING:
    import subprocess

    from conquer.kernels.core.kernel import KernelEntry

Types = tuple[Any, ...]
"""The types of a kernel's arguments as plain text, so that they can be compared and sent without the compiler."""

PATIENCE = 0.5
"""Seconds of interpreted work after which machine code is worth its second of loading."""
_WITHOUT_FOLDER = 5.0
"""The same where nothing can be left on disk and the caller would have to wait for the compiler."""
_SILENCE = 0.7
"""Seconds after which a wait is reported."""
_WORKERS = min(2, os.cpu_count() or 1)
_NICE = 10


def describe(value: Any) -> Types:
    """What the compiler distinguishes of a tuple of arguments, or of one of them.

    >>> describe((np.zeros((2, 3)), 1, 2.0))
    ('tuple', '', '', ('array', '<f8', 2, 'C', True), ('int',), ('float',))
    """
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return "array", value.dtype.str, value.ndim, layout, flags.writeable
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str
    if isinstance(value, tuple):
        kind = type(value)
        name = (kind.__module__, kind.__qualname__) if kind is not tuple else ("", "")
        return ("tuple", *name, *map(describe, value))
    if type(value) in (bool, int, float):
        return (type(value).__name__,)
    raise TypeError(f"a kernel takes arrays, numbers and tuples of them, got {type(value).__name__}: {value!r}")


def example(types: Any) -> Any:
    """A value that has the described types.

    >>> example(describe((np.zeros((2, 3)), 1, 2.0)))[1:]
    (0, 0.0)
    """
    kind, *rest = types
    if kind == "array":
        dtype, ndim, layout, writeable = rest
        array = np.zeros((4,) * ndim, dtype, order="F" if layout == "F" else "C")
        array = array[(slice(None, None, 2),) * ndim] if layout == "A" else array
        array.flags.writeable = writeable
        return array
    if kind == "scalar":
        return np.dtype(rest[0]).type(0)
    if kind == "tuple":
        home, name, *parts = rest
        values = map(example, parts)
        return getattr(importlib.import_module(home), name)(*values) if home else tuple(values)
    return {"bool": False, "int": 0, "float": 0.0}[kind]


@dataclass(slots=True, eq=False)
class Request:
    """One kernel for one tuple of types."""

    kernel: "KernelEntry"
    types: Types
    done: threading.Event = field(default_factory=threading.Event)
    started: bool = False
    problem: str = ""


def _to_stderr(text: str) -> None:
    print(f"conquer: {text}", file=sys.stderr, flush=True)


report: Callable[[str], None] = _to_stderr
"""Receives a line about a wait or a failure; programs with progress bars or a log set their own function."""


class _Work:
    """Everything under way in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.loading = threading.Lock()
        """Held by a thread that is inside numba. A fork and the program's end wait for it."""
        self.requests: dict[tuple[str, str, Types], Request] = {}
        self.queue: queue.PriorityQueue[tuple[bool, int, Request]] = queue.PriorityQueue()
        self.numbers = itertools.count()
        self.threads: list[threading.Thread] = []
        self.compilers: list[Compiler] = []
        self.left = 0
        self.spent = 0.0
        self.eager = self.interprets_nothing = self.reported = False


_work = _Work()


def _begin_again() -> None:
    """A forked child has none of its parent's threads."""
    global _work
    _work = _Work()


if hasattr(os, "register_at_fork"):
    # A thread inside numba holds locks that no child could ever release.
    os.register_at_fork(
        before=lambda: _work.loading.acquire(),
        after_in_parent=lambda: _work.loading.release(),
        after_in_child=_begin_again,
    )


def is_hot(without_folder: bool = False) -> bool:
    """Whether interpreting has taken long enough to be worth machine code."""
    return _work.eager or _work.spent > (_WITHOUT_FOLDER if without_folder else PATIENCE)


def count(seconds: float) -> None:
    """Add seconds of interpreted work."""
    work = _work
    work.spent += seconds
    if work.spent > 1.0 and not work.reported and not work.eager and pending():
        work.reported = True
        report("compiling in the background, once; until then slower")


def compile_all() -> None:
    """Compile every kernel that is called from now on, however little it is used."""
    _work.eager = True


def never_interpret() -> None:
    """Make every call from now on wait for machine code: for programs that measure time."""
    _work.interprets_nothing = True


def interprets_nothing() -> bool:
    """Whether `never_interpret` was called."""
    return _work.interprets_nothing


def request(kernel: "KernelEntry", types: Types, urgent: bool = False) -> Request:
    """Request machine code for these types; urgent requests come first."""
    work = _work
    with work.lock:
        name = kernel.home, kernel.name, types
        made = work.requests.get(name)
        if made is None:
            made = work.requests[name] = Request(kernel, types)
            work.left += 1
        elif not urgent or made.started:
            return made
        work.queue.put((not urgent, next(work.numbers), made))
        if len(work.threads) < _WORKERS:
            thread = threading.Thread(target=_serve_requests, args=(work,), name="conquer-kernels", daemon=True)
            work.threads.append(thread)
            thread.start()
    return made


def wait(kernel: "KernelEntry", types: Types) -> None:
    """Wait until the request for machine code is done, reporting it after a moment."""
    made = request(kernel, types, urgent=True)
    if not made.done.wait(_SILENCE):
        report(f"compiling {kernel.home.removeprefix('conquer.')}.{kernel.name}, once ...")
        made.done.wait()


def pending() -> int:
    """How many requests are not done."""
    return _work.left


def finish() -> Iterator[tuple[str, float]]:
    """Wait for all requests, yielding (kernel, seconds waited) for each."""
    for made in list(_work.requests.values()):
        began = time.perf_counter()
        made.done.wait()
        yield f"{made.kernel.home}.{made.kernel.name}", time.perf_counter() - began


def _serve_requests(work: _Work) -> None:
    compiler = Compiler()
    work.compilers.append(compiler)
    while True:
        *_, made = work.queue.get()
        with work.lock:
            mine, made.started = not made.started, True
        if not mine:
            continue
        kernel = made.kernel
        try:
            if not marker(kernel.home, kernel.name, made.types).exists():
                made.problem = compiler.compile(kernel.home, kernel.name, made.types)
            if not made.problem:
                with work.loading:
                    kernel.make(made.types)
        except Exception as error:  # noqa: BLE001 - whatever it was, the kernel stays interpreted
            made.problem = f"{type(error).__name__}: {error}"
        with work.lock:
            work.left -= 1
        made.done.set()
        if made.problem:
            report(f"{kernel.home}.{kernel.name} stays interpreted: {made.problem}")


@atexit.register
def _leave() -> None:
    """No thread may be inside numba when the process ends; what is half compiled is compiled by the next process."""
    _work.loading.acquire()
    for compiler in _work.compilers:
        compiler.dismiss()


# Conquer is loaded from the file that the parent has loaded it from, numba and numpy as an isolated interpreter finds
# them, and only what is left from the parent's path: the current folder is not on it.
_CHILD = """
import importlib.util, json, sys
file, path = json.loads(sys.argv[1])
sys.path += [folder for folder in path if folder and folder not in sys.path]
spec = importlib.util.spec_from_file_location("conquer", file)
sys.modules["conquer"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["conquer"])
from conquer.kernels.core.background import serve_parent
serve_parent()
"""


class Compiler:
    """Our end of a compiling process, which is started when there is something to compile."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._dismissed = False

    def compile(self, home: str, name: str, types: Types) -> str:
        """Have a kernel compiled to disk; returns what went wrong, or nothing."""
        with self._lock:
            if self._dismissed:
                return "the program is ending"
            if self._child is None or self._child.poll() is not None:
                self._child = _start()
            child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        line = ""
        with contextlib.suppress(OSError):  # it has ended: see below
            child.stdin.write(json.dumps([home, name, types]) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        if line:
            return str(json.loads(line))
        reason = child.stderr.read().strip().splitlines()[-1:]
        return ": ".join([f"the compiling process ended with code {child.wait()}", *reason])

    def dismiss(self) -> None:
        """Let the process end after what it is compiling."""
        with self._lock:
            self._dismissed = True
            if self._child is not None and self._child.stdin is not None:
                with contextlib.suppress(OSError):
                    self._child.stdin.close()


def _start() -> "subprocess.Popen[str]":
    import subprocess  # only where something is compiled

    package = Path(__file__).absolute().parents[2] / "__init__.py"
    where = json.dumps([str(package), sys.path])
    # A group of its own: Ctrl-C is for us. Not a session: schedulers give each session its own share.
    return subprocess.Popen(
        [sys.executable, "-I", "-W", "ignore", "-c", _CHILD, where],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0 if os.name == "posix" else None,
    )


def serve_parent() -> None:
    """Compile what the lines of the input name, and answer each with what went wrong, or an empty string."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    gc.disable()  # a compiler makes millions of objects, nearly all of which live until it is done
    for line in sys.stdin:
        home, name, types = json.loads(line)
        problem = ""
        try:
            getattr(importlib.import_module(home), name).kernel.make(types)
            marker(home, name, types).touch()
        except Exception as error:  # noqa: BLE001 - whatever it was, the parent reports it
            problem = f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):  # the parent has ended: the code is on disk all the same
            print(json.dumps(problem), flush=True)
        gc.collect()
