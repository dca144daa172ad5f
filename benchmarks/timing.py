"""Fair timing: contenders take turns, processor time is counted, and an unstable ratio has no verdict."""

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from conquer.types import Floats

_WIDEST = 0.6
"""A ratio whose middle half is wider than this share of its median says nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """Microseconds of processor time a round, one value for each turn of each contender."""

    turns: Mapping[str, Floats]

    def median(self, name: str) -> float:
        return float(np.median(self.turns[name]))

    def spread(self, name: str) -> "Ratio":
        """The median and the quartiles of a contender's turns, in microseconds."""
        return Ratio.of(self.turns[name])

    def ratio(self, slow: str, fast: str) -> "Ratio":
        """How many times longer `slow` takes than `fast`, turn by turn."""
        return Ratio.of(self.turns[slow] / self.turns[fast])

    def rows(self) -> dict[str, dict[str, float]]:
        """{contender: median and quartiles}, as JSON takes it."""
        return {name: asdict(self.spread(name)) for name in self.turns}


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median and the quartiles of the ratios of the turns.

    >>> str(Ratio(4.0, 3.9, 4.1)), str(Ratio(4.0, 2.0, 9.0))
    ('4.00 (3.90 to 4.10)', 'no stable value: 2.00 to 9.00')
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, turns: Floats) -> "Ratio":
        """The median and the quartiles of these values."""
        low, middle, high = np.quantile(turns, (0.25, 0.5, 0.75))
        return cls(float(middle), float(low), float(high))

    @property
    def stable(self) -> bool:
        return bool(self.high - self.low <= _WIDEST * self.median)

    def __str__(self) -> str:
        spread = f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.median:.2f} ({spread})" if self.stable else f"no stable value: {spread}"


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio and its target; `larger`: whether a larger ratio is better."""

    what: str
    ratio: Ratio
    must: float
    larger: bool

    @property
    def verdict(self) -> str:
        """reached or missed by the median; "barely" when a quartile contradicts it; unstable without a median."""
        if not self.ratio.stable:
            return "unstable"
        low, median, high = (self._reached(value) for value in (self.ratio.low, self.ratio.median, self.ratio.high))
        word = "reached" if median else "missed"
        return word if low == high else f"{word}, barely"

    def _reached(self, value: float) -> bool:
        return value >= self.must if self.larger else value <= self.must

    def row(self) -> dict[str, Any]:
        """The goal as JSON takes it."""
        return {**asdict(self), "verdict": self.verdict}

    def line(self) -> str:
        """A row of a Markdown table."""
        return f"| {self.what} | {self.ratio} | {'>=' if self.larger else '<='} {self.must:g} | {self.verdict} |"


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
    """The cores that this thread may run on; empty where the system has no affinity."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()


@contextmanager
def running_on(chosen: set[int]) -> Iterator[None]:
    """Restrict this thread and those it starts to these cores; no restriction when `chosen` is empty.

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
    """Give every contender `turns` turns in random order, after a first turn that does not count.

    A contender does its work and returns the microseconds of processor time that a round took.

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
