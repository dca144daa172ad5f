"""The study of boards: every cell, those that are missing computed."""

from pathlib import Path

from conquer.study.backends import Backend, serial
from conquer.study.boards.spec import BoardsSpec
from conquer.study.boards.work import cells_of, measure
from conquer.study.cells.runner import CellTask, missing, run
from conquer.study.cells.store import Cells, Row
from conquer.study.progress import QUIET, RUNNING, StudyProgress


def study_boards(
    spec: BoardsSpec, out: str | Path, backend: Backend = serial, progress: StudyProgress = QUIET
) -> list[Row]:
    """The rows of all cells in the order of `cells_of`; what is there in `out` is not computed again."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    cells = Cells(folder / "cells")
    tasks = [CellTask(cell, (cell.name,), cell.cost) for cell in cells_of(spec)]
    rows = run(measure, missing(tasks, cells), cells, RUNNING, backend, progress)
    return [rows[name] for task in tasks for name in task.names]
