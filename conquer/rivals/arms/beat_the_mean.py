"""Beat the Mean: the least played arm meets a random one, and the worst arm is eliminated."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import positive, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.arms.method import ArmRule, fixed_arms
from conquer.rivals.learner import Arrays
from conquer.tickets import Draws
from conquer.types import Floats


class BeatTheMean(ArmRule):
    """The least played arm meets a random one; the worst arm is eliminated once its interval lies below the best's.

    Yisong Yue and Thorsten Joachims: Beat the mean bandit, 2011. Widths are 3 gamma^2 sqrt(ln(2 T K)/n*), n* the fewest
    duels of an arm. A duel counts for its first arm only; duels with an eliminated arm are deleted from all records.
    Draw 0 is the opponent (another arm: a duel with itself is a coin toss that shifts all means alike). Ties for the
    fewest duels: tie-breaking draw 0.

    `horizon`: the number of rounds T. `gamma`: scales the widths, 1 where preferences are strongly transitive.

    >>> from conquer.registry import make
    >>> learner = make("beat-the-mean", dim=3, horizon=100)
    >>> learner.learn(np.eye(3), learner.choose(np.eye(3), 7), +1)
    >>> learner.model.rule.met.sum(axis=1).tolist()
    [0.0, 0.0, 1.0]
    """

    def __init__(self, *, horizon: int, gamma: float) -> None:
        self.horizon, self.gamma = horizon, gamma
        self.alive: NDArray[np.bool_] = np.zeros(0, bool)
        self.met: Floats = np.zeros((0, 0))
        self.won: Floats = np.zeros((0, 0))

    def grow(self, count: int) -> None:
        old = self.alive.size
        if count > old:
            self.alive = np.concatenate([self.alive, np.ones(count - old, bool)])
            self.met, self.won = (np.pad(array, (0, count - old)) for array in (self.met, self.won))

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        alive = np.flatnonzero(self.alive[: len(wins)])
        notes = {"count": len(wins)}
        if alive.size < 2:
            last = int(alive[0]) if alive.size else 0
            return last, last, notes
        first = draws.largest(-self.met[alive].sum(axis=1))
        others = np.delete(alive, first)
        return int(alive[first]), int(others[draws.below(0, others.size)]), notes

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        met = notes.get("count")
        if not isinstance(met, int) or met < 2:
            raise ValueError(f"the choice must keep the number of arms in its notes, got {met!r}")
        if not (self.alive[first] and self.alive[second]):
            return  # the answer came after one of them was eliminated
        self.met[first, second] += 1.0
        self.won[first, second] += 0.5 * (1.0 + answer)
        self._drop(met)

    def _drop(self, count: int) -> None:
        alive = np.flatnonzero(self.alive)
        n = self.met[alive].sum(axis=1)
        if alive.size < 2 or n.min() == 0:
            return
        shares = self.won[alive].sum(axis=1) / n
        c = 3.0 * self.gamma**2 * math.sqrt(math.log(2.0 * self.horizon * count) / n.min())
        if shares.min() + c <= shares.max() - c:
            worst = alive[shares.argmin()]
            self.alive[worst] = False
            self.met[:, worst], self.won[:, worst] = 0.0, 0.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"alive": self.alive.astype(np.int64), "met": self.met, "won": self.won}

    def restore(self, arrays: Arrays, count: int) -> None:
        (alive,) = adopt(arrays, {"alive": (-1,)}, np.int64)
        met, won = adopt(arrays, {"met": (alive.size, alive.size), "won": (alive.size, alive.size)})
        if alive.size < count or (won < 0).any() or (won > met).any():
            raise ValueError(f"records must cover {count} arms, with at most as many wins as duels")
        self.alive, self.met, self.won = alive != 0, met, won


def _rule(values: Values) -> BeatTheMean:
    gamma = positive("gamma", values["gamma"])
    return BeatTheMean(horizon=whole("horizon", values["horizon"], 1), gamma=gamma)


build = fixed_arms(_rule)
