"""The Interleaved Filter: a champion meets the other arms in turn and eliminates those it beats."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import one_of, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.arms.method import ArmRule, fixed_arms
from conquer.rivals.learner import Arrays
from conquer.tickets import Draws
from conquer.types import Floats, Ints


class InterleavedFilter(ArmRule):
    """The champion meets the others in turn; after each sweep the beaten are eliminated, and a better arm takes over.

    Yisong Yue, Josef Broder, Robert Kleinberg and Thorsten Joachims: The K-armed dueling bandits problem, 2009, 2012.
    Widths are sqrt(4 ln(T K^2)/n). Draw 0 is the first champion.

    `horizon`: the number of rounds T. `prune` (variant 2): a defeated champion takes the arms it led with it.

    >>> from conquer.registry import make
    >>> learner = make("interleaved-filter", dim=3, horizon=100)
    >>> learner.choose(np.eye(3), 7).memo["notes"]
    {'champion': 0, 'count': 3}
    """

    def __init__(self, *, horizon: int, prune: bool) -> None:
        self.horizon, self.prune = horizon, prune
        self.champion = -1
        self.alive: NDArray[np.bool_] = np.zeros(0, bool)
        self.met: Floats = np.zeros(0)
        self.won: Floats = np.zeros(0)

    def grow(self, count: int) -> None:
        more = max(count - self.alive.size, 0)
        self.alive = np.concatenate([self.alive, np.ones(more, bool)])
        self.met, self.won = (np.concatenate([array, np.zeros(more)]) for array in (self.met, self.won))

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        count = len(wins)
        champion = self.champion if self.champion >= 0 else draws.below(0, count)
        if champion >= count:  # in a round of fewer arms nothing can be learnt about the champion
            return 0, 1, {"champion": -1}
        notes = {"champion": champion, "count": count}
        others = [arm for arm in range(count) if self.alive[arm] and arm != champion]
        if not others:
            return champion, champion, notes
        return champion, min(others, key=lambda arm: self.met[arm]), notes

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        champion, met = notes.get("champion"), notes.get("count", 0)
        if not isinstance(champion, int) or not isinstance(met, int):
            raise ValueError(f"the choice must keep its champion and count in its notes, got {champion!r} and {met!r}")
        if self.champion < 0 and champion == first:
            self.champion = champion
        if champion != self.champion or first != champion or not self.alive[second]:
            return  # a late answer: there is another champion, or the arm is eliminated
        self.met[second] += 1.0
        self.won[second] += 0.5 * (1.0 + answer)
        others = np.flatnonzero(self.alive & (np.arange(self.alive.size) != champion))
        if self.met[second] == self.met[others].min():  # the last of its sweep
            self._sweep(others, max(met, 2))

    def _sweep(self, others: Ints, count: int) -> None:
        n = self.met[others]
        shares = self.won[others] / n
        c = np.sqrt(4.0 * math.log(self.horizon * count**2) / n)
        self.alive[others[shares - c > 0.5]] = False
        better = np.flatnonzero(shares + c < 0.5)
        if better.size:
            if self.prune:
                self.alive[others[shares > 0.5]] = False
            self.alive[self.champion] = False
            self.champion = int(others[better[0]])
            self.met[:], self.won[:] = 0.0, 0.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        state = np.array([self.champion], np.int64)
        return {"champion": state, "alive": self.alive.astype(np.int64), "met": self.met, "won": self.won}

    def restore(self, arrays: Arrays, count: int) -> None:
        champion, alive = adopt(arrays, {"champion": (1,), "alive": (-1,)}, np.int64)
        met, won = adopt(arrays, {"met": alive.shape, "won": alive.shape})
        if not -1 <= champion[0] < count <= alive.size or (won < 0).any() or (won > met).any():
            raise ValueError(f"the champion must be in [-1, {count}), with at most as many wins as duels")
        self.champion, self.alive, self.met, self.won = int(champion[0]), alive != 0, met, won


def _rule(values: Values) -> InterleavedFilter:
    prune = one_of("prune", values["prune"], {"no": 0, "yes": 1})
    return InterleavedFilter(horizon=whole("horizon", values["horizon"], 1), prune=bool(prune))


build = fixed_arms(_rule)
