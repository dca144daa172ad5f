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

    linear and noisy: every reward becomes +1 with chance (1 + r)/2, else -1, and one of the largest is picked (for two
    the linear law); logistic: chances in proportion to e^(scale r); perfect and best: the largest; raters: one rating
    drawn for each, the largest. With `outside`, none of these is one more choice of worth 0, where the
    learner has an answer for it (its memo says so).

    >>> judge = PickJudge("perfect")
    >>> judge(Choice((2, 0, 1), Query.DUEL, 0), np.array([0.0, 1.0, -1.0]), 7)
    -1.0
    """

    law: str = "linear"
    scale: float = 1.0
    outside: bool = False

    def __post_init__(self) -> None:
        LawJudge(self.law, self.scale)

    def __call__(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
        """The answer in [-1, 1]; None when nothing was asked. Draws one ticket from `rng` in any case."""
        ticket = int(rng.integers(0, 2**64, dtype=np.uint64)) if isinstance(rng, np.random.Generator) else int(rng)
        none = self.outside and bool(choice.memo.get("outside"))
        if choice.query != Query.DUEL or (len(choice.shown) == 2 and not none):
            return LawJudge(self.law, self.scale)(choice, rewards, ticket)
        draws, values = Draws(ticket), np.asarray(rewards, dtype=np.float64)
        if (values.ndim == 2) != (self.law == "raters"):
            raise ValueError(f"{self.law} needs {'(K, R) ratings' if values.ndim == 1 else '(K,) rewards'}")
        shown = values[list(choice.shown)]
        worth = np.append(shown if values.ndim == 1 else _rated(shown, draws), [0.0] if none else [])
        picked = self._pick(worth, draws)
        return encode(None if picked == len(choice.shown) else picked, len(choice.shown))

    def _pick(self, worth: Floats, draws: Draws) -> int:
        """The position picked; draws from 0 on, the tie-breaking draw 0 among equals."""
        if self.law == "logistic":
            noise = -np.log(-np.log(np.maximum(draws.uniforms(worth.size), 2.0**-60)))
            return draws.largest(self.scale * worth + noise)
        if self.law in ("linear", "noisy"):
            worth = np.where(draws.uniforms(worth.size) < 0.5 * (1.0 + worth), 1.0, -1.0)
        return draws.largest(worth)


def _rated(ratings: Floats, draws: Draws) -> Floats:
    """One rating drawn for each of the (k, R) rows, NaN-padded."""
    counts = (~np.isnan(ratings)).sum(axis=1)
    if not counts.all() or np.isnan(ratings[:, 0]).any():
        raise ValueError("each shown item needs at least one rating, NaN only after the last")
    return np.array([row[draws.below(place, int(counts[place]))] for place, row in enumerate(ratings)])
