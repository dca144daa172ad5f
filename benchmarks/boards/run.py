"""The study of boards: runs of answers, the board after every answer, and what is measured of it.

A cell is a block of runs of one kind: `watch` checks every board for false claims, `race` follows how close the order
is to the true one, `stop` ends a run when its board allows it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.boards.spec import DESIGNS, PER_ITEM, BoardsSpec
from benchmarks.boards.worlds import PENALTIES, BoardWorld, duels_of, world_of
from conquer.boards.widths import INTERVALS, Interval, Width
from conquer.study.command import run_command
from conquer.study.runner import Row, key
from conquer.tickets import stream
from conquer.types import Floats, Ints

_LOOKS = 128
"""Boards that are computed together: enough for array arithmetic, and little memory with 100 items."""
_METHOD = 1
"""Incremented when the same cell would have other numbers."""
WATCH, RACE, STOP = "watch", "race", "stop"
SMALL, LONGEST = 5, 4000
"""Items of the world in which runs end when their board allows it, and the most answers of one."""
_BLOCK = 10_000
"""Runs of a cell times K^2, so that a cell takes a moment and more runs later reuse the first ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """L boards of K items, P pairs (i < j): scores (L, K), gaps, V and B (L, P), spread (L, 1).

    V = x' A^-1 x and B = ||A^-1 x||^2 of a pair's difference x; `first` is the number of the first board, from 1.
    """

    first: int
    scores: Floats
    gaps: Floats
    V: Floats
    B: Floats
    spread: Floats


def looks_of(pairs: Ints, answers: Floats, count: int, lam: float) -> Iterator[Looks]:
    """The boards of a run over `count` items of one feature each: those of the full model after every answer.

    Each answer is a rank-one update of A^-1, so V and B of all pairs are cumulative sums.

    >>> looks = next(looks_of(np.array([[0, 1], [1, 2]]), np.array([1.0, 1.0]), 3, 1.0))
    >>> looks.V.shape, looks.scores.argmax(axis=1).tolist()
    ((2, 3), [0, 0])
    """
    one, two = np.triu_indices(count, 1)
    inverse, w = np.eye(count) / lam, np.zeros(count)
    V, B, spread = np.full(one.size, 2.0 / lam), np.full(one.size, 2.0 / lam**2), 0.0
    for start in range(0, len(pairs), _LOOKS):
        part = range(start, min(start + _LOOKS, len(pairs)))
        gains, backs, scores = (np.empty((len(part), count)) for _ in range(3))
        scales, spreads = np.empty((len(part), 1)), np.empty((len(part), 1))
        for k, t in enumerate(part):
            i, j = pairs[t]
            gain = 0.5 * (inverse[i] - inverse[j])
            h = 0.5 * (gain[i] - gain[j])
            loss = answers[t] - 0.5 * (w[i] - w[j])
            gains[k], backs[k], scales[k] = gain, inverse @ gain, 1.0 / (1.0 + h)
            w = w + loss / (1.0 + h) * gain
            inverse = inverse - np.outer(gain / (1.0 + h), gain)
            spread += loss * loss * h / (1.0 + h)
            scores[k], spreads[k] = w, spread
        along, back = gains[:, one] - gains[:, two], backs[:, one] - backs[:, two]
        length = (gains * gains).sum(axis=1, keepdims=True)
        V_here = V - np.cumsum(scales * along * along, axis=0)
        B_here = B + np.cumsum(scales * along * (scales * length * along - 2.0 * back), axis=0)
        V, B = V_here[-1], B_here[-1]
        yield Looks(start + 1, scores, scores[:, one] - scores[:, two], V_here, B_here, spreads)


def false_claims(looks: Iterable[Looks], truth: Floats, delta: float, lam: float) -> dict[str, bool]:
    """For each interval, whether a board ever called an item better that is not better.

    `fixed` is the narrowest, a normal tail being below exp(-z^2/2): the others are computed only where it claims.
    """
    one, two = np.triu_indices(truth.size, 1)
    ahead = truth[one] - truth[two]
    wrong: dict[str, bool] = dict.fromkeys(INTERVALS, False)
    for part in looks:
        claimed = np.abs(part.gaps) > _width("fixed", part.spread, truth.size, delta, lam).half(part.V, part.B, 1)
        claimed &= part.gaps * ahead <= 0.0
        if claimed.any():
            gaps, V, B = np.abs(part.gaps[claimed]), part.V[claimed], part.B[claimed]
            spread = np.broadcast_to(part.spread, claimed.shape)[claimed]
            for name in INTERVALS:
                half = _width(name, spread, truth.size, delta, lam).half(V, B, one.size)
                wrong[name] |= bool((gaps > half).any())
    return wrong


def taus(looks: Iterable[Looks], truth: Floats) -> Floats:
    """(T,): Kendall's tau between the board's order and the true one after every answer; a tie counts as half."""
    one, two = np.triu_indices(truth.size, 1)
    ahead = np.sign(truth[one] - truth[two])
    return np.concatenate([(np.sign(part.gaps) * ahead).mean(axis=1) for part in looks])


def endings(looks: Iterable[Looks], truth: Floats, delta: float, lam: float, tolerance: float) -> dict[str, Any]:
    """`done`: after how many answers the run may stop, or None; `behind` (T,): the leader's distance to the best."""
    count, done, behind = truth.size, None, []
    one, two = np.triu_indices(count, 1)
    place = np.zeros((count, count), np.int64)
    place[one, two] = place[two, one] = np.arange(one.size)
    for part in looks:
        leader = part.scores.argmax(axis=1)
        rows = np.arange(leader.size)[:, None]
        half = _width("anytime", part.spread, count, delta, lam).half(part.V, part.B, count - 1)[rows, place[leader]]
        upper = part.scores - part.scores[rows, leader[:, None]] + half
        upper[rows[:, 0], leader] = 0.0
        behind.append(truth.max() - truth[leader])
        settled = (upper <= tolerance).all(axis=1)
        if done is None and settled.any():
            done = part.first + int(settled.argmax())
    return {"done": done, "behind": np.concatenate(behind)}


def _width(interval: Interval, spread: Floats, count: int, delta: float, lam: float) -> Width:
    """A board's width where every board has its own spread. One-hot items worth [-1, 1] have |w*| <= sqrt(K)."""
    return Width(interval, delta, 0.25, lam, float(np.sqrt(count)), cast(float, spread), 1)


@dataclass(frozen=True, slots=True)
class BoardCell:
    """Runs `start` to `stop` of one rule in one world, small enough to send to any worker."""

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
        """A hash of what the cell's numbers depend on."""
        own = (self.kind, self.world, self.items, self.chooser, self.start, self.stop, self.answers, self.lam)
        return key("boards", _METHOD, own, self.delta, self.tolerance, self.seed, self.source)

    @property
    def cost(self) -> float:
        """Microseconds, roughly: a board costs all pairs, and sep all contrasts of pairs."""
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
                continue  # files have few items that were all compared with each other
            add(WATCH, world, items, spec.watched, runs, looks, 1.0)
            if world != "equal":
                every = (*DESIGNS, *spec.algorithms)
                add(RACE, world, items, every, races, 2 * PER_ITEM * items, PENALTIES[world])
    if spec.stops:
        add(STOP, "linear", SMALL, ("random", "tob"), spec.stops, LONGEST, 1.0)
    return cells


def measure(cell: BoardCell) -> list[Row]:
    """The row of one cell: counts of false claims, the mean curve of tau, or when and how well runs ended."""
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


def _outcome(cell: BoardCell, world: BoardWorld, run: int) -> dict[str, Any] | Floats:
    seed = stream("boards run", cell.seed, cell.world, cell.items, run)
    pairs, answers = duels_of(cell.chooser, world, cell.answers, cell.lam, seed)
    looks = looks_of(pairs, answers, cell.items, cell.lam)
    if cell.kind == WATCH:
        return false_claims(looks, world.truth, cell.delta, cell.lam)
    if cell.kind == RACE:
        curve = taus(looks, world.truth)
        return np.pad(curve, (0, cell.answers - curve.size), mode="edge")  # a silent rule keeps its last order
    return endings(looks, world.truth, cell.delta, cell.lam, cell.tolerance)


def run_boards(
    spec: BoardsSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "boards",
    publish: str | Path | None = None,
) -> None:
    """Run the measurement in `out`, and copy its tables and figures to `publish`."""
    from benchmarks.boards import report

    if "votes" in spec.worlds:
        world_of("votes", min(spec.items), spec.seed, 0, spec.data)  # a file that is not votes is refused first
    run_command(
        spec, cells_of, measure, report.write, kind="boards", page=None, jobs=jobs, cluster=cluster, out=out,
        publish=publish,
    )  # fmt: skip
