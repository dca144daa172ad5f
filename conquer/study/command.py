"""The command of a study whose cells are independent: refuse mistakes, run with progress bars, report, publish."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from conquer.study import output
from conquer.study.backends import choose
from conquer.study.progress import Bars
from conquer.study.runner import Cell, Row, run_cells

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import RenderableType

S = TypeVar("S", bound="DataclassInstance")
C = TypeVar("C", bound=Cell)


def run_command(
    spec: S,
    cells_of: Callable[[S], Sequence[C]],
    measure: Callable[[C], Sequence[Row]],
    write: Callable[[S, list[Row], Path], Path],
    *,
    kind: str,
    page: str | None,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path,
    overwrite: bool = False,
    publish: str | Path | None = None,
    summary: "Callable[[S, list[Row]], RenderableType] | None" = None,
) -> Path:
    """Run the cells of a study in the folder `out`, write its report there and return the report's path.

    `cells_of` lists the cells of `spec` or raises a ValueError, `measure` computes one of them, `write` makes the
    report of all rows. `page` is the report's file: another study's in `out` is replaced only with `overwrite`; None
    lets several studies share the folder. `summary` is printed at the end. Tables and figures are copied to `publish`.
    """
    from rich.console import Console

    console, start, folder = Console(), time.monotonic(), Path(out)
    with console.status("starting"):
        backend = choose(jobs, cluster)
        if page is not None:
            output.check_place(folder, page, kind, [spec], overwrite)
        cells = cells_of(spec)
    with Bars(console) as bars:
        rows = run_cells(measure, cells, folder, backend, bars)
    with console.status("writing report"):
        report = write(spec, rows, folder)
    if page is not None:
        output.sign(folder, kind, [spec])
    if summary is not None:
        console.print(summary(spec, rows))
    if publish is not None:
        package = measure.__module__.rpartition(".")[0]
        own = ["conquer"] if package.startswith("conquer.") else ["python", "-m", package]
        written = output.publish(folder, Path(publish), [*own, *sys.argv[1:]], measure.__module__)
        console.print(f"{len(written)} tables and figures in {publish}")
    console.print(f"{time.monotonic() - start:.0f} seconds. The report: {report}")
    return report
