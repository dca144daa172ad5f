"""What a study still has to do: the missing cells as tasks with their costs, beside the rows already there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conquer.registry import find
from conquer.study.reviews import tasks
from conquer.study.reviews.domains import Source, held
from conquer.study.reviews.results import Cells, Row
from conquer.study.reviews.spec import CEILING, Spec, key

Known = Sequence[tuple[Source, dict[str, Any]]]
"""Domains and what is known about them."""
Points = dict[tuple[str, int, str], Row]
"""{(domain, items, algorithm): tuning row}."""


@dataclass(slots=True)
class Plan:
    """Tasks with their costs (items looked at), the names their cells will have, and the rows there already."""

    tasks: list[Any] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    names: dict[tuple[Any, ...], str] = field(default_factory=dict)
    found: list[Row] = field(default_factory=list)

    @property
    def cost(self) -> float:
        return sum(self.costs)


def tuning(spec: Spec, known: Known, cells: Cells, work: str) -> tuple[Plan, Points]:
    """The tuning that is missing, and the points that are known; one grid point needs no tuning."""
    plan, points = Plan(), Points()
    for source, facts in known:
        pairs = []
        for items in spec.items:
            for algorithm in spec.algorithms:
                place = (source.name, items, algorithm)
                grid = [dict(point) for point in find(algorithm).grid]
                if len(grid) == 1:
                    points[place] = {"parameters": grid[0], "tuning_error": None}
                    continue
                plan.names[place] = key("tuning", spec.settings(), source.key, items, algorithm, grid)
                row = cells.get(plan.names[place])
                if row is None:
                    pairs.append((items, algorithm))
                else:
                    points[place] = row
        if pairs:
            plan.tasks.append(tasks.Tuning(spec, source, work, tuple(pairs)))
            count, ways = tasks.tuning_effort(held(facts, spec.development))
            plan.costs.append(8.0 * count * ways * sum(items for items, _ in pairs))
    return plan, points


def repetitions(spec: Spec, known: Known, points: Mapping[tuple[str, int, str], Row], cells: Cells, work: str) -> Plan:
    """The cells that are missing; before their algorithms are tuned all of them are, as far as anyone can tell."""
    plan = Plan()
    for source, facts in known:
        for number in range(spec.repetitions):
            absent: list[tuple[int, str, dict[str, Any]]] = []
            for items in spec.items:
                for algorithm in (*spec.algorithms, CEILING):
                    tuned = points.get((source.name, items, algorithm))
                    if tuned is None and algorithm != CEILING:
                        absent.append((items, algorithm, {}))
                        continue
                    point = dict(tuned["parameters"]) if tuned else spec.ceiling()
                    place = (source.name, items, algorithm, number)
                    plan.names[place] = key("cell", spec.settings(), source.key, items, algorithm, number, point)
                    row = cells.get(plan.names[place])
                    if row is None:
                        absent.append((items, algorithm, point))
                    else:
                        plan.found.append(row)
            if absent:
                plan.tasks.append(tasks.Repetition(spec, source, work, number, tuple(absent)))
                plan.costs.append(float(sum(items for items, _, _ in absent) * facts["reviews"] * spec.passes))
    return plan
