"""The study of staleness: every cell, those that are missing computed, and its command."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from conquer.study.backends import Backend, serial
from conquer.study.cells.store import Row
from conquer.study.cells.whole import all_rows, run_command
from conquer.study.progress import QUIET, StudyProgress
from conquer.study.staleness import report
from conquer.study.staleness.costs import courses
from conquer.study.staleness.spec import StalenessSpec
from conquer.study.staleness.work import cells_of, measure


def study_staleness(
    spec: StalenessSpec, out: str | Path, backend: Backend = serial, progress: StudyProgress = QUIET
) -> list[Row]:
    """The rows of all cells in the order of `cells_of`; what is there in `out` is not computed again."""
    return all_rows(measure, cells_of(spec), out, backend, progress)


def run_staleness(
    spec: StalenessSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "staleness",
    publish: str | Path | None = None,
) -> None:
    """What `conquer measure staleness` does: run the study in `out`, and copy its tables and figures to `publish`."""
    tiny = replace(spec, rounds=20, repetitions=2, delays=(1,), batches=(2,), regions=(2,), every=(10,))
    run_command(
        partial(study_staleness, spec),
        partial(study_staleness, tiny),
        lambda rows, folder: report.write(spec, courses(rows), folder),
        jobs=jobs,
        cluster=cluster,
        out=out,
        publish=publish,
    )
