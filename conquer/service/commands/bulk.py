"""Rounds of plain vectors, many at once: one pass over their bytes, one call to choose, one call to learn."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from conquer.learners.many import ManyLearner, in_bulk
from conquer.service.commands.memory import Memory
from conquer.service.commands.reading import ITEM
from conquer.service.commands.vectors import VectorRounds, read_rounds
from conquer.service.http.schemas import ModelSettings
from conquer.service.settings import Limits
from conquer.types import Choice, Learner

Chosen = tuple[Choice, tuple[str, ...], list[float]]
"""What to show, its names, and all scores."""


_DUEL = 2
"""Items that a round needs to be chosen for."""


class VectorBulk:
    """A learner of the registry at work on many rounds of vectors without a context."""

    def __init__(self, learner: ManyLearner, dim: int, memory: Memory) -> None:
        self._learner, self._dim, self._memory, self._limits = learner, dim, memory, Limits()

    def read(self, texts: Sequence[bytes]) -> VectorRounds:
        rounds = read_rounds(texts, self._dim, self._limits)
        self._memory.reach(rounds.rows)
        return rounds

    def understood(self, rounds: VectorRounds) -> list[int]:
        ends: list[int] = rounds.rows.indptr.tolist()
        return [
            ends[stop] - ends[start] + ITEM * (stop - start) if stop - start >= _DUEL else -1
            for start, stop in pairwise(rounds.starts)
        ]

    def choose(self, rounds: VectorRounds, first: int, last: int, tickets: Sequence[int]) -> list[Chosen | None]:
        starts = rounds.starts[first : last + 1]
        choices, scores = self._learner.choose_all(rounds.rows, starts, tickets)
        listed: list[float] = scores.tolist()
        # A sum is finite only if all its terms are; where it is not, each round is looked at.
        finite = math.isfinite(sum(listed[starts[0] : starts[-1]]))
        found: list[Chosen | None] = []
        for choice, ids, start, stop in zip(choices, rounds.ids[first:last], starts, starts[1:], strict=False):
            told = listed[start:stop]
            if choice is None or not (finite or all(map(math.isfinite, told))):
                found.append(None)
                continue
            shown = choice.shown
            # Two are shown, or one where nothing is asked.
            names = (ids[shown[0]], ids[shown[1]]) if len(shown) == 2 else (ids[shown[0]],)
            found.append((choice, names, told))
        return found

    def learn(self, rounds: VectorRounds, asked: Sequence[tuple[int, Choice, float, int]]) -> int:
        starts = rounds.starts
        pairs = [(starts[t] + choice.shown[0], starts[t] + choice.shown[1]) for t, choice, _, _ in asked]
        return self._learner.learn_all(
            rounds.rows,
            np.array(pairs, np.int64),
            [value for _, _, value, _ in asked],
            [side for _, _, _, side in asked],
            [choice.ticket for _, choice, _, _ in asked],
        )


def bulk_of(settings: ModelSettings, learner: Learner, memory: Memory) -> VectorBulk | None:
    """What does many rounds of this model at once; None where each of them has more to it."""
    many = in_bulk(learner)
    if (
        many is None
        or settings.features.learn is not None
        or settings.covariance == "on-show"
        or settings.stop is not None
    ):
        return None
    return VectorBulk(many, settings.features.dim, memory)
