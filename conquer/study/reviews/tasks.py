"""The two kinds of tasks of a study: tune the algorithms on a domain, and run one repetition of it."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.data import splits
from conquer.simulation import simulate
from conquer.study.reviews import outcomes, rounds
from conquer.study.reviews.domains import Domain, load
from conquer.study.reviews.rounds import Course, Part, count_of
from conquer.study.reviews.sources import DomainSource
from conquer.study.reviews.spec import CEILING, Spec, points
from conquer.study.runner import Row, versions
from conquer.tickets import stream
from conquer.types import Ints

SEVERAL = (5, 10, 20)
"""Set sizes whose mean error chooses a grid point: the error on large sets alone depends on a handful of reviews."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Choose a grid point for each (items, algorithm) of a domain, on its development part alone."""

    spec: Spec
    source: DomainSource
    folder: str
    wanted: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """Run each (items, algorithm, chosen point) of a domain on one split of its other reviews."""

    spec: Spec
    source: DomainSource
    folder: str
    number: int
    wanted: tuple[tuple[int, str, dict[str, Any]], ...]


def tune(task: Tuning) -> list[Row]:
    """One row for each wanted pair: the chosen point and every point's development error.

    A point at which the learner diverges has no error and is never chosen.
    """
    spec, domain = task.spec, load(task.source, task.folder)
    development = splits.development(domain.strata, domain.hashes, spec.development)
    errors: dict[tuple[int, str], list[list[float]]] = {pair: [] for pair in task.wanted}
    efforts = {items: tuning_effort(spec, development.size, items) for items, _ in task.wanted}
    most = max(ways for _, ways in efforts.values())
    for number, fold in enumerate(splits.folds(development, domain.name, spec.seed, most)):
        part = rounds.restricted(domain, fold.learning, fold.evaluation, spec.features, spec.hashing)
        name = (spec.seed, domain.name, "fold", number)
        for items, pairs in itertools.groupby(sorted(task.wanted), key=lambda pair: pair[0]):
            count, ways = efforts[items]
            if number >= ways:
                continue
            once = rounds.draw(part, part.learning, count, items, stream("rounds", items, *name))
            course = rounds.course(part, once, 1, 1, (1.0,), *name)
            sizes = tuning_sizes(spec, domain, items, fold.evaluation.size)
            tests = [rounds.draw(part, fold.evaluation, spec.test_sets, s, stream("tuning", s, *name)) for s in sizes]
            for _, algorithm in pairs:
                grid = points(spec, algorithm)
                found = [_development_error(spec, algorithm, point, part, course, tests) for point in grid]
                errors[items, algorithm].append(found)
    rows = []
    for (items, algorithm), table in errors.items():
        means = np.mean(table, axis=0)
        best = int(np.argmin(means))
        if not np.isfinite(means[best]):
            raise ArithmeticError(f"{algorithm} diverged at every grid point in {domain.name} with {items} items")
        rows.append(
            {
                "domain": domain.name,
                "items": items,
                "algorithm": algorithm,
                "parameters": points(spec, algorithm)[best],
                "tuning_error": float(means[best]),
                "errors": [float(e) if np.isfinite(e) else None for e in means],
            }
        )
    return rows


def tuning_sizes(spec: Spec, domain: Domain, items: int, pool: int) -> list[int]:
    """The sizes of the sets, drawn from `pool` reviews, whose mean error chooses the point for rounds of `items`."""
    if domain.groups.size:
        return [0]
    sizes = SEVERAL if spec.tuning == "all" else (items,)
    return [size for size in sizes if size <= pool] or [items]


def tuning_effort(spec: Spec, development: int, items: int) -> tuple[int, int]:
    """(rounds, folds) for tuning rounds of `items` on a development part of this size.

    Where a run has a round for each training review: three times as many rounds as reviews to learn from, up to 1,500,
    in at most six folds. Elsewhere as many rounds as the run has, in at most 24 folds. The folds make 3,000 rounds
    where they can: with fewer, chance chooses the point.
    """
    training = round(development * (1.0 - spec.development - spec.test) / spec.development)
    if spec.rounds == "training":
        count, most = 2 * development, 6
    else:
        count, most = count_of(spec.rounds, training, items), 24
    count = max(1, min(1500, count))
    return count, max(1, min(most, -(-3000 // count)))


def _development_error(spec: Spec, algorithm: str, point: Row, part: Part, course: Course, tests: list[Ints]) -> float:
    learner = outcomes.learner_for(spec, algorithm, part.X.dim, point)
    try:
        for segment in course.segments:
            simulate(learner, segment, judge=spec.judge, seed=course.seed)
    except ArithmeticError:
        return float("inf")
    scores = outcomes.scores_of(learner, part, part.evaluation)
    values = outcomes.first_values(learner, part, part.evaluation, scores)
    return float(np.mean([rounds.test_error(part, sets, values) for sets in tests]))


def repeat(task: Repetition) -> list[Row]:
    """One row for each wanted cell, in their order.

    A learner that diverges in its cell has the error of choosing at random.
    """
    spec, domain = task.spec, load(task.source, task.folder)
    split = rounds.split(spec, domain, task.number)
    part = split.part
    rows: dict[tuple[int, str], Row] = {}
    ceilings: dict[int, tuple[Ints, Ints]] = {}
    for items, cells in itertools.groupby(sorted(task.wanted, key=lambda cell: cell[:2]), key=lambda cell: cell[0]):
        course = split.course(items, spec.passes, rounds.CHECKPOINTS)
        about = {
            "equal_in_sets": rounds.equal_pairs(course.sets, domain.stars),
            "unique_in_sets": rounds.unique_best(course.sets, domain.stars),
        }
        for _, algorithm, point in cells:
            if algorithm == CEILING:
                ceilings[items] = split.development_sets(items), course.tests
                continue
            rows[items, algorithm] = {"parameters": point} | _run(spec, algorithm, point, part, course) | about
    if ceilings:
        found, seconds = outcomes.ridge(part, list(ceilings.values()), split.development, spec.penalties)
        for items, row in zip(ceilings, found, strict=True):
            rows[items, CEILING] = row | {"trained": int(part.learning.size), "seconds": seconds}
    shared = {"domain": domain.name, "repetition": task.number, "features_seen": part.X.dim, "versions": versions()}
    return [
        shared | {"items": items, "algorithm": algorithm} | rows[items, algorithm]
        for items, algorithm, _ in task.wanted
    ]


def _run(spec: Spec, algorithm: str, point: Row, part: Part, course: Course) -> Row:
    try:
        return outcomes.measured(outcomes.follow(spec, algorithm, point, part, course), spec.passes, part.span)
    except ArithmeticError:
        blind = rounds.test_error(part, course.tests, np.zeros(len(part.X)))
        return {"error": blind, "score_error": blind, "trained": len(course.sets), "diverged": True}
