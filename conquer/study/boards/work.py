"""The study's cells: a block of runs each, watched at every look, raced to the order, or run until one may stop."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conquer.study.boards.outcomes import endings, false_claims, taus
from conquer.study.boards.pairs import asked
from conquer.study.boards.replay import replayed
from conquer.study.boards.spec import DESIGNS, PER_ITEM, BoardsSpec
from conquer.study.boards.worlds import PENALTIES, BoardWorld, world_of
from conquer.study.cells.store import Row, key
from conquer.tickets import stream
from conquer.types import Floats

_METHOD = 1
"""Counts up where the same cell would have other numbers."""
WATCH, RACE, STOP = "watch", "race", "stop"
SMALL, LONGEST = 5, 4000
"""Items of the world in which runs end when they may, and the most answers of one."""
_BLOCK = 10_000
"""Runs of a cell times K^2: a moment's work, and more runs later do not make those there anew."""


@dataclass(frozen=True, slots=True)
class BoardCell:
    """Runs `start` to `stop` of one chooser in one world, small enough to send to any worker."""

    kind: str
    world: str
    items: int
    chooser: str
    start: int
    stop: int
    answers: int
    lam: float
    delta: float
    tolerance: float
    seed: int
    data: str | None
    source: str

    @property
    def name(self) -> str:
        """What the cell's numbers depend on."""
        own = (self.kind, self.world, self.items, self.chooser, self.start, self.stop, self.answers, self.lam)
        return key("boards", _METHOD, own, self.delta, self.tolerance, self.seed, self.source)

    @property
    def cost(self) -> float:
        """About so many microseconds: a look costs all pairs, and sep all pairs' contrasts."""
        pairs = self.items * self.items
        own = {"sep": 0.5 * pairs, "pairucb": 200.0 + pairs}.get(self.chooser, 0.05 * pairs)
        return (self.stop - self.start) * self.answers * (20.0 + 0.05 * pairs + own)


def cells_of(spec: BoardsSpec) -> list[BoardCell]:
    """Every cell of a study.

    >>> spec = BoardsSpec(worlds=("equal",), items=(4,), runs=(40,), looks=(9,), races=(1,), stops=0)
    >>> len(cells_of(spec))
    3
    """
    source = "" if spec.data is None else hashlib.blake2b(Path(spec.data).read_bytes(), digest_size=16).hexdigest()
    cells = []

    def add(kind: str, world: str, items: int, choosers: tuple[str, ...], runs: int, answers: int, lam: float) -> None:
        data = (spec.data, source) if world == "votes" else (None, "")
        tolerance = spec.tolerance if kind == STOP else 0.0
        size = 10 if kind == STOP else max(1, _BLOCK // (items * items))
        for chooser in choosers:
            for start in range(0, runs, size):
                block = (start, min(start + size, runs), answers, lam, spec.delta, tolerance, spec.seed)
                cells.append(BoardCell(kind, world, items, chooser, *block, *data))

    for items, runs, looks, races in zip(spec.items, spec.runs, spec.looks, spec.races, strict=True):
        for world in spec.worlds:
            if world == "votes" and items != min(spec.items):
                continue  # so many items that were all compared with each other are few
            add(WATCH, world, items, spec.watched, runs, looks, 1.0)
            if world != "equal":
                everyone = (*DESIGNS, *spec.algorithms)
                add(RACE, world, items, everyone, races, 2 * PER_ITEM * items, PENALTIES[world])
    if spec.stops:
        add(STOP, "linear", SMALL, ("random", "tob"), spec.stops, LONGEST, 1.0)
    return cells


def measure(cell: BoardCell) -> list[Row]:
    """The row of one cell: counts of false claims, the mean course of tau, or when and how well runs ended."""
    found: list[Any] = []
    for run in range(cell.start, cell.stop):
        world = world_of(cell.world, cell.items, cell.seed, run, cell.data)
        found.append(_outcome(cell, world, run))
    row: Row = {field: getattr(cell, field) for field in ("kind", "world", "items", "chooser", "start", "answers")}
    row |= {"runs": len(found), "lam": cell.lam}
    if cell.kind == WATCH:
        return [row | {"wrong": {name: sum(each[name] for each in found) for name in found[0]}}]
    if cell.kind == RACE:
        return [row | {"tau": np.mean(found, axis=0).round(6).tolist()}]
    done = [each["done"] for each in found]
    ends = [float(each["behind"][-1 if n is None else n - 1]) for each, n in zip(found, done, strict=True)]
    return [row | {"done": done, "behind": ends, "course": np.mean([e["behind"] for e in found], axis=0).tolist()}]


def _outcome(cell: BoardCell, world: BoardWorld, run: int) -> Any:
    seed = stream("boards run", cell.seed, cell.world, cell.items, run)
    pairs, answers = asked(cell.chooser, world, cell.answers, cell.lam, seed)
    looks = replayed(pairs, answers, cell.items, cell.lam)
    if cell.kind == WATCH:
        return false_claims(looks, world.truth, cell.delta, cell.lam)
    if cell.kind == RACE:
        return _held(taus(looks, world.truth), cell.answers)
    return endings(looks, world.truth, cell.delta, cell.lam, cell.tolerance)


def _held(course: Floats, size: int) -> Floats:
    """(size,): a course whose last value goes on: a rule that has fallen silent asks nothing more."""
    return np.concatenate([course, np.full(size - course.size, course[-1])])
