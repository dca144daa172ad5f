"""What `conquer study` does: options to a specification, bars while it runs, a table at the end."""

import math
import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from conquer.study import progress as outlook
from conquer.study.backends import choose
from conquer.study.reviews import files

if TYPE_CHECKING:
    from conquer.study.reviews.run import Finished
    from conquer.study.reviews.spec import Spec


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

    `options` are those of `specification`; `command` is what the user typed, for the report. What can be refused is
    refused before anything is compiled, and what needs no look at the algorithms before they are imported.
    """
    backend = choose(jobs, cluster)
    names = _parts(options["domains"]) if options.get("domains") else None
    files.check(options.get("data") or "synthetic", names, text=options.get("text"), rating=options.get("rating"))
    spec = specification(preset, **options)
    from conquer.study.reviews.domains import sources

    if spec.data in files.EMBEDDED:
        sources(spec)
    Path(out).mkdir(parents=True, exist_ok=True)
    from rich.console import Console

    from conquer.study.plots.reviews import FIGURES
    from conquer.study.reviews import report
    from conquer.study.reviews.run import study

    console = Console()
    start = time.monotonic()
    with Bars(console, (outlook.READING, outlook.TUNING, outlook.RUNNING)) as bars:
        bars.expect(outlook.REPORTING, len(FIGURES))
        if jobs > 1 and cluster is None:
            _compile(spec, bars)
        finished = study(spec, out, backend, bars)
        page = report.write(finished, shlex.join(command) or "conquer study", bars)
    show(finished, console)
    console.print(f"{time.monotonic() - start:.0f} seconds. The report: {page}")
    return 0


def _compile(spec: "Spec", bars: "Bars") -> None:
    """Compile every kernel of a study here, by a tiny one, so that workers find them on disk."""
    from conquer.features.vocabulary import tabulate
    from conquer.study.reviews.run import study
    from conquer.study.reviews.spec import Spec

    bars.begin(outlook.COMPILING, 1)
    tabulate(["one text"])
    tiny = Spec(
        domains=("android",), reviews=8_250, items=(3,), algorithms=("gnt",), repetitions=1, test_sets=2,
        model=spec.model, features=spec.features,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        study(tiny, folder)
    bars.advance(1)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_LISTS: dict[str, Callable[[str], float]] = {"items": int, "penalties": float}


def specification(name: str, **given: Any) -> "Spec":
    """The specification that these options mean; None leaves the preset's value, lists are comma-separated.

    >>> specification("small", items="5,10", algorithms="ttg,gnc").algorithms
    ('ttg', 'gnc')
    """
    options = {key: value for key, value in given.items() if value is not None}
    for key, number in _LISTS.items():
        if key in options:
            try:
                options[key] = tuple(map(number, options[key].split(",")))
            except ValueError:
                raise ValueError(f"{key} must be numbers separated by commas, got {options[key]!r}") from None
    if "domains" in options:
        options["domains"] = _parts(options["domains"])
    if "algorithms" in options:
        options["algorithms"] = _algorithms(options["algorithms"])
    from conquer.study.reviews.spec import preset

    return preset(name, **options)


def _algorithms(text: str) -> tuple[str, ...]:
    from conquer.registry import groups, table
    from conquer.study.reviews.spec import PAPER

    # Fixed arms mean nothing on reviews, and some rivals take few features only.
    rivals = tuple(name for name in groups()["contextual"] if name not in PAPER)
    known = {"paper": PAPER, "rivals": (*rivals, "random"), "all": (*PAPER, *rivals)}
    names = known.get(text) or _parts(text)
    unknown = [name for name in names if name not in table()]
    if unknown:
        raise ValueError(f"no algorithm {', '.join(unknown)}; there are paper, rivals, all, {', '.join(table())}")
    return names


@dataclass(frozen=True, slots=True)
class _Left:
    """The time a run still takes, in words, at the moment they are drawn."""

    bars: "Bars"

    def __str__(self) -> str:
        seconds = self.bars.left()
        if not math.isfinite(seconds):
            return "left   ?"
        minutes, rest = divmod(round(seconds), 60)
        return f"left {minutes // 60}:{minutes % 60:02d}:{rest:02d}"


class Bars:
    """Progress on a terminal: a bar for the whole run with the time it still takes, and a bar for each stage.

    Nothing is said about the time before the work of all `stages` is known.
    """

    def __init__(self, console: Any, stages: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._clock = clock
        self._outlook = outlook.Outlook()
        for stage in stages:
            self._outlook.expect(stage, math.inf)
        self._start = self._last = clock()
        self._progress = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        # Without a total the bar only shows that something moves.
        self._whole: Any = self._progress.add_task("all", total=None, left=_Left(self))
        self._stage = ""
        self._task: Any = None

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._progress.update(self._whole, total=1.0, completed=1.0)
        self._progress.stop()

    def expect(self, stage: str, work: float) -> None:
        """A later stage will have so much work."""
        self._outlook.expect(stage, work)

    def begin(self, stage: str, work: float) -> None:
        """Show a new bar; nothing where there is no work."""
        self._outlook.expect(stage, work)
        self._last = self._clock()
        self._stage, self._task = stage, self._progress.add_task(stage, total=work, left="") if work else None

    def advance(self, work: float) -> None:
        """Move the bar of the stage, and that of the whole run to the share of its time that is over."""
        now = self._clock()
        self._outlook.advance(self._stage, work, now - self._last)
        self._last = now
        if self._task is not None:
            self._progress.advance(self._task, work)
        left = self._outlook.left()
        if math.isfinite(left):
            gone = now - self._start
            self._progress.update(self._whole, total=1.0, completed=gone / (gone + left) if gone + left else 1.0)

    def left(self) -> float:
        """Seconds until the whole run is over, infinity while they cannot be known."""
        return max(0.0, self._outlook.left() - (self._clock() - self._last))


def _with_half(mean: float, half: float | None) -> str:
    return f"{mean:.3f}" if half is None else f"{mean:.3f}±{half:.3f}"


def show(finished: "Finished", console: Any) -> None:
    """Print the table of mean errors; the last column is the ratio to the ceiling."""
    from rich.box import SIMPLE
    from rich.table import Table

    from conquer.study.reviews import tables
    from conquer.study.reviews.spec import CEILING

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
