"""Judges: laws that turn rewards or ratings into answers about the shown items of a simulation."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer import plugins
from conquer.answers import answer_of
from conquer.kernels.rounds import loop as judging
from conquer.tickets import Draws, draw_ticket
from conquer.types import Choice, Floats, Judge, Query

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

    Of more than two items the best is picked, encoded by `answers.answer_of`. linear and noisy: every reward becomes
    +1 with probability (1 + r)/2, else -1, and one of the largest is picked; logistic: probabilities in proportion to
    e^(scale r); perfect and best: the largest; raters: the largest of the ratings drawn. With `outside`, "none of
    these" is one more choice of worth 0 if the choice's memo allows it.

    >>> judge = LawJudge("perfect")
    >>> judge(Choice((1, 0), Query.DUEL, 0), np.array([1.0, -1.0]), np.random.default_rng(0))
    -1.0
    >>> judge(Choice((2, 0, 1), Query.DUEL, 0), np.array([0.0, 1.0, -1.0]), 7)
    2.0
    """

    law: str
    scale: float = 1.0
    outside: bool = False

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ValueError(f"judge must be one of {', '.join(LAWS)}, got {self.law!r}")
        if not (isinstance(self.scale, int | float) and 0 < self.scale < math.inf):
            raise ValueError(f"scale must be a finite number above 0, got {self.scale!r}")

    @property
    def code(self) -> int:
        """The law's code in kernels."""
        return LAWS[self.law]

    def __call__(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
        """The answer in [-1, 1]; None if nothing was asked. One ticket is drawn from `rng` in any case.

        `rewards`: the (K,) rewards of the round; for raters the (K, R) ratings, NaN-padded.
        """
        ticket = draw_ticket(rng)
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
        shown = values[list(choice.shown)]
        if values.ndim == 2 and (not shown.size or np.isnan(shown[:, 0]).any()):
            raise ValueError("each shown item needs at least one rating, NaN only after the last")
        outside = self.outside and bool(choice.memo.get("outside"))
        if len(choice.shown) == 2 and not outside:
            return self._prefer(shown, ticket)
        return self._best_of(shown, outside, Draws(ticket))

    def _prefer(self, shown: Floats, ticket: int) -> float:
        """The answer to a duel, by the compiled loop's function."""
        if shown.ndim == 2:
            one, two, ratings = 0.0, 0.0, (shown[0].copy(), shown[1].copy())
        else:
            one, two, ratings = float(shown[0]), float(shown[1]), (_NO_RATINGS, _NO_RATINGS)
        return float(judging.prefer_once(self.code, float(self.scale), one, two, *ratings, np.uint64(ticket)))

    def _best_of(self, shown: Floats, outside: bool, draws: Draws) -> float:
        worth = np.append(shown if shown.ndim == 1 else _rated(shown, draws), [0.0] if outside else [])
        picked = self._pick(worth, draws)
        return answer_of(None if picked == len(shown) else picked, len(shown))

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
    return np.array([row[draws.below(k, int(counts[k]))] for k, row in enumerate(ratings)])


def make_judge(judge: Any) -> Judge:
    """The judge of this name, a law or a plugin's; a `LawJudge` is returned as it is.

    >>> make_judge("logistic")
    LawJudge(law='logistic', scale=1.0, outside=False)
    """
    if isinstance(judge, LawJudge):
        return judge
    plugin = plugins.find("judges", judge) if isinstance(judge, str) and judge not in LAWS else None
    if plugin is None:
        return LawJudge(judge)
    if not callable(plugin.value):
        raise plugin.error(f"must be a function of choice, rewards and ticket, got {plugin.value!r:.80}")
    found: Judge = plugin.value
    return found


def known_judge(name: str) -> bool:
    """Whether a law or a plugin has this name.

    >>> known_judge("linear"), known_judge("no-such")
    (True, False)
    """
    return name in LAWS or name in plugins.names("judges")


def rewards_of(stars: Any) -> Floats:
    """Rewards in [-1, 1] of one to five stars: (stars - 3)/2.

    >>> rewards_of([1, 3, 5]).tolist()
    [-1.0, 0.0, 1.0]
    """
    values = np.asarray(stars, dtype=np.float64)
    if values.size and not (values.min() >= 1 and values.max() <= 5):
        raise ValueError(f"stars must be in [1, 5], got [{values.min()}, {values.max()}]")
    return (values - 3.0) / 2.0
