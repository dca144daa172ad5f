"""A small study from its cells to its published tables: how it runs, and what its command shows."""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from conquer.study.backends import Backend, choose, serial
from conquer.study.cells import output
from conquer.study.cells.runner import CellTask, missing, run
from conquer.study.cells.store import Cells, Row
from conquer.study.progress import COMPILING, QUIET, REPORTING, RUNNING, Bars, StudyProgress


class NamedCell(Protocol):
    """What one worker is given, with the name of the row it makes and what that costs."""

    @property
    def name(self) -> str: ...
    @property
    def cost(self) -> float: ...


C = TypeVar("C", bound=NamedCell)
Study = Callable[[str | Path, Backend, StudyProgress], list[Row]]
"""All rows of a study in a folder: what is there is not computed again."""


def all_rows(
    measure: Callable[[C], Sequence[Row]],
    wanted: Iterable[C],
    out: str | Path,
    backend: Backend = serial,
    progress: StudyProgress = QUIET,
) -> list[Row]:
    """The rows of these cells in their order; what is there in `out` is not computed again."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    cells = Cells(folder / "cells")
    tasks = [CellTask(cell, (cell.name,), cell.cost) for cell in wanted]
    rows = run(measure, missing(tasks, cells), cells, RUNNING, backend, progress)
    return [rows[name] for task in tasks for name in task.names]


def run_command(
    study: Study,
    tiny: Study,
    write: Callable[[list[Row], Path], Any],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path,
    publish: str | Path | None = None,
) -> None:
    """Run `study` in the folder `out`, `write` its tables and figures there and copy them to `publish`.

    `tiny` is the same study made small: it compiles every kernel here, so that workers find them on disk.
    """
    from rich.console import Console

    console, start = Console(), time.monotonic()
    with console.status("starting"):
        backend = choose(jobs, cluster)
    with Bars(console, {COMPILING: 0.0, RUNNING: float("inf"), REPORTING: 1.0}) as bars:
        if jobs > 1 and cluster is None:
            bars.begin(COMPILING, 1.0)
            with tempfile.TemporaryDirectory() as folder:
                tiny(folder, serial, QUIET)
            bars.advance(1.0)
        rows = study(out, backend, bars)
        bars.begin(REPORTING, 1.0)
        write(rows, Path(out))
        bars.advance(1.0)
    if publish is not None:
        copied = output.publish(Path(out), Path(publish))
        console.print(f"{len(copied)} tables and figures in {publish}")
    console.print(f"{time.monotonic() - start:.0f} seconds. Tables and figures: {out}")
