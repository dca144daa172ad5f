"""One rule in one world: its regret with every delay and batch size, counted on show, and in regions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conquer.registry import make
from conquer.simulation import simulate
from conquer.study.cells.store import Row, key
from conquer.study.staleness.regions import learn_apart
from conquer.study.staleness.spec import WIDTHS, StalenessSpec
from conquer.study.staleness.worlds import STALE_WORLDS, rounds_of
from conquer.tickets import stream

_METHOD = 1
"""Counts up where the same cell would have other numbers."""
ALONE, LATE, BATCHED, ON_SHOW, REGIONS = "at once", "late", "in batches", "late, on show", "regions"


@dataclass(frozen=True, slots=True)
class StaleCell:
    """A rule in a world, small enough to send to any worker."""

    world: str
    repetition: int
    algorithm: str
    rounds: int
    seed: int
    delays: tuple[int, ...]
    batches: tuple[int, ...]
    regions: tuple[int, ...]
    every: tuple[int, ...]

    @property
    def name(self) -> str:
        """What the cell's numbers depend on."""
        own = self.world, self.repetition, self.algorithm, self.rounds, self.seed
        world = STALE_WORLDS[self.world]
        merging = (world.merged, self.regions, self.every) if self.regions else ()
        return key("staleness", _METHOD, own, world.model, self.delays, self.batches, merging)

    @property
    def cost(self) -> float:
        """About so many rounds of work; regions learn every answer twice, once call by call."""
        simple = 2 + len(self.delays) * (1 + (self.algorithm in WIDTHS)) + len(self.batches)
        return self.rounds * (simple + 6 * len(self.regions) * (1 + len(self.every)))


def cells_of(spec: StalenessSpec) -> list[StaleCell]:
    """Every cell of a study.

    >>> len(cells_of(StalenessSpec(worlds=("fresh",), algorithms=("ttg", "gnc"), merging=(), repetitions=3)))
    6
    """
    return [
        StaleCell(
            world, repetition, name, spec.rounds, spec.seed, spec.delays, spec.batches,
            spec.regions if name in spec.merging else (), spec.every,
        )
        for world in spec.worlds
        for repetition in range(spec.repetitions)
        for name in spec.algorithms
    ]  # fmt: skip


def measure(cell: StaleCell) -> list[Row]:
    """The row of one cell: a regret for each way to learn, and that of two items at random."""
    rounds = rounds_of(cell.world, cell.rounds, cell.seed, cell.repetition)
    nothing = simulate("random", rounds, seed=_seed(cell)).regret
    row = {"world": cell.world, "repetition": cell.repetition, "algorithm": cell.algorithm, "rounds": len(rounds)}
    return [row | {"unlearnt": float(nothing.mean()), "runs": [*_late(cell), *_apart(cell)]}]


def _seed(cell: StaleCell) -> int:
    return stream("staleness run", cell.seed, cell.world, cell.repetition)


def _late(cell: StaleCell) -> Iterator[Row]:
    rounds, settings = rounds_of(cell.world, cell.rounds, cell.seed, cell.repetition), STALE_WORLDS[cell.world].model
    ways: list[tuple[str, int, dict[str, Any]]] = [(ALONE, 0, {})]
    ways += [(LATE, delay, {"delay": delay}) for delay in cell.delays]
    ways += [(BATCHED, batch, {"batch": batch}) for batch in cell.batches]
    if cell.algorithm in WIDTHS:
        ways += [(ON_SHOW, delay, {"delay": delay, "covariance": "on-show"}) for delay in cell.delays]
    for way, size, options in ways:
        trace = simulate(cell.algorithm, rounds, seed=_seed(cell), **options, **settings)
        yield {"way": way, "size": size, "regret": float(trace.regret.sum()), "asked": trace.query_rate}


def _apart(cell: StaleCell) -> Iterator[Row]:
    if not cell.regions:
        return
    rounds, settings = rounds_of(cell.world, cell.rounds, cell.seed, cell.repetition), STALE_WORLDS[cell.world].merged

    def fresh() -> Any:
        return make(cell.algorithm, dim=rounds.X.dim, **settings)

    for regions, every in [(1, len(rounds)), *((r, e) for r in cell.regions for e in (*cell.every, len(rounds)))]:
        regret = learn_apart(fresh, rounds, _seed(cell), regions, every)
        yield {"way": REGIONS, "size": regions, "every": every, "regret": float(regret.sum())}
