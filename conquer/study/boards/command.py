"""What `conquer measure boards` does: bars while it runs, then where the tables and figures are."""

import time
from pathlib import Path

from conquer.study.backends import choose
from conquer.study.boards.spec import BoardsSpec
from conquer.study.progress import COMPILING, REPORTING, RUNNING, Bars, StudyProgress


def run_boards(
    spec: BoardsSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "boards",
    publish: str | Path | None = None,
) -> None:
    """Run a study in the folder `out`, and copy its tables and figures to the folder `publish`."""
    from rich.console import Console

    console, start = Console(), time.monotonic()
    with console.status("starting"):
        backend = choose(jobs, cluster)
        from conquer.study.boards import report
        from conquer.study.boards.run import study_boards
        from conquer.study.cells import output
    with Bars(console, {COMPILING: 0.0, RUNNING: float("inf"), REPORTING: 1.0}) as bars:
        if jobs > 1 and cluster is None:
            compile_kernels(spec, bars)
        rows = study_boards(spec, out, backend, bars)
        bars.begin(REPORTING, 1.0)
        report.write(spec, rows, Path(out))
        bars.advance(1.0)
    if publish is not None:
        copied = output.publish(Path(out), Path(publish))
        console.print(f"{len(copied)} tables and figures in {publish}")
    console.print(f"{time.monotonic() - start:.0f} seconds. Tables and figures: {out}")


def compile_kernels(spec: BoardsSpec, progress: StudyProgress) -> None:
    """Compile every kernel of the study here, by a tiny one, so that workers find them on disk."""
    import tempfile
    from dataclasses import replace

    from conquer.study.boards.run import study_boards

    progress.begin(COMPILING, 1.0)
    tiny = replace(spec, items=(4,), runs=(1,), looks=(20,), races=(1,), stops=0, data=None, worlds=("linear",))
    with tempfile.TemporaryDirectory() as folder:
        study_boards(tiny, folder)
    progress.advance(1.0)
