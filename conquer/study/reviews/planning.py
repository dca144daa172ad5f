"""What a review study still has to do: the missing cells as tasks with their costs, beside the rows already there."""

from collections.abc import Mapping, Sequence
from typing import Any

from conquer.study.cells.runner import CellTask, Plan
from conquer.study.cells.store import Cells, Row, key
from conquer.study.reviews.domains import held
from conquer.study.reviews.readings import points as grid_of
from conquer.study.reviews.sources import DomainSource
from conquer.study.reviews.spec import CEILING, Spec
from conquer.study.reviews.work import Repetition, Tuning, tuning_effort

Known = Sequence[tuple[DomainSource, dict[str, Any]]]
"""Domains and what is known about them."""
Place = tuple[str, int, str]
"""(domain, items, algorithm)."""


def place(row: Row) -> Place:
    """Where a row of tuning or of a cell belongs."""
    return row["domain"], row["items"], row["algorithm"]


def untuned(spec: Spec, known: Known) -> dict[Place, Row]:
    """The points that need no tuning, because their grid has one."""
    grids = {algorithm: grid_of(spec, algorithm) for algorithm in spec.algorithms}
    return {
        (source.name, items, algorithm): {"parameters": dict(grid[0]), "tuning_error": None}
        for source, _ in known
        for items in spec.items
        for algorithm, grid in grids.items()
        if len(grid) == 1
    }


def tuning(spec: Spec, known: Known, cells: Cells, folder: str) -> Plan:
    """The choice of a grid point for each domain, items and algorithm. A task costs the items it looks at."""
    plan = Plan()
    for source, facts in known:
        absent: dict[str, tuple[int, str]] = {}
        for items in spec.items:
            for algorithm in spec.algorithms:
                grid = grid_of(spec, algorithm)
                if len(grid) == 1:
                    continue
                name = key("tuning", spec.settings(), source.key, items, algorithm, grid, spec.tune_at)
                row = cells.get(name)
                if row is None:
                    absent[name] = items, algorithm
                else:
                    plan.found[name] = row
        if absent:
            task = Tuning(spec, source, folder, tuple(absent.values()))
            count, ways = tuning_effort(held(facts, spec.development))
            cost = 8.0 * count * ways * sum(items for items, _ in absent.values())
            plan.tasks.append(CellTask(task, tuple(absent), cost))
    return plan


def repetitions(spec: Spec, known: Known, points: Mapping[Place, Row], cells: Cells, folder: str) -> Plan:
    """The cells; until their algorithms are tuned, all of them count as missing."""
    plan = Plan()
    for source, facts in known:
        for number in range(spec.repetitions):
            absent: dict[str, tuple[int, str, dict[str, Any]]] = {}
            for items in spec.items:
                for algorithm in (*spec.algorithms, CEILING):
                    tuned = points.get((source.name, items, algorithm))
                    if tuned is None and algorithm != CEILING:
                        absent[f"{items} {algorithm}"] = items, algorithm, {}
                        continue
                    point = dict(tuned["parameters"]) if tuned else spec.ceiling()
                    name = key("cell", spec.settings(), source.key, items, algorithm, number, point)
                    row = cells.get(name)
                    if row is None:
                        absent[name] = items, algorithm, point
                    else:
                        plan.found[name] = row
            if absent:
                task = Repetition(spec, source, folder, number, tuple(absent.values()))
                cost = float(sum(items for items, _, _ in absent.values()) * facts["reviews"] * spec.passes)
                plan.tasks.append(CellTask(task, tuple(absent), cost))
    return plan
