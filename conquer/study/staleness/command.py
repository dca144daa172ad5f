"""What `conquer measure staleness` does: bars while it runs, then where the tables and figures are."""

import time
from pathlib import Path

from conquer.study.backends import choose
from conquer.study.progress import COMPILING, REPORTING, RUNNING, Bars, StudyProgress
from conquer.study.staleness.spec import StalenessSpec


def run_staleness(
    spec: StalenessSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "staleness",
    publish: str | Path | None = None,
) -> None:
    """Run a study in the folder `out`, and copy its tables and figures to the folder `publish`."""
    from rich.console import Console

    console, start = Console(), time.monotonic()
    with console.status("starting"):
        backend = choose(jobs, cluster)
        from conquer.study.cells import output
        from conquer.study.staleness import report
        from conquer.study.staleness.costs import courses
        from conquer.study.staleness.run import study_staleness
    with Bars(console, {COMPILING: 0.0, RUNNING: float("inf"), REPORTING: 1.0}) as bars:
        if jobs > 1 and cluster is None:
            compile_kernels(spec, bars)
        found = courses(study_staleness(spec, out, backend, bars))
        bars.begin(REPORTING, 1.0)
        report.write(spec, found, Path(out))
        bars.advance(1.0)
    if publish is not None:
        copied = output.publish(Path(out), Path(publish))
        console.print(f"{len(copied)} tables and figures in {publish}")
    console.print(f"{time.monotonic() - start:.0f} seconds. Tables and figures: {out}")


def compile_kernels(spec: StalenessSpec, progress: StudyProgress) -> None:
    """Compile every kernel of the study here, by a tiny one, so that workers find them on disk."""
    import tempfile
    from dataclasses import replace

    from conquer.study.staleness.run import study_staleness

    progress.begin(COMPILING, 1.0)
    tiny = replace(spec, rounds=20, repetitions=2, delays=(1,), batches=(2,), regions=(2,), every=(10,))
    with tempfile.TemporaryDirectory() as folder:
        study_staleness(tiny, folder)
    progress.advance(1.0)
