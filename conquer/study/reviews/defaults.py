"""Which update, features and lam are good without tuning: every combination on the same rounds, a table of errors.

Run it as `python -m conquer.study.reviews.defaults DATA OUT.csv [repetitions]`.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from conquer.features.vocabulary import KINDS
from conquer.study.reviews import learning, rounds
from conquer.study.reviews.domains import Domain
from conquer.study.reviews.spec import CEILING, Spec
from conquer.study.reviews.trials import domains, trial

UPDATES = ("implicit", "margin", "coordinate")
LAMS = (0.1, 0.3, 1.0, 3.0, 10.0)
ALGORITHMS = ("ttg", "gnr", "gnw")


def compare(spec: Spec, items: int = 5) -> Any:
    """A frame with a row for each features, update, algorithm: mean test error at each lam over domains, repetitions.

    The ceiling is a row of its own. A learner that diverges counts as choosing at random.
    """
    import polars as pl

    every = ((domain, repetition) for domain in domains(spec) for repetition in range(spec.repetitions))
    rows = [row for domain, repetition in every for row in _trials(spec, domain, repetition, items)]
    frame = pl.DataFrame(rows, schema=["features", "update", "algorithm", "lam", "error"], orient="row")
    wide = frame.group_by("features", "update", "algorithm", "lam").agg(pl.col("error").mean()).sort("lam")
    order = ["features", "update", "algorithm"]
    table = wide.pivot(on="lam", index=order, values="error").sort(order)
    return table.select(*order, *(f"lam {lam:g}" for lam in LAMS), "tuned")


def _trials(spec: Spec, domain: Domain, repetition: int, items: int) -> Iterator[tuple[str, str, str, str, float]]:
    for kind in KINDS:
        given = trial(spec, domain, repetition, kind, items)
        sets = [(given.development, given.course.tests)]
        found, _ = learning.ridge(given.part, sets, given.held, spec.penalties)
        yield kind, "", CEILING, "tuned", found[0]["error"]
        for update in UPDATES:
            chosen = replace(spec, features=kind, update=update)
            for algorithm in ALGORITHMS:
                for lam in LAMS:
                    error = _error(chosen, algorithm, lam, given.part, given.course)
                    yield kind, update, algorithm, f"lam {lam:g}", error


def _error(spec: Spec, algorithm: str, lam: float, part: rounds.Part, course: rounds.Course) -> float:
    try:
        return learning.follow(spec, algorithm, {"lam": lam}, part, course).errors[-1]
    except ArithmeticError:
        return rounds.test_error(part, course.tests, 0.0 * part.stars)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m conquer.study.reviews.defaults", description=__doc__)
    parser.add_argument("data")
    parser.add_argument("out", type=Path)
    parser.add_argument("repetitions", type=int, nargs="?", default=3)
    given = parser.parse_args()
    try:
        table = compare(Spec(data=given.data, repetitions=given.repetitions))
        given.out.write_text(table.write_csv(float_precision=4))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(table)
