"""The one way a study runs: what is missing goes to a backend, and every cell is kept as it comes.

A run that was stopped, by Ctrl-C, kill -9 or a power cut, goes on when the same plan is made again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conquer.study.backends import Backend, serial
from conquer.study.cells.store import Cells, Row
from conquer.study.progress import QUIET, StudyProgress


@dataclass(frozen=True, slots=True)
class CellTask:
    """Work for one worker: what it is given, the names of the cells it makes, in order, and what it costs."""

    content: Any
    names: tuple[str, ...]
    cost: float = 1.0


@dataclass(slots=True)
class Plan:
    """The tasks whose cells are missing, and the rows that are there already, by name."""

    tasks: list[CellTask] = field(default_factory=list)
    found: dict[str, Row] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        return sum(task.cost for task in self.tasks)

    @property
    def names(self) -> list[str]:
        """Of every cell, there or missing."""
        return [*self.found, *(name for task in self.tasks for name in task.names)]


def joined(plans: Iterable[Plan]) -> Plan:
    """One plan of several, to be run together."""
    every = Plan()
    for plan in plans:
        every.tasks += plan.tasks
        every.found |= plan.found
    return every


def missing(tasks: Iterable[CellTask], cells: Cells) -> Plan:
    """The plan for these tasks: each with a cell that is not there is run as a whole."""
    plan = Plan()
    for task in tasks:
        rows = {name: row for name in task.names if (row := cells.get(name)) is not None}
        if len(rows) == len(task.names):
            plan.found |= rows
        else:
            plan.tasks.append(task)
    return plan


def run(
    function: Callable[[Any], Sequence[Row]],
    plan: Plan,
    cells: Cells,
    stage: str,
    backend: Backend = serial,
    progress: StudyProgress = QUIET,
) -> dict[str, Row]:
    """All rows of a plan by name. `function` makes the rows of one task, in the order of its names.

    The longest tasks go first, so that no worker is left alone with one at the end.
    """
    order = sorted(plan.tasks, key=lambda task: -task.cost)
    rows = dict(plan.found)
    progress.begin(stage, plan.cost)
    for position, made in backend(function, [task.content for task in order]) if order else ():
        for name, row in zip(order[position].names, made, strict=True):
            cells.put(name, row)
            rows[name] = row
        progress.advance(order[position].cost)
    return rows
