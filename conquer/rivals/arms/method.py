"""Fixed arms without context: which arm an item is, the table of wins, and what a rule is."""

import copy
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conquer.checks import one_of
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.learner import Arrays, Method, MethodBuilder, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Ints

LARGEST_ROLL = 1024
"""The most arms."""
LATEST = 1e15
"""The latest time of a clock: an arm that would return after it does not return."""


class ArmRule(Protocol):
    """Which two arms meet. `here` are the arms of the round, `wins` (n, n) the table over all arms, `clock` the time.

    `choose` is pure and returns (first, second, notes); equal arms ask nothing. `learn` gets the notes back with the
    answer and checks them before it changes anything. `grow` makes room for n arms in new arrays.
    """

    def grow(self, count: int) -> None: ...
    def choose(self, here: Ints, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]: ...
    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, wins: Floats) -> None: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: Arrays, count: int) -> None: ...


class Arms:
    """A rule over arms. Items are arms by their position in the round, or by their features (equal rows, equal arm).

    The clock counts answers. Rounds of an arm against itself ask nothing, so they cannot advance it: a rule whose paper
    counts them notes the time at which it asks again, and the clock continues from there.
    """

    duels = True
    shows = 2

    def __init__(self, rule: ArmRule, *, identity: str) -> None:
        self.rule, self.by_features = rule, identity == "features"
        self.fixed_arms = not self.by_features
        self.keys: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self.wins: Floats = np.zeros((0, 0))
        self.clock = 1.0

    def _arms(self, X: SparseRows) -> tuple[Ints, NDArray[np.uint64]]:
        """The arm of every item, and the keys of all arms with new ones at the end."""
        if not self.by_features:
            return np.arange(len(X)), np.arange(max(len(X), self.keys.size), dtype=np.uint64)
        places = {int(key): place for place, key in enumerate(self.keys)}
        arms = np.array([places.setdefault(_fingerprint(X, k), len(places)) for k in range(len(X))])
        if len(places) > LARGEST_ROLL:
            raise ValueError(f"arms='features' takes at most {LARGEST_ROLL} different items, got {len(places)}")
        return arms, np.array(list(places), dtype=np.uint64)

    def _table(self, count: int) -> Floats:
        wins, old = np.zeros((count, count)), len(self.wins)
        wins[:old, :old] = self.wins
        return wins

    def _grown(self, count: int) -> ArmRule:
        """A copy of the rule with room for `count` arms: choosing must not change the rule itself."""
        rule = copy.copy(self.rule)
        rule.grow(count)
        return rule

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        arms, keys = self._arms(X)
        here, places = np.unique(arms, return_index=True)
        if here.size == 1:
            return duel(0, 0)
        wins = self._table(keys.size) if keys.size > len(self.wins) else self.wins
        first, second, notes = self._grown(keys.size).choose(here, wins, self.clock, draws)
        place = dict(zip(here.tolist(), places.tolist(), strict=True))
        return duel(place[first], place[second], {"notes": dict(notes)})

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        notes = choice.memo.get("notes")
        if not isinstance(notes, Mapping) or not isinstance(notes.get("clock", 0), int | float):
            raise ValueError(f"the choice must keep its notes in its memo, got {notes!r}")
        arms, keys = self._arms(X)
        first, second = (int(arms[k]) for k in choice.shown)
        wins = self._table(keys.size)
        wins[first, second] += 0.5 * (1.0 + answer)
        wins[second, first] += 0.5 * (1.0 - answer)
        rule = self._grown(keys.size)
        rule.learn(notes, first, second, answer, wins)
        self.rule, self.keys, self.wins = rule, keys, wins
        self.clock = max(self.clock, float(notes.get("clock", 0))) + 1.0

    def scores(self, X: SparseRows) -> Floats:
        """(K,): each arm's share of wins, averaged over the arms of the round; one half without duels."""
        arms, keys = self._arms(X)
        wins = self._table(keys.size)
        shares = (wins + 1.0) / (wins + wins.T + 2.0)
        return np.asarray(shares[np.ix_(arms, np.unique(arms))].mean(axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"keys": self.keys, "wins": self.wins, "clock": np.array([self.clock]), **self.rule.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (keys,) = adopt(arrays, {"keys": (-1,)}, np.uint64)
        wins, clock = adopt(arrays, {"wins": (keys.size, keys.size), "clock": (1,)})
        if (wins < 0).any() or clock[0] < 1 or np.unique(keys).size != keys.size:
            raise ValueError("wins must not be negative, the clock at least 1 and keys distinct")
        self.rule.restore(arrays, keys.size)
        self.keys, self.wins, self.clock = keys, wins, float(clock[0])


def fixed_arms(rule: Callable[[Values], ArmRule]) -> MethodBuilder:
    """The builder of a rival that is a rule over fixed arms; `rule(values)` makes the rule."""

    def build(dim: int, model: str, values: Values) -> Method:
        one_of("arms", values["arms"], {"position": 0, "features": 1})
        return Arms(rule(values), identity=values["arms"])

    return build


def _fingerprint(X: SparseRows, k: int) -> int:
    """A 64-bit hash of one row that does not depend on the order of its entries."""
    start, end = X.indptr[X.rows[k]], X.indptr[X.rows[k] + 1]
    order = np.argsort(X.indices[start:end], kind="stable")
    content = X.indices[start:end][order].tobytes() + X.data[start:end][order].tobytes()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def shares_and_bonus(wins: Floats, alpha: float, clock: float) -> tuple[Floats, Floats]:
    """(n, n) each: wins/n and sqrt(alpha ln t/n), both 1 where n = 0."""
    n = wins + wins.T
    met = n > 0
    safe = np.where(met, n, 1.0)
    return np.where(met, wins / safe, 1.0), np.where(met, np.sqrt(alpha * np.log(clock) / safe), 1.0)


def wake(clock: float, at: float, draws: Draws, number: int) -> bool:
    """Whether a rule that would ask nothing until `at` asks now, with the chance that keeps the mean length of that."""
    return draws.uniform(number) * max(at - clock, 1.0) < 1.0
