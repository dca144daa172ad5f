"""Who answers in a simulation: laws that turn rewards (or real ratings) into preferences."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.kernels.rounds import judge as judging
from conquer.types import Choice, Floats, Query

LAWS = {
    "linear": judging.LINEAR,
    "noisy": judging.NOISY,
    "logistic": judging.LOGISTIC,
    "perfect": judging.PERFECT,
    "raters": judging.RATERS,
    "best": judging.PERFECT,
}
_NO_RATINGS = np.empty(0)


@dataclass(frozen=True, slots=True)
class LawJudge:
    """Answers duels by its law and BEST by whether the shown item's reward is the largest of the round.

    linear: P(first) = (1 + (r_m - r_n)/2)/2; noisy: each reward becomes +-1 first, the same law; logistic:
    Bradley-Terry with `scale`; perfect: the larger, ties as ties; raters: one real rating drawn for each; best: like
    perfect, meant for algorithms that show one item.

    >>> judge = LawJudge("perfect")
    >>> judge(Choice((1, 0), Query.DUEL, 0), np.array([1.0, -1.0]), np.random.default_rng(0))
    -1.0
    """

    law: str
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ValueError(f"judge must be one of {', '.join(LAWS)}, got {self.law!r}")
        if not (isinstance(self.scale, int | float) and 0 < self.scale < math.inf):
            raise ValueError(f"scale must be a finite number above 0, got {self.scale!r}")

    @property
    def code(self) -> int:
        return LAWS[self.law]

    def __call__(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
        """+1, -1 or 0; None when nothing was asked. Draws one ticket from `rng` in any case.

        `rewards`: the (K,) rewards of the round; for raters the (K, R) ratings, NaN-padded.
        """
        ticket = np.uint64(rng.integers(0, 2**64, dtype=np.uint64) if isinstance(rng, np.random.Generator) else rng)
        values = np.asarray(rewards, dtype=np.float64)
        if choice.query == Query.NONE:
            return None
        if not all(0 <= k < len(values) for k in choice.shown):
            raise ValueError(f"shown items must be in [0, {len(values)}), got {choice.shown}")
        if choice.query == Query.BEST:
            worth = np.nanmean(values, axis=1) if values.ndim == 2 else values
            return 1.0 if worth[choice.shown[0]] >= worth.max() else -1.0
        if (values.ndim == 2) != (self.law == "raters"):
            raise ValueError(f"{self.law} needs {'(K, R) ratings' if values.ndim == 1 else '(K,) rewards'}")
        one, two = (values[k] for k in choice.shown)
        if values.ndim == 2:
            if not one.size or np.isnan([one[0], two[0]]).any():
                raise ValueError("each shown item needs at least one rating, NaN only after the last")
            return float(judging.prefer_once(self.code, float(self.scale), 0.0, 0.0, one.copy(), two.copy(), ticket))
        return float(
            judging.prefer_once(self.code, float(self.scale), float(one), float(two), _NO_RATINGS, _NO_RATINGS, ticket)
        )


def make_judge(judge: Any) -> LawJudge:
    """A judge by name, or the judge itself.

    >>> make_judge("logistic").law
    'logistic'
    """
    return judge if isinstance(judge, LawJudge) else LawJudge(judge)


def rewards_of(stars: Any) -> Floats:
    """Rewards in [-1, 1] of one to five stars: (stars - 3)/2.

    >>> rewards_of([1, 3, 5]).tolist()
    [-1.0, 0.0, 1.0]
    """
    values = np.asarray(stars, dtype=np.float64)
    if values.size and not (values.min() >= 1 and values.max() <= 5):
        raise ValueError(f"stars must be in [1, 5], got [{values.min()}, {values.max()}]")
    return (values - 3.0) / 2.0
