"""What `conquer parse study` does: bars while it runs, a report and its first table at the end."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conquer.study.backends import choose
from conquer.study.cells.identity import check_place, sign
from conquer.study.parsing.spec import CEILING, ParsingSpec
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
    show(report.table(frame, spec.error[0], spec.refusal[0]), console)
    console.print(f"{time.monotonic() - start:.0f} seconds. The report: {page}")
    return 0


def show(table: Any, console: Any) -> None:
    """The report's first table in 80 columns: what a number of questions gives, by rule and pass."""
    from rich.box import SIMPLE
    from rich.table import Table

    settled = table["settled"].is_not_null().any()
    what = "right heads on the test part, gold punctuation aside"
    grid = Table(title=what, title_justify="left", box=SIMPLE, collapse_padding=True, pad_edge=False)
    grid.add_column("rule", no_wrap=True)
    for heading in ("pass", "questions", "of edges", "UAS", "± sd", "of ceiling", *(["settled"] if settled else [])):
        grid.add_column(heading, justify="right", no_wrap=True)
    for row in table.iter_rows(named=True):
        cells = [
            str(row["passes"] or ""),
            f"{row['questions']:,}",
            f"{row['share']:.1%}",
            f"{row['uas_nopunct']:.4f}",
            "" if row["sd"] is None else f"{row['sd']:.4f}",
            f"{row['of ceiling']:.3f}",
        ]
        after = ["" if row["settled"] is None else f"{row['settled']:.4f}"] if settled else []
        grid.add_row("full" if row["ask"] == CEILING else row["ask"], *cells, *after)
    console.print(grid)
    console.print("full: learnt from whole trees, the ceiling. settled: weights fitted anew to all answers so far.")
