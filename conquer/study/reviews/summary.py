"""What a study says on the terminal when it is over."""

from collections.abc import Iterator
from typing import Any

from conquer.study.reviews import tables
from conquer.study.reviews.run import Finished
from conquer.study.reviews.spec import CEILING

_NAMES, _NUMBER = 13, 7
"""Columns of a terminal that the names and a number with its gap take."""


def show(finished: Finished, console: Any) -> None:
    """Print the mean errors, of several readings side by side, and what was left out."""
    if len(finished.specs) == 1:
        console.print(_table(tables.mean_errors(finished.results)))
    else:
        for table in _readings(finished.results, console.width):
            console.print(table)
    for name, why in finished.left_out.items():
        console.print(f"left out {name}: {why}")
    uneven = [name for name, facts in finished.domains.items() if facts.get("balanced") is False]
    if uneven and finished.specs[0].balance == "stars":
        console.print(f"not balanced, because ratings are fractions or of more than 11 kinds: {', '.join(uneven)}")
    unread = sum(facts.get("unreadable", 0) for facts in finished.domains.values())
    if unread:
        console.print(f"{unread} unreadable rows; the report says where")


def _table(frame: Any) -> Any:
    table = _grid("mean test error ± half a 95 % interval")
    sizes = [name.removeprefix("K=") for name in frame.columns if name.startswith("K=")]
    table.add_column("algorithm", no_wrap=True)
    for heading in (*(f"K = {size}" for size in sizes), "mean", "ratio"):
        table.add_column(heading, justify="right")
    for row in frame.iter_rows(named=True):
        cells = [_with_half(row[f"K={size}"], row[f"±{size}"]) for size in sizes]
        table.add_row(_short(row["algorithm"]), *cells, f"{row['mean']:.3f}", f"{row['of ceiling']:.2f}")
    return table


def _readings(results: Any, width: int) -> Iterator[Any]:
    """All readings side by side, a column for each of them and each K; in several tables where one is too wide."""
    frame, sizes = tables.readings(results), sorted(results["items"].unique().to_list())
    beside = max(1, (width - _NAMES) // (_NUMBER * len(sizes)))
    for first in range(0, len(frame), beside):
        some = frame[first : first + beside]
        table = _grid("mean test error under each reading; intervals are in the report")
        table.add_column("algorithm", no_wrap=True)
        for reading in some["reading"]:
            for position, items in enumerate(sizes):
                table.add_column(f"{reading if position == 0 else ''}\nK={items}", justify="right")
        for name in some.columns[1:]:
            table.add_row(_short(name), *(error for errors in some[name] for error in errors.split()))
        yield table


def _grid(title: str) -> Any:
    from rich.box import SIMPLE
    from rich.table import Table

    return Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))


def _short(algorithm: str) -> str:
    """A name that leaves room for the numbers on a terminal of 80 columns."""
    return "full info" if algorithm == CEILING else algorithm


def _with_half(mean: float, half: float | None) -> str:
    return f"{mean:.3f}" if half is None else f"{mean:.3f}±{half:.3f}"
