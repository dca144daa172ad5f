"""The study of boards: every cell, those that are missing computed, and its command."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from conquer.study.backends import Backend, serial
from conquer.study.boards import report
from conquer.study.boards.spec import BoardsSpec
from conquer.study.boards.work import cells_of, measure
from conquer.study.boards.worlds import world_of
from conquer.study.cells.store import Row
from conquer.study.cells.whole import all_rows, run_command
from conquer.study.progress import QUIET, StudyProgress


def study_boards(
    spec: BoardsSpec, out: str | Path, backend: Backend = serial, progress: StudyProgress = QUIET
) -> list[Row]:
    """The rows of all cells in the order of `cells_of`; what is there in `out` is not computed again."""
    return all_rows(measure, cells_of(spec), out, backend, progress)


def run_boards(
    spec: BoardsSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "boards",
    publish: str | Path | None = None,
) -> None:
    """What `conquer measure boards` does: run the study in `out`, and copy its tables and figures to `publish`."""
    if "votes" in spec.worlds:
        world_of("votes", min(spec.items), spec.seed, 0, spec.data)  # a file of something else is refused before all
    tiny = replace(spec, items=(4,), runs=(1,), looks=(20,), races=(1,), stops=0, data=None, worlds=("linear",))
    run_command(
        partial(study_boards, spec),
        partial(study_boards, tiny),
        partial(report.write, spec),
        jobs=jobs,
        cluster=cluster,
        out=out,
        publish=publish,
    )
