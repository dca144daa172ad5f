"""`conquer measure defaults`: which update, features and lam are good without tuning, all on the same rounds."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from conquer.features.vocabulary import KINDS, Kind
from conquer.study.cells.output import write_text
from conquer.study.progress import QUIET, RUNNING, Bars, StudyProgress
from conquer.study.reviews import learning, rounds
from conquer.study.reviews.domains import Domain
from conquer.study.reviews.sources import check
from conquer.study.reviews.spec import CEILING, Spec, preset
from conquer.study.reviews.trials import domains, trial, trials

UPDATES = ("implicit", "margin", "coordinate")
LAMS = (0.1, 0.3, 1.0, 3.0, 10.0)
ALGORITHMS = ("ttg", "gnr", "gnw")


def compare(spec: Spec, items: int = 5, progress: StudyProgress = QUIET) -> Any:
    """A frame with a row for each features, update, algorithm: mean test error at each lam over domains, repetitions.

    The ceiling is a row of its own. A learner that diverges counts as choosing at random.
    """
    import polars as pl

    progress.begin(RUNNING, trials(spec))
    rows: list[tuple[str, str, str, str, float]] = []
    for domain, repetition in ((domain, number) for domain in domains(spec) for number in range(spec.repetitions)):
        for kind in KINDS:
            rows += _trials(spec, domain, repetition, kind, items)
            progress.advance(1 / len(KINDS))
    frame = pl.DataFrame(rows, schema=["features", "update", "algorithm", "lam", "error"], orient="row")
    wide = frame.group_by("features", "update", "algorithm", "lam").agg(pl.col("error").mean()).sort("lam")
    order = ["features", "update", "algorithm"]
    table = wide.pivot(on="lam", index=order, values="error").sort(order)
    return table.select(*order, *(f"lam {lam:g}" for lam in LAMS), "tuned")


def _trials(
    spec: Spec, domain: Domain, repetition: int, kind: Kind, items: int
) -> Iterator[tuple[str, str, str, str, float]]:
    given = trial(spec, domain, repetition, kind, items)
    sets = [(given.development, given.course.tests)]
    found, _ = learning.ridge(given.part, sets, given.held, spec.penalties)
    yield kind, "", CEILING, "tuned", found[0]["error"]
    for update in UPDATES:
        chosen = replace(spec, features=kind, update=update)
        for algorithm in ALGORITHMS:
            for lam in LAMS:
                yield kind, update, algorithm, f"lam {lam:g}", _error(chosen, algorithm, lam, given.part, given.course)


def _error(spec: Spec, algorithm: str, lam: float, part: rounds.Part, course: rounds.Course) -> float:
    try:
        return learning.follow(spec, algorithm, {"lam": lam}, part, course).errors[-1]
    except ArithmeticError:
        return rounds.test_error(part, course.tests, 0.0 * part.stars)


def run_defaults(data: str, *, repetitions: int = 3, out: Path = Path("defaults.csv")) -> None:
    """Write the table for all domains of some data as CSV, and print it."""
    from rich.console import Console

    check(data, None)
    (spec,), console = preset("ours", data=data, repetitions=repetitions), Console()
    with Bars(console) as bars:
        table = compare(spec, progress=bars)
    write_text(out, table.write_csv(float_precision=4))
    console.print(table)
    console.print(f"The table: {out}")
