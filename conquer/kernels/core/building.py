"""Machine code while others work: threads that load it, and processes of their own that make it."""

import atexit
import itertools
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from conquer.kernels.core.builder import Builder
    from conquer.kernels.core.signatures import Signature


class Buildable(Protocol):
    home: str
    name: str
    heavy: bool

    def load(self, key: "Signature") -> bool: ...

    def build(self, key: "Signature") -> None: ...


@dataclass(slots=True, eq=False)
class Order:
    """One kernel for one signature."""

    kernel: Buildable
    key: "Signature"
    done: threading.Event = field(default_factory=threading.Event)
    taken: bool = False
    problem: str = ""


PATIENCE = 0.5
"""Seconds of interpreted work after which machine code is worth its second of loading."""
_BUILDERS = min(2, os.cpu_count() or 1)
_WORDY = 0.7


def _to_stderr(text: str) -> None:
    print(f"conquer: {text}", file=sys.stderr, flush=True)


say: Callable[[str], None] = _to_stderr
"""What is done with a line about a wait; a program with bars or a log of its own puts its own function here."""


class _Works:
    """All that is under way in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.native = threading.Lock()
        """Held by a thread that imports or is inside the compiler's library. At exit and while forking nobody is."""
        self.orders: dict[tuple[str, str, Signature], Order] = {}
        self.queue: queue.PriorityQueue[tuple[int, int, Order]] = queue.PriorityQueue()
        self.numbers = itertools.count()
        self.threads: list[threading.Thread] = []
        self.builders: list[Builder] = []
        self.left = 0
        self.spent = 0.0
        self.eager = self.insisting = False
        self.told = False


_works = _Works()


def _begin_again() -> None:
    """A forked child has none of its parent's threads."""
    global _works
    _works = _Works()


if hasattr(os, "register_at_fork"):
    # A thread inside the compiler's library holds locks, of modules being imported among them, that no child could
    # ever open.
    os.register_at_fork(
        before=lambda: _works.native.acquire(),
        after_in_parent=lambda: _works.native.release(),
        after_in_child=_begin_again,
    )


def is_hot() -> bool:
    """Whether interpreting has taken long enough to be worth machine code."""
    return _works.eager or _works.spent > PATIENCE


def count(seconds: float) -> None:
    """Interpreted work was done for so long."""
    works = _works
    works.spent += seconds
    if works.spent > 1.0 and not works.told and not works.eager:
        works.told = True
        if pending():
            say("compiling in the background, once; until then slower")


def be_eager() -> None:
    """From now on everything that is called is compiled, however little it is used."""
    _works.eager = True


def insist() -> None:
    """From now on nothing is interpreted: whatever is called waits for machine code. For those who measure time."""
    _works.insisting = True


def insisting() -> bool:
    return _works.insisting


def request(kernel: Buildable, key: "Signature", urgent: bool = False) -> Order:
    """Have machine code for these types as soon as there is some."""
    works = _works
    with works.lock:
        name = kernel.home, kernel.name, key
        order = works.orders.get(name)
        if order is None:
            order = works.orders[name] = Order(kernel, key)
            works.left += 1
        elif not urgent or order.taken:
            return order
        works.queue.put((0 if urgent else 1 if kernel.heavy else 2, next(works.numbers), order))
        if len(works.threads) < _BUILDERS:
            thread = threading.Thread(target=_serve, args=(works,), name="conquer-kernels", daemon=True)
            works.threads.append(thread)
            thread.start()
    return order


def wait(kernel: Buildable, key: "Signature") -> bool:
    """Until there is machine code, saying so after a moment; whether there is."""
    order = request(kernel, key, urgent=True)
    if not order.done.wait(_WORDY):
        say(f"compiling {kernel.home.removeprefix('conquer.')}.{kernel.name}, once ...")
        order.done.wait()
    return not order.problem


def pending() -> int:
    """How many kernels are still to come."""
    return _works.left


def settle() -> Iterator[tuple[str, float]]:
    """Wait for all that was asked for, yielding (kernel, seconds waited) as each is there."""
    for order in list(_works.orders.values()):
        began = time.perf_counter()
        order.done.wait()
        yield f"{order.kernel.home}.{order.kernel.name}", time.perf_counter() - began


def _serve(works: _Works) -> None:
    with works.native:
        from conquer.kernels.core.builder import Builder
    builder = Builder()
    works.builders.append(builder)
    while True:
        *_, order = works.queue.get()
        with works.lock:
            mine, order.taken = not order.taken, True
        if not mine:
            continue
        try:
            order.problem = _fulfil(works, order, builder)
        except Exception as error:  # noqa: BLE001 - whatever it was, the kernel stays interpreted
            order.problem = f"{type(error).__name__}: {error}"
        with works.lock:
            works.left -= 1
        order.done.set()
        if order.problem:
            say(f"{order.kernel.home}.{order.kernel.name} stays interpreted: {order.problem}")


def _fulfil(works: _Works, order: Order, builder: "Builder") -> str:
    """Load it, after a process has made it if need be; what went wrong, or nothing."""
    kernel = order.kernel
    with works.native:
        from conquer.kernels.core.cache import folder_of, is_compiled

        folder = folder_of(kernel.home)
        if folder is None:  # nothing can be handed over on disk: made here, while the others take turns with it
            kernel.build(order.key)
            return ""
        if is_compiled(folder, kernel.name) and kernel.load(order.key):
            return ""
    problem = builder.make(kernel.home, kernel.name, order.key)
    if problem:
        return problem
    with works.native:
        return "" if kernel.load(order.key) else f"the code was not found in {folder}"


@atexit.register
def _leave() -> None:
    """Nobody may be inside the compiler's library when the process ends; what is half made is made by the next."""
    _works.native.acquire()
    for builder in _works.builders:
        builder.dismiss()
