"""A small uniform share on top of any duelling learner, with chances recorded, so that its logs can judge others."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number
from conquer.learners.algorithm import Presentable
from conquer.rows import as_rows
from conquer.tickets import EXPLORE, Draws
from conquer.types import Choice, Floats, Learner, Query


class Exploring(Presentable):
    """With chance `share` any two items (k, of a learner that shows k) are shown, else its own; both are learnt alike.

    The memo tells whether the pair was `explored`, and its `chance` where the learner itself was certain; among equal
    scores, or of a learner that draws, the chance of an explored pair under its own rule is not known. Whether it is
    known never depends on the pair that was drawn, so rounds without it can be left out.

    >>> from conquer.registry import make
    >>> learner = Exploring(make("gnc", dim=3), 0.5)
    >>> {learner.choose(np.eye(3), t).memo["explored"] for t in range(20)} == {True, False}
    True
    """

    compiled = False

    def __init__(self, learner: Learner, share: float) -> None:
        if not learner.duels:
            raise ValueError(f"explore= is for learners that show two items, not for {learner.name}")
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
        return True

    @property
    def shows(self) -> int:
        return max(2, self.learner.shows)

    @property
    def fixed_arms(self) -> bool:
        return self.learner.fixed_arms

    @property
    def answers(self) -> int:
        return self.learner.answers

    @property
    def fresh(self) -> bool:
        """Whether nothing has been learnt yet."""
        return self.learner.fresh

    def choose(self, X: Any, rng: np.random.Generator | int) -> Choice:
        """The learner's choice, or any items."""
        rows = as_rows(X, self.dim)
        choice = self.learner.choose(rows, rng)
        draws, count = Draws(choice.ticket), len(rows)
        width = min(self.shows, count)
        uniform = self.share / math.perm(count, width)
        known = choice.memo.get("chance") == 1.0 or self.share == 1.0
        if explored := draws.uniform(EXPLORE) < self.share:
            left = list(range(count))
            shown = tuple(left.pop(draws.below(EXPLORE + 1 + place, count - place)) for place in range(width))
            query = Query.DUEL
        else:
            shown, query = choice.shown, choice.query
        chance = (uniform if len(shown) == width else 0.0) + (1.0 - self.share if shown == choice.shown else 0.0)
        memo = {**choice.memo, "chance": chance if known else None, "explored": explored}
        return Choice(shown, query, choice.ticket, memo)

    def learn(self, X: Any, choice: Choice, answer: float) -> None:
        """As the learner learns."""
        self.learner.learn(X, choice, answer)

    def check(self, choice: Choice, count: int) -> tuple[int, ...]:
        return self.learner.check(choice, count)

    def expose(self, X: Any, choice: Choice) -> Choice:
        return self.learner.expose(X, choice)

    def begin_exposing(self) -> None:
        self.learner.begin_exposing()

    def scores(self, X: Any) -> Floats:
        return self.learner.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.learner.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.learner.restore(arrays)
