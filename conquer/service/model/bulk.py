"""Rounds of plain vectors, many at once: one pass over their bytes, one call to choose, one call to learn."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from conquer.learners.batch import BatchLearner, batch_learner
from conquer.rows import SparseRows
from conquer.service.model.event import Pair
from conquer.service.model.memory import Memory
from conquer.service.model.reading import ITEM
from conquer.service.model.schemas import ModelSettings
from conquer.service.model.vectors import VectorRounds, read_rounds
from conquer.service.settings import Limits
from conquer.types import Choice, Learner

Chosen = tuple[Choice, tuple[str, ...], list[float]]
"""What to show, its names, and all scores."""


_DUEL = 2
"""Items that a round needs to be chosen for."""


class VectorBulk:
    """A learner of the registry at work on many rounds of vectors without a context."""

    def __init__(self, learner: BatchLearner, dim: int, memory: Memory) -> None:
        self._learner, self._dim, self._memory, self._limits = learner, dim, memory, Limits()
        self._whole = 2 * np.arange(min(dim, self._limits.features), dtype=np.int32).tobytes()
        """The columns of two vectors without a zero, which come in their order: most pairs have them in common."""

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

    def pairs(self, rounds: VectorRounds, first: int, choices: Sequence[Choice]) -> list[Pair | None]:
        rows, starts = rounds.rows, rounds.starts
        # Bytes are cut and joined in a third of the time that arrays take, and a part holds no whole in memory.
        columns, values, ends = rows.indices.tobytes(), rows.data.tobytes(), rows.indptr.tolist()
        dim, whole = self._dim, self._whole
        found: list[Pair | None] = []
        for place, choice in enumerate(choices, first):
            start, shown = starts[place], choice.shown
            if len(shown) != _DUEL or shown[0] == shown[1] or starts[place + 1] - start < _DUEL:
                found.append(None)
                continue
            a, b = start + shown[0], start + shown[1]
            i, j, k, m = ends[a], ends[a + 1], ends[b], ends[b + 1]
            both = whole if j - i == m - k == dim else columns[4 * i : 4 * j] + columns[4 * k : 4 * m]
            found.append((both, values[8 * i : 8 * j] + values[8 * k : 8 * m], j - i))
        return found

    def learn(
        self, pairs: Sequence[Pair], values: Sequence[float], sides: Sequence[int], tickets: Sequence[int]
    ) -> int:
        columns, numbers, firsts = zip(*pairs, strict=True)
        ends, end = [0], 0
        for first, size in zip(firsts, map(len, columns), strict=True):
            ends += (end + first, end := end + size // 4)
        indices, data = np.frombuffer(b"".join(columns), np.int32), np.frombuffer(b"".join(numbers))
        rows = SparseRows.made(np.array(ends), indices, data, self._dim)
        self._memory.reach(rows)
        return self._learner.learn_all(rows, np.arange(2 * len(pairs)).reshape(-1, 2), values, sides, tickets)


def bulk_of(settings: ModelSettings, learner: Learner, memory: Memory) -> VectorBulk | None:
    """What does many rounds of this model at once; None where each of them has more to it."""
    batch = batch_learner(learner)
    if batch is None or settings.features.learn is not None or settings.stop is not None:
        return None
    return VectorBulk(batch, settings.features.dim, memory)
