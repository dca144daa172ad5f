"""Progress of a study: a bar for each of its stages, with the time left."""

import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task

COMPILING = "compiling"
READING = "reading domains"
BUILDING = "building features"
RUNNING = "tuning and running"
REPORTING = "writing report"

_EVERY = 10.0
"""Seconds between two lines where the output is not a terminal."""


class StudyProgress(Protocol):
    """Receives the work of each stage, and how much of it is done.

    `begin` starts a stage with its work, or replaces what is left of a stage that has begun; `advance` reports that
    some of it is done.
    """

    def begin(self, stage: str, work: float) -> None: ...
    def advance(self, work: float) -> None: ...


class Quiet:
    """Reports nothing."""

    def begin(self, stage: str, work: float) -> None:
        pass

    def advance(self, work: float) -> None:
        pass


QUIET = Quiet()


class Bars:
    """Progress bars on a terminal, or a line every ten seconds where the output goes to a file."""

    def __init__(self, console: "Console", clock: Callable[[], float] = time.monotonic) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._clock, self._said = clock, clock()
        columns = TextColumn("{task.description:<18}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %")
        times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
        self._progress = Progress(
            *columns, *times, console=console, get_time=clock, speed_estimate_period=math.inf
        )  # fmt: skip
        self._tasks: dict[str, Task] = {}
        self._stage = ""

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, stage: str, work: float) -> None:
        """Show the bar of a stage that has work."""
        self._stage = stage
        if stage in self._tasks:
            task = self._tasks[stage]
            task.total = task.completed + work  # Progress.update would reset the pace
        elif work:
            self._progress.advance(self._progress.add_task(stage, total=work), 0)  # the first sample of its pace
            self._tasks[stage] = self._progress.tasks[-1]
            self._say(stage)

    def advance(self, work: float) -> None:
        """Move the bar of the stage."""
        task = self._tasks[self._stage]
        self._progress.advance(task.id, work)
        if self._clock() - self._said >= _EVERY:
            self._say(f"{self._stage}: {task.percentage:.0f} %, {task.time_remaining or 0.0:.0f} seconds left")

    def _say(self, line: str) -> None:
        self._said = self._clock()
        if not self._progress.console.is_terminal:
            self._progress.console.print(line)
