"""What staleness costs: extra regret over learning at once, paired by repetition, with Student's intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.metrics import half_width
from conquer.study.cells.store import Row
from conquer.study.staleness.work import ALONE, LATE, REGIONS
from conquer.types import Floats


@dataclass(frozen=True, slots=True)
class Cost:
    """Extra regret as a share of the regret without it: the mean over repetitions, and half of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{100 * self.mean:+.0f} ± {100 * self.half:.0f} %"


@dataclass(frozen=True, slots=True, eq=False)
class StaleCourse:
    """One rule in one world: (N,) regrets by way and size, and the regret of a round in which nothing is known."""

    world: str
    algorithm: str
    unlearnt: Floats
    regrets: Mapping[tuple[Any, ...], Floats]
    asked: Mapping[tuple[Any, ...], float]

    def cost(self, way: tuple[Any, ...], against: tuple[Any, ...] = (ALONE, 0)) -> Cost:
        """Of one way to learn beside another."""
        extra, mean = self.regrets[way] - self.regrets[against], float(self.regrets[against].mean())
        return Cost(float(extra.mean()) / mean, float(half_width(extra)) / mean)

    def regret(self, way: tuple[Any, ...]) -> tuple[float, float]:
        """Of one way to learn: its mean and half of the mean's interval."""
        return float(self.regrets[way].mean()), float(half_width(self.regrets[way]))

    def sizes(self, way: str) -> list[int]:
        """The sizes of a way, rising."""
        return sorted(key[1] for key in self.regrets if key[0] == way)

    def price(self) -> tuple[float, float]:
        """Of a round's delay, in rounds of knowing nothing: least squares through 0 over all delays, mean and half."""
        delays = np.array(self.sizes(LATE), dtype=np.float64)
        extra = np.array([self.regrets[LATE, int(d)] - self.regrets[ALONE, 0] for d in delays])
        slopes = delays @ extra / (delays @ delays) / self.unlearnt
        return float(slopes.mean()), float(half_width(slopes))

    def free(self) -> int:
        """The largest delay up to which no interval of a delay's cost lies above 0."""
        found = 0
        for delay in self.sizes(LATE):
            cost = self.cost((LATE, delay))
            if cost.mean - cost.half > 0:
                break
            found = delay
        return found

    def delay_for(self, share: float, price: float) -> float:
        """The delay whose cost is this share of the regret without delay, at so much a round."""
        return share * float(self.regrets[ALONE, 0].mean() / self.unlearnt.mean()) / price


def courses(rows: Iterable[Row]) -> list[StaleCourse]:
    """The courses of a study, in the order of its cells.

    >>> runs = [{"way": "at once", "size": 0, "regret": 8.0}, {"way": "late", "size": 9, "regret": 10.0}]
    >>> rows = [{"world": "w", "algorithm": "a", "unlearnt": 0.5, "runs": runs}] * 2
    >>> str(courses(rows)[0].cost(("late", 9)))
    '+25 ± 0 %'
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row["world"], row["algorithm"]), []).append(row)
    return [_course(world, algorithm, found) for (world, algorithm), found in grouped.items()]


def _course(world: str, algorithm: str, rows: Sequence[Row]) -> StaleCourse:
    def values(field: str) -> dict[tuple[Any, ...], Floats]:
        every = [{_way(run): run[field] for run in row["runs"] if field in run} for row in rows]
        return {way: np.array([found[way] for found in every]) for way in every[0]}

    asked = {way: float(shares.mean()) for way, shares in values("asked").items()}
    return StaleCourse(world, algorithm, np.array([row["unlearnt"] for row in rows]), values("regret"), asked)


def _way(run: Row) -> tuple[Any, ...]:
    return (run["way"], run["size"], run["every"]) if run["way"] == REGIONS else (run["way"], run["size"])
