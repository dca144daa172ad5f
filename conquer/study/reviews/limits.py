"""`conquer measure limits`: how much one answer is worth, by what pair each round asks about.

Exact ridge on answers to duels stands beside ridge on true stars.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from conquer.judges import rewards_of
from conquer.rows import SparseRows
from conquer.study.cells.output import markdown
from conquer.study.progress import QUIET, RUNNING, Bars, StudyProgress
from conquer.study.reviews import learning
from conquer.study.reviews.rounds import rows_of
from conquer.study.reviews.sources import check
from conquer.study.reviews.spec import CEILING, Spec, preset
from conquer.study.reviews.trials import Trial, domains, trial, trials
from conquer.types import Floats, Ints

SHARES = (1, 2, 4, 8)
"""Full information is also taken from every second, fourth, eighth training review."""
LAMS = np.array([0.3, 1.0, 3.0, 10.0, 30.0])


def two_at_random(sets: Ints, rewards: Floats) -> Ints:
    """(T, 2): the first two of sets (T, K), whose members come in random order."""
    return sets[:, :2]


def least_shown(sets: Ints, rewards: Floats) -> Ints:
    """(T, 2): the two members of each set that were shown least so far, earlier members first.

    >>> least_shown(np.array([[0, 1, 2], [0, 1, 2], [2, 0, 1]]), np.zeros(3)).tolist()
    [[0, 1], [2, 0], [2, 1]]
    """
    shown = np.zeros(rewards.size, np.int64)
    pairs = np.empty((len(sets), 2), np.int64)
    for members, pair in zip(sets, pairs, strict=True):
        pair[:] = members[np.argsort(shown[members], kind="stable")[:2]]
        shown[pair] += 1
    return pairs


def best_and_worst(sets: Ints, rewards: Floats) -> Ints:
    """(T, 2): the truly best and the truly worst of each set, which no rule can know.

    >>> best_and_worst(np.array([[0, 1, 2]]), np.array([0.5, -1.0, 1.0])).tolist()
    [[2, 1]]
    """
    order = np.argsort(rewards[sets], axis=1, kind="stable")
    return np.take_along_axis(sets, order[:, [-1, 0]], axis=1)


PAIRS: dict[str, Callable[[Ints, Floats], Ints]] = {
    "two at random": two_at_random,
    "least shown": least_shown,
    "best and worst": best_and_worst,
}


def half_differences(X: SparseRows, pairs: Ints) -> SparseRows:
    """(T, D): what an answer to each pair of rows of X speaks of.

    >>> half_differences(SparseRows([0, 1, 2], [0, 1], [1.0, 1.0], 2), np.array([[0, 1]])).dense().tolist()
    [[0.5, -0.5]]
    """
    matrix = X.csr()
    halves = (matrix[pairs[:, 0]] - matrix[pairs[:, 1]]) * 0.5
    return SparseRows(halves.indptr, halves.indices, halves.data, X.dim)


def duel_error(given: Trial, pairs: Ints, chances: Floats) -> float:
    """Test error of the exact ridge on a linear judge's answers to these pairs; lam is chosen on development sets.

    Round t is answered "first" when chances[t] is below that answer's probability.
    """
    part, rewards = given.part, rewards_of(given.part.stars)
    gap = rewards[pairs[:, 0]] - rewards[pairs[:, 1]]
    answers = np.where(chances < (1.0 + gap / 2.0) / 2.0, 1.0, -1.0)
    wanted = rows_of(part, np.concatenate([given.held, part.evaluation]))
    asked = half_differences(part.X, pairs)
    scores = learning.ridge_scores(asked, np.arange(len(asked)), answers, LAMS, part.X, wanted)
    return learning.chosen(part, scores, given.development, given.course.tests).error


def errors(given: Trial, penalties: tuple[float, ...]) -> dict[str, float]:
    """{what is known: test error}: stars of all training reviews or of a share of them, or one answer per round."""
    found = {}
    for share in SHARES:
        known = replace(given.part, learning=given.part.learning[::share])
        rows, _ = learning.ridge(known, [(given.development, given.course.tests)], given.held, penalties)
        found[CEILING if share == 1 else f"1/{share} of it"] = rows[0]["error"]
    rng = np.random.default_rng(given.course.seed)
    sets = rng.permuted(given.course.sets, axis=1)
    chances = rng.random(len(sets))
    rewards = rewards_of(given.part.stars)
    return found | {name: duel_error(given, rule(sets, rewards), chances) for name, rule in PAIRS.items()}


def limits(spec: Spec, items: int = 5, progress: StudyProgress = QUIET) -> Any:
    """A frame with one row per domain, their mean, and its ratio to full information; see `errors` for the columns."""
    import polars as pl

    progress.begin(RUNNING, trials(spec))
    rows = []
    for domain in domains(spec):
        every = []
        for number in range(spec.repetitions):
            every.append(errors(trial(spec, domain, number, spec.features, items), spec.penalties))
            progress.advance(1)
        rows.append({"domain": domain.name} | {name: float(np.mean([e[name] for e in every])) for name in every[0]})
    table = pl.DataFrame(rows)
    mean = table.select(pl.lit("mean").alias("domain"), pl.exclude("domain").mean())
    ratio = mean.select(pl.lit("of full information").alias("domain"), pl.exclude("domain") / pl.col(CEILING))
    return pl.concat([table, mean, ratio])


def run_limits(data: str, *, repetitions: int = 3, features: str = "tfidf") -> None:
    """Print the table for all domains of some data."""
    from rich.console import Console

    check(data, None)
    (spec,) = preset("ours", data=data, repetitions=repetitions, features=features)
    with Bars(Console(stderr=True)) as bars:
        table = limits(spec, progress=bars)
    print(markdown(table), end="")
