"""RMED1: relative minimum empirical divergence over fixed arms."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number
from conquer.files import adopt
from conquer.rivals.arms.method import LATEST, ArmRule, fixed_arms, wake
from conquer.rivals.learner import Arrays
from conquer.tickets import Draws
from conquer.types import Floats


class RMED1(ArmRule):
    """Arms whose divergence from being the winner is at most ln t + f(K) take turns.

    Junpei Komiyama, Junya Honda, Hisashi Kashima and Hiroshi Nakagawa: Regret lower bound and optimal algorithm in
    dueling bandit problem, 2015.

    Every pair meets once first, in order. Then each candidate of the list plays the most likely winner i* if that may
    beat it, otherwise its hardest opponent. A turn of i* against itself asks nothing; draw 0 decides whether the next
    real duel comes now, with the chance that keeps the mean length of the silence. Where i* is alone on the list and no
    arm returns before the latest time, nothing more is asked.

    `margin`: f(K) = margin K^1.01.

    >>> from conquer.registry import make
    >>> make("rmed1", dim=3, margin=0.3).choose(np.eye(3), 7).shown
    (0, 1)
    """

    def __init__(self, *, margin: float) -> None:
        self.margin = margin
        self.remaining: list[int] = []
        self.coming: list[int] = []

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        count = len(wins)
        for i in range(count):
            for j in range(i + 1, count):
                if wins[i, j] + wins[j, i] == 0:
                    return i, j, {"clock": clock, "remaining": [], "coming": []}
        mean, divergence = divergences(wins)
        winner = int(divergence.argmin())
        remaining = [arm for arm in self.remaining if arm < count] or list(range(count))
        coming = [arm for arm in self.coming if arm < count]
        time, silent = clock, 0.0
        while True:
            arm = remaining[0]
            opponent = self._opponent(arm, winner, mean)
            remaining, coming = self._turn(remaining, coming, divergence, time, count)
            notes = {"clock": time, "remaining": remaining, "coming": coming}
            if opponent != arm:
                break
            if remaining == [winner]:
                # Alone on the list: the next arm returns when ln t has grown to its divergence.
                away = np.delete(divergence, winner).min() - divergence[winner] - self._allowance(count)
                if away >= math.log(LATEST):
                    return winner, winner, {**notes, "clock": clock}
                at = max(math.ceil(math.exp(away)), time + 1)
                silent, time = silent + (at - time), at
            else:
                silent, time = silent + 1, time + 1
        if silent and not wake(0.0, silent + 1, draws, 0):
            return winner, winner, notes
        return arm, opponent, notes

    def _allowance(self, count: int) -> float:
        return self.margin * math.pow(count, 1.01)

    @staticmethod
    def _opponent(arm: int, winner: int, mean: Floats) -> int:
        losing = [j for j in range(len(mean)) if j != arm and mean[arm, j] <= 0.5]
        if winner in losing or not losing:
            return winner
        return min((j for j in range(len(mean)) if j != arm), key=lambda j: mean[arm, j])

    def _turn(
        self, remaining: list[int], coming: list[int], divergence: Floats, time: float, count: int
    ) -> tuple[list[int], list[int]]:
        """The lists after a turn of the first remaining arm: (this pass, the next)."""
        remaining = remaining[1:]
        allowed = math.log(time) + self._allowance(count)
        fresh = [
            j
            for j in range(count)
            if j not in remaining and j not in coming and divergence[j] - divergence.min() <= allowed
        ]
        coming = coming + fresh
        return (remaining, coming) if remaining else (sorted(coming), [])

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        lists = notes.get("remaining"), notes.get("coming")
        for found in lists:
            if not isinstance(found, list | tuple) or not all(isinstance(k, int) and 0 <= k < count for k in found):
                raise ValueError(f"the lists must hold arms in [0, {count}), got {lists!r}")
        self.remaining, self.coming = list(lists[0] or ()), list(lists[1] or ())

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"remaining": np.array(self.remaining, np.int64), "coming": np.array(self.coming, np.int64)}

    def restore(self, arrays: Arrays, count: int) -> None:
        remaining, coming = adopt(arrays, {"remaining": (-1,), "coming": (-1,)}, np.int64)
        for found in (remaining, coming):
            if found.size and not (found.min() >= 0 and found.max() < count):
                raise ValueError(f"the lists must hold arms in [0, {count}), got {found.tolist()}")
        self.remaining, self.coming = remaining.tolist(), coming.tolist()


def divergences(W: Floats) -> tuple[Floats, Floats]:
    """(mean (n, n), I (n,)): shares of wins, and I_i = sum over arms that i does not beat of N kl(mean, 1/2)."""
    n = W + W.T
    mean = W / np.where(n > 0, n, 1.0)
    np.fill_diagonal(mean, 0.5)
    p = np.clip(mean, 1e-300, 1.0)
    q = np.clip(1.0 - mean, 1e-300, 1.0)
    kl = mean * np.log(2.0 * p) + (1.0 - mean) * np.log(2.0 * q)
    losing = (mean <= 0.5) & ~np.eye(len(W), dtype=bool)
    return mean, np.where(losing, n * kl, 0.0).sum(axis=1)


build = fixed_arms(lambda values: RMED1(margin=number("margin", values["margin"], 0.0)))
