"""Relative UCB: an arm that may beat all others, against the one most likely to beat it."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import positive
from conquer.files import adopt
from conquer.rivals.arms.method import LATEST, ArmRule, fixed_arms, shares_and_bonus, wake
from conquer.rivals.learner import Arrays
from conquer.tickets import Draws
from conquer.types import Floats


class RUCB(ArmRule):
    """A champion that may beat all others, against the arm most likely to beat it.

    Masrour Zoghi, Shimon Whiteson, Remi Munos and Maarten de Rijke: Relative upper confidence bound for the K-armed
    dueling bandit problem, 2014. Draw 0 picks the champion; draw 1 decides whether a certain champion is challenged.

    `alpha`: the widths are sqrt(alpha ln t/n).

    >>> from conquer.registry import make
    >>> learner = make("rucb", dim=3, alpha=0.51)
    >>> learner.choose(np.eye(3), 7).memo["notes"]
    {'clock': 1.0, 'best': -1}
    """

    def __init__(self, *, alpha: float) -> None:
        self.alpha, self.best = alpha, -1

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        share, bonus = shares_and_bonus(wins, self.alpha, clock)
        upper = share + bonus
        np.fill_diagonal(upper, 0.5)
        candidates = np.flatnonzero((upper >= 0.5).all(axis=1)).tolist()
        best = candidates[0] if len(candidates) == 1 else self.best if self.best in candidates else -1
        champion = self._champion(candidates, best, len(wins), draws.uniform(0))
        values = upper[:, champion].copy()
        notes = {"clock": clock, "best": best}
        if np.delete(values, champion).max() < 0.5:
            n = wins[:, champion] + wins[champion]
            gaps = np.delete(n * (0.5 - share[:, champion]) ** 2, champion)
            at = max(math.ceil(math.exp(min(gaps.min() / self.alpha, math.log(LATEST)))), clock + 1)
            if not wake(clock, at, draws, 1):
                return champion, champion, notes
            share, bonus = shares_and_bonus(wins, self.alpha, at)
            values, notes["clock"] = (share + bonus)[:, champion], float(at)
        return champion, draws.largest(values, tie=1, skip=champion), notes

    @staticmethod
    def _champion(candidates: list[int], best: int, count: int, u: float) -> int:
        if not candidates:
            return min(int(u * count), count - 1)
        others = [arm for arm in candidates if arm != best]
        if best >= 0 and (u < 0.5 or not others):
            return best
        rest = 2.0 * u - 1.0 if best >= 0 else u
        return others[min(int(rest * len(others)), len(others) - 1)]

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        best = notes.get("best", -1)
        if not isinstance(best, int) or not -1 <= best < count:
            raise ValueError(f"the best arm must be in [-1, {count}), got {best!r}")
        self.best = best

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"best": np.array([self.best], np.int64)}

    def restore(self, arrays: Arrays, count: int) -> None:
        (best,) = adopt(arrays, {"best": (1,)}, np.int64)
        if not -1 <= best[0] < count:
            raise ValueError(f"the best arm must be in [-1, {count}), got {best[0]}")
        self.best = int(best[0])


build = fixed_arms(lambda values: RUCB(alpha=positive("alpha", values["alpha"])))
