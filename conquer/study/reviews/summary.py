"""What a study says on the terminal when it is over."""

from typing import Any

from conquer.study.reviews import tables
from conquer.study.reviews.run import Finished
from conquer.study.reviews.spec import CEILING


def show(finished: Finished, console: Any) -> None:
    """Print the table of mean errors, its last column the ratio to the ceiling, and what was left out."""
    console.print(_table(tables.mean_errors(finished.results)))
    for name, why in finished.left_out.items():
        console.print(f"left out {name}: {why}")
    uneven = [name for name, facts in finished.domains.items() if facts.get("balanced") is False]
    if uneven and finished.spec.balance == "stars":
        console.print(f"not balanced, because some stars are fractions: {', '.join(uneven)}")
    unread = sum(facts.get("unreadable", 0) for facts in finished.domains.values())
    if unread:
        console.print(f"{unread} unreadable rows; the report says where")


def _table(frame: Any) -> Any:
    from rich.box import SIMPLE
    from rich.table import Table

    title = "mean test error ± half a 95 % interval"
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    sizes = [name.removeprefix("K=") for name in frame.columns if name.startswith("K=")]
    table.add_column("algorithm", no_wrap=True)
    for heading in (*(f"K = {size}" for size in sizes), "mean", "ratio"):
        table.add_column(heading, justify="right")
    for row in frame.iter_rows(named=True):
        cells = [_with_half(row[f"K={size}"], row[f"±{size}"]) for size in sizes]
        # The long name would leave no room for the numbers on a terminal of 80 columns.
        name = "full info" if row["algorithm"] == CEILING else row["algorithm"]
        table.add_row(name, *cells, f"{row['mean']:.3f}", f"{row['of ceiling']:.2f}")
    return table


def _with_half(mean: float, half: float | None) -> str:
    return f"{mean:.3f}" if half is None else f"{mean:.3f}±{half:.3f}"
