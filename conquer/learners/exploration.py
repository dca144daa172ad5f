"""Exploration: a uniform share on top of any duelling learner, with probabilities logged for off-policy estimates."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number
from conquer.learners.algorithm import summary
from conquer.learners.believer import Believer
from conquer.learners.voters import Voter
from conquer.policies import CONFIDIT
from conquer.rows import SparseRows, as_rows
from conquer.tickets import EXPLORE, Draws
from conquer.types import Choice, Floats, Ints, Learner, Query, Source


class Explorer:
    """Shows random items with probability `share`, otherwise the learner's choice. Answers to both are learnt.

    For learners that duel, and for Confidit, whose one item is drawn in the same way. The memo holds whether the items
    were `explored`, and their `chance`: the share's and the rule's own, mixed. It is None where the rule's own
    probability has no closed form (Thompson draws, most rivals that draw). Whether it is known never depends on the
    items drawn, so rounds without it can be left out.

    >>> from conquer.registry import make
    >>> learner = Explorer(make("gnc", dim=3), 0.5)
    >>> {learner.choose(np.eye(3), t).memo["explored"] for t in range(20)} == {True, False}
    True
    """

    compiled = False
    __repr__ = summary

    def __init__(self, learner: Learner, share: float) -> None:
        if not learner.duels and getattr(learner, "policy", None) != CONFIDIT:
            raise ValueError(f"explore= is for learners that show two items and for confidit, not for {learner.name}")
        self.learner, self.share = learner, number("explore", share, 0.0, 1.0, above=True)
        self.parameters: Mapping[str, Any] = {**learner.parameters, "explore": self.share}

    @property
    def name(self) -> str:
        return self.learner.name

    @property
    def dim(self) -> int:
        return self.learner.dim

    @property
    def model(self) -> Any:
        return self.learner.model

    @property
    def policy(self) -> Any:
        return getattr(self.learner, "policy", None)

    @property
    def duels(self) -> bool:
        return self.learner.duels

    @property
    def shows(self) -> int:
        return max(2, self.learner.shows) if self.duels else 1

    @property
    def fixed_arms(self) -> bool:
        return self.learner.fixed_arms

    @property
    def answers(self) -> int:
        return self.learner.answers

    @property
    def fresh(self) -> bool:
        """Whether no answer has been learnt yet."""
        return self.learner.fresh

    @property
    def records(self) -> bool:
        """Whether its answers are evidence for boards."""
        return bool(getattr(self.learner, "records", False))

    @property
    def narrows(self) -> bool:
        """Whether `choose` should be given the items that a race leaves open, as `among`."""
        return bool(getattr(self.learner, "narrows", False))

    def forecast(self, X: Any, choice: Choice) -> tuple[float, float]:
        """The learner's forecast of the shown pair."""
        learner: Any = self.learner
        gap, deviation = learner.forecast(X, choice)
        return gap, deviation

    def choose(self, X: Any, rng: np.random.Generator | int, among: Ints | None = None) -> Choice:
        """The learner's choice, among some of the items if given, or random items, among all of them."""
        rows = as_rows(X, self.dim)
        learner: Any = self.learner
        choice: Choice = learner.choose(rows, rng) if among is None else learner.choose(rows, rng, among)
        draws, count = Draws(choice.ticket), len(rows)
        width = min(self.shows, count)
        if explored := draws.uniform(EXPLORE) < self.share:
            left = list(range(count))
            shown = tuple(left.pop(draws.below(EXPLORE + 1 + k, count - k)) for k in range(width))
            query = Query.DUEL if self.duels else Query.BEST
        else:
            shown, query = choice.shown, choice.query
        own = 0.0 if self.share == 1.0 else self._own_chance(rows, choice, shown)
        drawn = self.share / math.perm(count, width) if len(shown) == width else 0.0
        chance = None if own is None else drawn + (1.0 - self.share) * own
        return Choice(shown, query, choice.ticket, {**choice.memo, "chance": chance, "explored": explored})

    def _own_chance(self, rows: SparseRows, choice: Choice, shown: tuple[int, ...]) -> float | None:
        """The probability of the shown items under the learner's own rule, which has made this choice.

        Whether it is known depends on the round alone, never on the items drawn.
        """
        own = choice.memo.get("chance")
        if own is None or own == 1.0:
            return None if own is None else float(shown == choice.shown)
        chance_of = getattr(self.learner, "chance_of", None)
        return None if chance_of is None else chance_of(rows, shown, choice.ticket)

    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None:
        """Pass the answer to the wrapped learner."""
        self.learner.learn(X, choice, answer, source)

    def weigh(self, X: Any, choice: Choice, source: Source) -> float:
        """The weight that an answer of this source has now; for learners made with `believe`."""
        return self._believer().weigh(X, choice, source)

    def voters(self) -> tuple[Voter, ...]:
        """Every named voter; for learners made with `believe`."""
        return self._believer().voters()

    def worth(self) -> float:
        """The number of people's answers that the judges' replace; for learners made with `believe`."""
        return self._believer().worth()

    def _believer(self) -> Believer:
        if not isinstance(self.learner, Believer):
            raise ValueError(f'{self.name} does not weigh voters; make it with believe="voters"')
        return self.learner

    def check(self, choice: Choice, count: int) -> tuple[int, ...]:
        return self.learner.check(choice, count)

    def scores(self, X: Any) -> Floats:
        return self.learner.scores(X)

    def board(self, X: Any, *arguments: Any, **options: Any) -> Any:
        """The learner's board."""
        return self.learner.board(X, *arguments, **{"share": self.share, **options})

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.learner.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.learner.restore(arrays)
