"""Who answers when more than two are shown: the laws of duels carried over to the best of k, with or without none."""

from dataclasses import dataclass

import numpy as np

from conquer.judges import LawJudge
from conquer.rivals.learner import Draws
from conquer.rivals.picks import encode
from conquer.types import Choice, Floats, Query


@dataclass(frozen=True, slots=True)
class PickJudge:
    """Names the best of the shown items, as `picks.encode` writes it; of one or two it answers as `LawJudge` does.

    linear: every reward becomes +1 with chance (1 + r)/2, else -1, and one of the largest is picked (for two the
    linear law); logistic: chances in proportion to e^(scale r); perfect: the largest. With `outside`, none of these is
    one more choice of reward 0, where the learner has an answer for it (its memo says so).

    >>> judge = PickJudge("perfect")
    >>> judge(Choice((2, 0, 1), Query.DUEL, 0), np.array([0.0, 1.0, -1.0]), 7)
    -1.0
    """

    law: str = "linear"
    scale: float = 1.0
    outside: bool = False

    def __call__(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
        """The answer in [-1, 1]; None when nothing was asked. Draws one ticket from `rng` in any case."""
        ticket = int(rng.integers(0, 2**64, dtype=np.uint64)) if isinstance(rng, np.random.Generator) else int(rng)
        none = self.outside and bool(choice.memo.get("outside"))
        if choice.query != Query.DUEL or (len(choice.shown) == 2 and not none):
            return LawJudge(self.law, self.scale)(choice, rewards, ticket)
        worth = np.append(np.asarray(rewards, dtype=np.float64)[list(choice.shown)], [0.0] if none else [])
        picked = self._pick(worth, Draws(ticket))
        return encode(None if picked == len(choice.shown) else picked, len(choice.shown))

    def _pick(self, worth: Floats, draws: Draws) -> int:
        """The position picked; draws from 0 on, the tie-breaking draw 0 among equals."""
        if self.law == "logistic":
            noise = -np.log(-np.log(np.maximum(draws.uniforms(worth.size), 2.0**-60)))
            return draws.largest(self.scale * worth + noise)
        if self.law == "linear":
            worth = np.where(draws.uniforms(worth.size) < 0.5 * (1.0 + worth), 1.0, -1.0)
        elif self.law != "perfect":
            raise ValueError(f"of more than two the law must be linear, logistic or perfect, got {self.law!r}")
        return draws.largest(worth)
