"""`conquer measure limits`: the value of one answer, as exact ridge regression on duels beside true stars."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conquer.judges import rewards_of
from conquer.rows import SparseRows
from conquer.study.output import markdown
from conquer.study.progress import QUIET, RUNNING, Bars, StudyProgress
from conquer.study.reviews import outcomes, rounds
from conquer.study.reviews.domains import Domain, load, store
from conquer.study.reviews.sources import check, sources
from conquer.study.reviews.spec import CEILING, Spec, preset
from conquer.types import Floats, Ints

if TYPE_CHECKING:
    from polars import DataFrame

SHARES = (1, 2, 4, 8)
"""Full information is also taken from every second, fourth and eighth training review."""
PENALTIES = np.array([0.3, 1.0, 3.0, 10.0, 30.0])


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One repetition of a domain at one K: its part and course, the development part, and sets drawn from it."""

    part: rounds.Part
    course: rounds.Course
    development: Ints
    development_sets: Ints


def trial(spec: Spec, domain: Domain, number: int, items: int) -> Trial:
    """The repetition of this number as a study of this specification has it."""
    split = rounds.split(spec, domain, number)
    return Trial(split.part, split.course(items), split.development, split.development_sets(items))


def domains(spec: Spec) -> Iterator[Domain]:
    """The domains of a specification that have at least its minimum of reviews; a ValueError if there are none."""
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in sources(spec):
            sizes[source.name] = store(source, Path(folder))["reviews"]
            if sizes[source.name] >= spec.minimum:
                yield load(source, folder)
    if max(sizes.values()) < spec.minimum:
        found = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ValueError(f"every domain needs at least {spec.minimum} reviews after balancing, got {found}")


def two_at_random(sets: Ints, rewards: Floats) -> Ints:
    """(T, 2): the first two of sets (T, K), whose members are in random order."""
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
    """(T, D): half the difference of each pair of rows of X, the features of a duel.

    >>> half_differences(SparseRows([0, 1, 2], [0, 1], [1.0, 1.0], 2), np.array([[0, 1]])).dense().tolist()
    [[0.5, -0.5]]
    """
    matrix = X.csr()
    rows = (matrix[pairs[:, 0]] - matrix[pairs[:, 1]]) * 0.5
    return SparseRows(rows.indptr, rows.indices, rows.data, X.dim)


def duel_error(given: Trial, pairs: Ints, chances: Floats) -> float:
    """Test error of exact ridge on a linear judge's answers to these pairs; lam is chosen on development sets.

    Round t is answered "first" when chances[t] is below that answer's probability.
    """
    part, rewards = given.part, rewards_of(given.part.stars)
    gap = rewards[pairs[:, 0]] - rewards[pairs[:, 1]]
    answers = np.where(chances < (1.0 + gap / 2.0) / 2.0, 1.0, -1.0)
    wanted = rounds.rows_of(part, np.concatenate([given.development, part.evaluation]))
    duels = half_differences(part.X, pairs)
    scores = outcomes.ridge_scores(duels, np.arange(len(duels)), answers, PENALTIES, part.X, wanted)
    return outcomes.chosen(part, scores, given.development_sets, given.course.tests).error


def errors(given: Trial, penalties: tuple[float, ...]) -> dict[str, float]:
    """{source of information: test error}: stars of all or some training reviews, or one answer per round."""
    found = {}
    for share in SHARES:
        some = replace(given.part, learning=given.part.learning[::share])
        found[CEILING if share == 1 else f"1/{share} of it"] = _ceiling(replace(given, part=some), penalties)
    rng = np.random.default_rng(given.course.seed)
    sets = rng.permuted(given.course.sets, axis=1)
    chances = rng.random(len(sets))
    rewards = rewards_of(given.part.stars)
    return found | {name: duel_error(given, rule(sets, rewards), chances) for name, rule in PAIRS.items()}


def _ceiling(given: Trial, penalties: tuple[float, ...]) -> float:
    sets = [(given.development_sets, given.course.tests)]
    return float(outcomes.ridge(given.part, sets, given.development, penalties)[0][0]["error"])


def limits(spec: Spec, items: int = 5, progress: StudyProgress = QUIET) -> "DataFrame":
    """A frame with one row per domain, their mean, and its ratio to full information; see `errors` for the columns."""
    import polars as pl

    progress.begin(RUNNING, len(sources(spec)) * spec.repetitions)
    rows = []
    for domain in domains(spec):
        every = []
        for number in range(spec.repetitions):
            every.append(errors(trial(spec, domain, number, items), spec.penalties))
            progress.advance(1)
        rows.append({"domain": domain.name} | {name: float(np.mean([e[name] for e in every])) for name in every[0]})
    table = pl.DataFrame(rows)
    mean = table.select(pl.lit("mean").alias("domain"), pl.exclude("domain").mean())
    ratio = mean.select(pl.lit("of full information").alias("domain"), pl.exclude("domain") / pl.col(CEILING))
    return pl.concat([table, mean, ratio])


def run_limits(data: str, *, repetitions: int = 3, features: str = "tfidf") -> None:
    """Print the table of `limits` for all domains of some data."""
    from rich.console import Console

    check(data, None)
    (spec,) = preset("ours", data=data, repetitions=repetitions, features=features)
    with Bars(Console(stderr=True)) as bars:
        table = limits(spec, progress=bars)
    print(markdown(table), end="")
