"""Fixed arms without context: the table of wins, and what a rule is."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.learner import Arrays, Method, MethodBuilder, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats

LATEST = 1e15
"""The latest time of a clock: an arm that would return after it does not return."""


class ArmRule:
    """Which two of K arms meet. `wins` (K, K) is the table of wins, `clock` the time.

    `choose` is pure and returns (first, second, notes); equal arms ask nothing. `learn` gets the notes back with the
    answer and checks them before it changes anything. `grow` makes room for `count` arms in new arrays.
    """

    def grow(self, count: int) -> None:
        pass

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        raise NotImplementedError

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        pass

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: Arrays, count: int) -> None:
        pass


class Arms:
    """A rule over arms: item i of every round is arm i.

    The clock counts answers. Rounds of an arm against itself ask nothing, so they cannot advance it: a rule whose paper
    counts them notes the time at which it asks again, and the clock continues from there.
    """

    duels = True
    shows = 2
    fixed_arms = True

    def __init__(self, rule: ArmRule) -> None:
        self.rule, self.clock = rule, 1.0
        self.wins: Floats = np.zeros((0, 0))

    def _grown(self, count: int) -> tuple[ArmRule, Floats]:
        """Copies of the rule and of the wins with room for `count` arms: choosing must not change them."""
        rule, more = copy.copy(self.rule), max(count - len(self.wins), 0)
        rule.grow(len(self.wins) + more)
        return rule, np.pad(self.wins, (0, more))

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        rule, wins = self._grown(len(X))
        first, second, notes = rule.choose(wins[: len(X), : len(X)], self.clock, draws)
        return duel(first, second, {"notes": dict(notes)})

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        notes = choice.memo.get("notes")
        if not isinstance(notes, Mapping) or not isinstance(notes.get("clock", 0), int | float):
            raise ValueError(f"the choice must keep its notes in its memo, got {notes!r}")
        first, second = choice.shown
        rule, wins = self._grown(len(X))
        wins[first, second] += 0.5 * (1.0 + answer)
        wins[second, first] += 0.5 * (1.0 - answer)
        rule.learn(notes, first, second, answer, len(wins))
        self.rule, self.wins = rule, wins
        self.clock = max(self.clock, float(notes.get("clock", 0))) + 1.0

    def scores(self, X: SparseRows) -> Floats:
        """(K,): each arm's share of wins, averaged over the arms of the round; one half without duels."""
        wins = self._grown(len(X))[1][: len(X), : len(X)]
        return np.asarray(((wins + 1.0) / (wins + wins.T + 2.0)).mean(axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"wins": self.wins, "clock": np.array([self.clock]), **self.rule.arrays()}

    def restore(self, arrays: Arrays) -> None:
        wins, clock = adopt(arrays, {"wins": (-1, -1), "clock": (1,)})
        if wins.shape != (len(wins), len(wins)) or (wins < 0).any() or clock[0] < 1:
            raise ValueError("wins must be a square table of numbers of at least 0, and the clock at least 1")
        self.rule.restore(arrays, len(wins))
        self.wins, self.clock = wins, float(clock[0])


def fixed_arms(rule: Callable[[Values], ArmRule]) -> MethodBuilder:
    """The builder of a rival that is a rule over fixed arms; `rule(values)` makes the rule."""

    def build(dim: int, model: str, values: Values) -> Method:
        return Arms(rule(values))

    return build


def shares_and_bonus(wins: Floats, alpha: float, clock: float) -> tuple[Floats, Floats]:
    """(n, n) each: wins/n and sqrt(alpha ln t/n), both 1 where n = 0."""
    n = wins + wins.T
    met = n > 0
    safe = np.where(met, n, 1.0)
    return np.where(met, wins / safe, 1.0), np.where(met, np.sqrt(alpha * np.log(clock) / safe), 1.0)


def wake(clock: float, at: float, draws: Draws, number: int) -> bool:
    """Whether a rule that would ask nothing until `at` asks now, with the chance that keeps the mean length of that."""
    return draws.uniform(number) * max(at - clock, 1.0) < 1.0
