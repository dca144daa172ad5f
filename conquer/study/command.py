"""What `conquer study` does: options to a specification, bars while it runs, a table at the end."""

import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from conquer.features.vocabulary import tabulate
from conquer.registry import ALGORITHMS, GROUPS
from conquer.study.backends import choose
from conquer.study.run import Finished, study
from conquer.study.spec import CEILING, PAPER, Spec, preset


def run_study(
    *,
    preset: str = "small",
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "study",
    command: Sequence[str] = (),
    **options: Any,
) -> int:
    """Run a study and report it in the folder `out`; returns the exit status 0.

    `options` are those of `specification`; `command` is what the user typed, for the report.
    """
    spec = specification(preset, **options)
    from rich.console import Console

    from conquer.study import report

    console = Console()
    start = time.monotonic()
    with Bars(console) as bars:
        if jobs > 1 and cluster is None:
            _compile(spec, bars)
        finished = study(spec, out, choose(jobs, cluster), bars)
    page = report.write(finished, shlex.join(command) or "conquer study")
    show(finished, console)
    console.print(f"{time.monotonic() - start:.0f} seconds. The report: {page}")
    return 0


def _compile(spec: Spec, bars: "Bars") -> None:
    """Compile every kernel of a study here, by a tiny one, so that workers find them on disk."""
    bars.begin("compiling", 1)
    tabulate(["one text"])
    tiny = Spec(
        domains=("android",), reviews=8_250, items=(3,), algorithms=("gnt",), repetitions=1, test_sets=2,
        model=spec.model, features=spec.features,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        study(tiny, folder)
    bars.advance(1)


def specification(name: str, **given: Any) -> Spec:
    """The specification that these options mean.

    >>> specification("small", items="5,10", algorithms="ttg,gnc").algorithms
    ('ttg', 'gnc')
    """
    options = {key: value for key, value in given.items() if value is not None}
    for key, number in (("items", int), ("penalties", float)):
        if key in options:
            try:
                options[key] = tuple(number(part) for part in options[key].split(","))
            except ValueError:
                raise ValueError(f"{key} must be numbers separated by commas, got {options[key]!r}") from None
    if "domains" in options:
        options["domains"] = tuple(part.strip() for part in options["domains"].split(",") if part.strip())
    if "algorithms" in options:
        options["algorithms"] = _algorithms(options["algorithms"])
    return preset(name, **options)


def _algorithms(text: str) -> tuple[str, ...]:
    # Fixed arms mean nothing on reviews, and some rivals take few features only.
    rivals = tuple(name for name in GROUPS["contextual"] if name not in PAPER)
    groups = {"paper": PAPER, "rivals": (*rivals, "random"), "all": (*PAPER, *rivals)}
    names = groups.get(text) or tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [name for name in names if name not in ALGORITHMS]
    if unknown:
        raise ValueError(f"no algorithm {', '.join(unknown)}; there are paper, rivals, all, {', '.join(ALGORITHMS)}")
    return names


class Bars:
    """Progress on a terminal: a bar for each stage with time gone and time to go."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=console,
            speed_estimate_period=600,
        )
        self._task: Any = None

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, stage: str, work: float) -> None:
        """Show a new bar; nothing where there is no work."""
        self._task = self._progress.add_task(stage, total=work) if work else None

    def advance(self, work: float) -> None:
        if self._task is not None:
            self._progress.advance(self._task, work)


def _with_half(mean: float, half: float | None) -> str:
    return f"{mean:.3f}" if half is None else f"{mean:.3f}±{half:.3f}"


def show(finished: Finished, console: Any) -> None:
    """Print the table of mean errors; the last column is the ratio to the ceiling."""
    from rich.box import SIMPLE
    from rich.table import Table

    from conquer.study import tables

    frame = tables.mean_errors(finished.results)
    table = Table(
        title="mean test error ± half a 95 % interval", title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0)
    )
    sizes = [name.removeprefix("K=") for name in frame.columns if name.startswith("K=")]
    table.add_column("algorithm", no_wrap=True)
    for size in sizes:
        table.add_column(f"K = {size}", justify="right")
    table.add_column("mean", justify="right")
    table.add_column("ratio", justify="right")
    for row in frame.iter_rows(named=True):
        cells = [_with_half(row[f"K={size}"], row[f"±{size}"]) for size in sizes]
        # The long name would leave no room for the numbers on a terminal of 80 columns.
        name = "full info" if row["algorithm"] == CEILING else row["algorithm"]
        table.add_row(name, *cells, f"{row['mean']:.3f}", f"{row['of ceiling']:.2f}")
    console.print(table)
    for name, why in finished.left_out.items():
        console.print(f"left out {name}: {why}")
    uneven = [name for name, facts in finished.domains.items() if facts.get("balanced") is False]
    if uneven and finished.spec.balance == "stars":
        console.print(f"not balanced, because some stars are fractions: {', '.join(uneven)}")
    unread = sum(facts.get("unreadable", 0) for facts in finished.domains.values())
    if unread:
        console.print(f"{unread} unreadable rows; the report says where")
