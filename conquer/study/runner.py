"""How every study runs: the cells that are missing go to a backend, and each finished cell is stored at once.

A cell is one row of results. Its name is a hash of everything its numbers depend on, so a run that was interrupted by
Ctrl-C, kill -9 or a power cut continues when the same command is given again.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, TypeVar

from conquer.files import write_atomically
from conquer.study.backends import Backend, serial
from conquer.study.progress import QUIET, RUNNING, StudyProgress

Row = dict[str, Any]
"""The results of one cell, JSON values only."""


def key(*content: Any) -> str:
    """A name made of JSON content: equal content has the same name on every machine.

    >>> key("cell", {"b": 1, "a": 2}) == key("cell", {"a": 2, "b": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class CellStore:
    """A folder of finished cells, one small JSON file each.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = CellStore(Path(folder))
    ...     store.put("ab12", {"error": 0.25})
    ...     store.get("ab12"), store.get("cd34")
    ({'error': 0.25}, None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.json"

    def get(self, name: str) -> Row | None:
        """The row of this name, or None where it has not been computed or its file is damaged."""
        try:
            row: Row = json.loads(self._path(name).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return row

    def put(self, name: str, row: Row) -> None:
        """Write a row atomically."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(row).encode())


def versions() -> dict[str, str]:
    """The versions of the packages that numbers could depend on."""
    found = {name: metadata.version(name) for name in ("numpy", "numba", "scipy")}
    try:
        found["conquer"] = metadata.version("conquer-bandits")
    except metadata.PackageNotFoundError:
        found["conquer"] = "from source"
    return found


@dataclass(frozen=True, slots=True)
class CellTask:
    """Work for one worker: its argument, the names of the cells it computes, in order, and its relative cost."""

    content: Any
    names: tuple[str, ...]
    cost: float = 1.0


@dataclass(slots=True)
class Plan:
    """The tasks with missing cells, the rows already stored, by name, and all wanted names if others compute some."""

    tasks: list[CellTask] = field(default_factory=list)
    found: dict[str, Row] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)

    @property
    def cost(self) -> float:
        return sum(task.cost for task in self.tasks)

    @property
    def names(self) -> list[str]:
        """The names of all cells, stored or missing."""
        return [*self.found, *(name for task in self.tasks for name in task.names)]


def joined(plans: Iterable[Plan]) -> Plan:
    """One plan made of several."""
    every = Plan()
    for plan in plans:
        every.tasks += plan.tasks
        every.found |= plan.found
    return every


def missing(tasks: Iterable[CellTask], store: CellStore) -> Plan:
    """The plan for these tasks: a task is run in full if any of its cells is missing."""
    plan = Plan()
    for task in tasks:
        rows = {name: row for name in task.names if (row := store.get(name)) is not None}
        if len(rows) == len(task.names):
            plan.found |= rows
        else:
            plan.tasks.append(task)
    return plan


def run(
    function: Callable[[Any], Sequence[Row]],
    plan: Plan,
    store: CellStore,
    stage: str,
    backend: Backend = serial,
    progress: StudyProgress = QUIET,
    later: float = 0.0,
) -> dict[str, Row]:
    """All rows of a plan by name. `function` computes the rows of one task, in the order of its names.

    `later` is the cost of the plans that follow in the same stage. The longest tasks start first, so that no worker is
    left with one at the end.
    """
    order = sorted(plan.tasks, key=lambda task: -task.cost)
    rows = dict(plan.found)
    progress.begin(stage, plan.cost + later)
    for position, made in backend(function, [task.content for task in order]) if order else ():
        for name, row in zip(order[position].names, made, strict=True):
            store.put(name, row)
            rows[name] = row
        progress.advance(order[position].cost)
    return rows


class Cell(Protocol):
    """A cell that is computed by itself: its name, and its relative cost."""

    @property
    def name(self) -> str: ...
    @property
    def cost(self) -> float: ...


C = TypeVar("C", bound=Cell)


def run_cells(
    measure: Callable[[C], Sequence[Row]],
    cells: Iterable[C],
    out: str | Path,
    backend: Backend = serial,
    progress: StudyProgress = QUIET,
) -> list[Row]:
    """The rows of these cells in their order; cells stored in the folder `out` are not computed again."""
    store = CellStore(Path(out) / "cells")
    tasks = [CellTask(cell, (cell.name,), cell.cost) for cell in cells]
    rows = run(measure, missing(tasks, store), store, RUNNING, backend, progress)
    return [rows[name] for task in tasks for name in task.names]
