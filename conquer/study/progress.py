"""Progress of a study: a bar for the whole run, one for each of its stages, and the time left.

rich measures the pace of each stage; this module adds up the stages that are left.
"""

import math
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task

COMPILING = "compiling"
READING = "reading domains"
BUILDING = "building features"
TUNING = "tuning"
RUNNING = "running cells"
REPORTING = "writing report"

_LIKE = {RUNNING: TUNING, BUILDING: READING}
"""Stages with the unit of work of an earlier one, whose pace they have until they are measured themselves."""
_PACES = {REPORTING: 1.0}
"""Seconds per unit of work before anything is measured."""
_EVERY = 10.0
"""Seconds between two lines where the output is not a terminal."""


class StudyProgress(Protocol):
    """Receives the work of each stage, and how much of it is done.

    `expect(stage, work)` announces the work of a later stage, `begin` starts a stage with its actual work, `advance`
    reports that some of it is done.
    """

    def expect(self, stage: str, work: float) -> None: ...
    def begin(self, stage: str, work: float) -> None: ...
    def advance(self, work: float) -> None: ...


class Quiet:
    """Reports nothing."""

    def expect(self, stage: str, work: float) -> None:
        pass

    def begin(self, stage: str, work: float) -> None:
        pass

    def advance(self, work: float) -> None:
        pass


QUIET = Quiet()


class Bars:
    """Progress bars on a terminal, or a line every ten seconds where the output goes to a file.

    `stages` are the stages to come, in the order of their bars, with their work, infinite where it is not known yet.
    The time left is shown once the work of all stages is known.
    """

    def __init__(
        self, console: "Console", stages: Mapping[str, float] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._clock = clock
        self._progress = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            get_time=clock,
            speed_estimate_period=math.inf,
        )
        # Without a total the bar shows activity only.
        self._total = self._progress.add_task("all", total=None, left=_Left(self))
        self._tasks: dict[str, Task] = {}
        self._stage = ""
        self._start = self._last = self._line = clock()
        for stage, work in (stages or {}).items():
            self.expect(stage, work)

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._progress.update(self._total, total=1.0, completed=1.0)
        self._progress.stop()

    def expect(self, stage: str, work: float) -> None:
        """Announce the remaining work of a stage, infinite where it is not known yet."""
        if stage not in self._tasks:
            self._progress.add_task(stage, start=False, visible=False, total=None, left="")
            self._tasks[stage] = self._progress.tasks[-1]
        task = self._tasks[stage]
        # Progress.update would reset the pace of a stage that gets more work.
        task.total = task.completed + work if math.isfinite(work) else None

    def begin(self, stage: str, work: float) -> None:
        """Show the bar of a stage that has work."""
        self.expect(stage, work)
        self._stage, self._last = stage, self._clock()
        if work:
            task = self._tasks[stage]
            self._progress.start_task(task.id)
            self._progress.update(task.id, visible=True)
            self._progress.advance(task.id, 0)  # rich counts the pace from its first sample on
            self._say(stage)

    def advance(self, work: float) -> None:
        """Move the bar of the stage, and the bar of the whole run to the share of its time that has passed."""
        task = self._tasks[self._stage]
        self._progress.advance(task.id, work)
        self._last = now = self._clock()
        left, gone = self.left(), now - self._start
        if math.isfinite(left):
            self._progress.update(self._total, total=1.0, completed=gone / (gone + left) if gone + left else 1.0)
        if now - self._line >= _EVERY:
            self._say(f"{self._stage}: {task.percentage:.0f} %, {_Left(self)}")

    def left(self) -> float:
        """Seconds until the run ends, infinite while unknown."""
        # Sums of parts differ from totals in the last digits.
        rest = {s: t for s, t in self._tasks.items() if t.total is None or not math.isclose(t.total, t.completed)}
        if any(task.total is None for task in rest.values()):
            return math.inf
        seconds = sum((task.remaining or 0.0) * self._pace(stage) for stage, task in rest.items())
        return max(0.0, seconds - (self._clock() - self._last))

    def _pace(self, stage: str) -> float:
        """Seconds per unit of work."""
        task = self._tasks.get(stage)
        if task is not None and task.completed > 0:
            return 1.0 / task.speed if task.speed else 0.0
        return self._pace(_LIKE[stage]) if stage in _LIKE else _PACES.get(stage, math.inf)

    def _say(self, line: str) -> None:
        self._line = self._clock()
        if not self._progress.console.is_terminal:
            self._progress.console.print(line)


class _Left:
    """The time left, formatted when it is drawn."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars

    def __str__(self) -> str:
        seconds = self._bars.left()
        if not math.isfinite(seconds):
            return "left   ?"
        minutes, second = divmod(round(seconds), 60)
        return f"left {minutes // 60}:{minutes % 60:02d}:{second:02d}"
