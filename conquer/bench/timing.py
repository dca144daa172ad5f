"""Fair timing: contenders take turns, processor time is counted, and a ratio without a stable value is refused."""

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from conquer.types import Floats

_WIDEST = 0.6
"""A ratio whose middle half is wider than this share of its median says nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """Microseconds of processor time per round, one value for each turn of each contender."""

    turns: Mapping[str, Floats]

    def median(self, name: str) -> float:
        return float(np.median(self.turns[name]))

    def spread(self, name: str) -> "Ratio":
        """The median and the quartiles of a contender's turns, in microseconds."""
        low, middle, high = np.quantile(self.turns[name], (0.25, 0.5, 0.75))
        return Ratio(float(middle), float(low), float(high))

    def ratio(self, slow: str, fast: str) -> "Ratio":
        """How many times longer `slow` takes than `fast`, turn by turn."""
        low, middle, high = np.quantile(self.turns[slow] / self.turns[fast], (0.25, 0.5, 0.75))
        return Ratio(float(middle), float(low), float(high))


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median and the quartiles of the ratios of the turns.

    >>> str(Ratio(4.0, 3.9, 4.1)), str(Ratio(4.0, 2.0, 9.0))
    ('4.00 (3.90 to 4.10)', 'no stable value: 2.00 to 9.00')
    """

    median: float
    low: float
    high: float

    @property
    def stable(self) -> bool:
        return bool(self.high - self.low <= _WIDEST * self.median)

    def __str__(self) -> str:
        spread = f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.median:.2f} ({spread})" if self.stable else f"no stable value: {spread}"


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of all threads of this process while `work` runs, collector off."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        if enabled:
            gc.enable()


def cores() -> set[int]:
    """The cores this thread and those it starts may run on; none where the system does not let one choose."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()


@contextmanager
def running_on(chosen: set[int]) -> Iterator[None]:
    """This thread, and those it starts, run on these cores within; wherever they like where `chosen` is empty.

    >>> with running_on({max(cores())} if cores() else set()):
    ...     len(cores()) <= 1
    True
    """
    before = cores()
    if chosen:
        os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        if chosen:
            os.sched_setaffinity(0, before)


def race(contenders: Mapping[str, Callable[[], float]], turns: int) -> Race:
    """Let every contender take `turns` turns, one after the other, after one that does not count.

    Every turn has an order of its own, so that nobody always follows the same one's traces in the caches. A contender
    does its work and returns the microseconds of processor time that a round took.

    >>> sorted(race({"a": lambda: 1.0, "b": lambda: 2.0}, 3).turns)
    ['a', 'b']
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    rng = np.random.default_rng(0)
    for turn in range(turns + 1):
        for name in rng.permutation(list(contenders)).tolist():
            microseconds = contenders[name]()
            if turn:
                taken[name].append(microseconds)
    return Race({name: np.array(values) for name, values in taken.items()})


def each(work: Callable[[], object], rounds: int) -> Callable[[], float]:
    """A contender: microseconds per round of `work`, which runs `rounds` rounds."""
    return lambda: processor_seconds(work) / rounds * 1e6
