"""Fixed-arm rules that eliminate for good: Interleaved Filter and Beat the Mean."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.learner import Arrays
from conquer.tickets import Draws
from conquer.types import Floats, Ints


class InterleavedFilter:
    """Yue et al. 2009/2012: the champion meets the others in turn; after each sweep the beaten go.

    c = sqrt(4 ln(1/delta)/n), delta = 1/(T K^2). A better arm takes over; with `prune` (variant 2) everyone the old
    champion was ahead of goes too. Draw 0 is the first champion.
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

    def choose(self, here: Ints, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        champion = self.champion if self.champion >= 0 else int(here[draws.below(0, here.size)])
        notes = {"champion": champion, "count": int(here.size)}
        others = [int(arm) for arm in here if self.alive[arm] and arm != champion]
        if champion not in here:
            # Only where the arms of a round change: then nothing can be learnt of the champion.
            return int(here[0]), int(others[0] if others and others[0] != here[0] else here[-1]), {"champion": -1}
        if not others:
            return champion, champion, notes
        return champion, min(others, key=lambda arm: self.met[arm]), notes

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, wins: Floats) -> None:
        champion, count = notes.get("champion"), notes.get("count", 0)
        if not isinstance(champion, int) or not isinstance(count, int):
            raise ValueError(f"the choice must remember its champion and count, got {champion!r} and {count!r}")
        if self.champion < 0 and champion == first:
            self.champion = champion
        if champion != self.champion or first != champion or not self.alive[second]:
            return  # answered too late: another champion, or the arm is gone
        self.met[second] += 1.0
        self.won[second] += 0.5 * (1.0 + answer)
        others = np.flatnonzero(self.alive & (np.arange(self.alive.size) != champion))
        if self.met[second] == self.met[others].min():  # the last of its sweep
            self._sweep(others, max(count, 2))

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
            raise ValueError(f"the champion must be in [-1, {count}) and wins within meetings")
        self.champion, self.alive, self.met, self.won = int(champion[0]), alive != 0, met, won


class BeatTheMean:
    """Yue & Joachims 2011: the arm met least plays any other; the worst against the rest's mean goes when surely so.

    c = 3 gamma^2 sqrt(ln(1/delta)/n*), delta = 1/(2TK), n* the fewest meetings. Only the first arm's record moves; a
    dropped arm's meetings are deleted from all records. Draw 0 is the opponent (another arm: a duel with itself is a
    coin toss that shifts all means alike). Ties for the fewest meetings: tie-breaking draw 0.
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

    def choose(self, here: Ints, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        alive = here[self.alive[here]]
        notes = {"count": int(here.size)}
        if alive.size < 2:
            last = int(alive[0]) if alive.size else int(here[0])
            return last, last, notes
        first = draws.largest(-self.met[alive].sum(axis=1))
        others = np.delete(alive, first)
        return int(alive[first]), int(others[draws.below(0, others.size)]), notes

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, wins: Floats) -> None:
        count = notes.get("count")
        if not isinstance(count, int) or count < 2:
            raise ValueError(f"the choice must remember the number of arms, got {count!r}")
        if not (self.alive[first] and self.alive[second]):
            return  # answered after one of them was dropped
        self.met[first, second] += 1.0
        self.won[first, second] += 0.5 * (1.0 + answer)
        self._drop(count)

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
            raise ValueError(f"records must cover {count} arms, with wins within meetings")
        self.alive, self.met, self.won = alive != 0, met, won
