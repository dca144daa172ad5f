"""What `conquer parse study` does: bars while it runs, a report and its first table at the end."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from conquer.study.backends import choose
from conquer.study.cells.identity import check_place, sign
from conquer.study.parsing.spec import ParsingSpec
from conquer.study.progress import Bars


def run_parsing_study(
    spec: ParsingSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "parsing-study",
    overwrite: bool = False,
    command: Sequence[str] = (),
) -> int:
    """Run a study and report it in the folder `out`; returns the exit status 0.

    `command` is what the user typed, for the report. Another study's report in `out` is replaced only with `overwrite`.
    """
    from rich.console import Console

    console = Console()
    start = time.monotonic()
    with console.status("starting"):
        backend = choose(jobs, cluster)
        from conquer.study.parsing import report
        from conquer.study.parsing.run import cells_of, study_parsing

        check_place(out, "report.md", "parsing", spec, overwrite)
        cells_of(spec)  # a mistake is one line, before any bar
    with Bars(console) as bars:
        frame = study_parsing(spec, out, backend, bars)
    with console.status("writing report"):
        page = report.write(frame, spec, Path(out), shlex.join(command) or "conquer parse study")
    sign(out, "parsing", spec)
    console.print(page.read_text().split("\n## ")[1])
    console.print(f"{time.monotonic() - start:.0f} seconds. The report: {page}")
    return 0
