"""Relative UCB: an arm that may beat all others, against the one most likely to beat it."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import positive
from conquer.files import adopt
from conquer.rivals.arms.method import LATEST, fixed_arms, shares_and_bonus, wake
from conquer.rivals.learner import Arrays
from conquer.tickets import Draws
from conquer.types import Floats, Ints


class RUCB:
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

    def grow(self, count: int) -> None:
        pass

    def choose(self, here: Ints, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        W = wins[np.ix_(here, here)]
        share, bonus = shares_and_bonus(W, self.alpha, clock)
        upper = share + bonus
        np.fill_diagonal(upper, 0.5)
        candidates = np.flatnonzero((upper >= 0.5).all(axis=1))
        best = [k for k in candidates if here[k] == self.best]
        if candidates.size == 1:
            best = [candidates[0]]
        champion = int(self._champion(candidates, best, here.size, draws.uniform(0)))
        values = upper[:, champion].copy()
        notes = {"clock": clock, "best": int(here[best[0]]) if best else -1}
        if np.delete(values, champion).max() < 0.5:
            n = W[:, champion] + W[champion]
            gaps = np.delete(n * (0.5 - share[:, champion]) ** 2, champion)
            at = max(math.ceil(math.exp(min(gaps.min() / self.alpha, math.log(LATEST)))), clock + 1)
            if not wake(clock, at, draws, 1):
                return int(here[champion]), int(here[champion]), notes
            share, bonus = shares_and_bonus(W, self.alpha, at)
            values, notes["clock"] = (share + bonus)[:, champion], float(at)
        return int(here[champion]), int(here[draws.largest(values, tie=1, skip=champion)]), notes

    @staticmethod
    def _champion(candidates: Ints, best: list[Any], count: int, u: float) -> int:
        if candidates.size == 0:
            return min(int(u * count), count - 1)
        others = np.array([c for c in candidates if c not in best])
        if best and (u < 0.5 or others.size == 0):
            return int(best[0])
        rest = 2.0 * u - 1.0 if best else u
        return int(others[min(int(rest * others.size), others.size - 1)])

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, wins: Floats) -> None:
        best = notes.get("best", -1)
        if not isinstance(best, int) or not -1 <= best < len(wins):
            raise ValueError(f"the best arm must be in [-1, {len(wins)}), got {best!r}")
        self.best = best

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"best": np.array([self.best], np.int64)}

    def restore(self, arrays: Arrays, count: int) -> None:
        (best,) = adopt(arrays, {"best": (1,)}, np.int64)
        if not -1 <= best[0] < count:
            raise ValueError(f"the best arm must be in [-1, {count}), got {best[0]}")
        self.best = int(best[0])


build = fixed_arms(lambda values: RUCB(alpha=positive("alpha", values["alpha"])))
