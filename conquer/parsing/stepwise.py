"""Training one call at a time, for models that the compiled loop does not know: a full matrix, the listing's
projection."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from conquer import tickets
from conquer.kernels.parsing.sentences import Text
from conquer.kernels.parsing.training import TrainingState
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.model import CompiledModel
from conquer.parsing.annotator import ANSWERS, Annotator
from conquer.parsing.edges import Features
from conquer.parsing.learner import EdgeLearner
from conquer.rows import SparseRows
from conquer.types import Ints, Query

Tickets = NDArray[np.uint64]

MATRICES = {"diagonal": 0, "full": 1}
LARGEST_FULL = 4096
"""Features of a full matrix: it takes their square in memory and in every step."""
LONGEST_PROJECTED = 50
"""Words of a sentence under projection: every edge is held, so memory grows with the fourth power of the words."""
_VALUES = {"first": 1.0, "second": -1.0, "neither": 0.0}


def check_full(matrix: str, features: Features) -> None:
    """Raise unless the model can be held with these features."""
    if matrix == "full" and features.dim > LARGEST_FULL:
        fit = max((b for b in range(4, features.bits) if Features(features.name, b).dim <= LARGEST_FULL), default=None)
        raise ValueError(
            f"matrix='full' takes at most {LARGEST_FULL} features, got {features.dim} with features="
            f"{features.name!r} and bits={features.bits}: give bits={fit} or fewer"
        )


def check_projected(text: Text, projection: str | None) -> None:
    """Raise unless every sentence is short enough for the projection of all its edges."""
    words = np.diff(text.offsets) - 1
    if projection is not None and words.max() > LONGEST_PROJECTED:
        raise ValueError(
            f"projection={projection!r} takes sentences of at most {LONGEST_PROJECTED} words, sentence "
            f"{int(words.argmax()) + 1} has {words.max()}: longest={LONGEST_PROJECTED} leaves such sentences out"
        )


def made(matrix: str, projection: str | None, features: Features, lam: float, update: str) -> CompiledModel:
    """A fresh model by its matrix's name; `update` is the diagonal one's.

    >>> made("full", "exact", Features("tags", bits=4), 1.0, "margin").projection
    'exact'
    """
    check_full(matrix, features)
    if matrix == "full":
        return Full(features.dim, lam=lam, projection=projection)
    return Diagonal(features.dim, lam=lam, update=update, projection=projection)


@dataclass(frozen=True, slots=True)
class Stepwise:
    """The compiled `train` through `choose`, `learn` and `rehearse`: same tickets, same questions; fills `progress`."""

    learner: EdgeLearner
    text: Text
    person: Annotator
    questions: int
    replay: int
    progress: TrainingState

    def visit(self, order: Ints, policy: Tickets, judge: Tickets) -> None:
        """Visit sentences in this order, with `questions` tickets of either kind for each."""
        draws = iter(zip(policy.tolist(), judge.tolist(), strict=True))
        for t in order.tolist():
            edges = self._edges(t)
            # All tickets of a sentence are used up, also those of questions that it does not have.
            for ticket, judged in list(islice(draws, self.questions)):
                if not self._ask(t, edges, ticket, judged):
                    break
                self.progress.counts[2] += 1
                self._rehearse(ticket)

    def _edges(self, t: int) -> SparseRows:
        assert self.learner.features is not None
        return self.learner.features.rows_of(self.text, t)

    def _ask(self, t: int, edges: SparseRows, ticket: int, judged: int) -> bool:
        """Choose, ask and learn one question; returns whether something was asked."""
        words = slice(int(self.text.offsets[t]), int(self.text.offsets[t + 1]))
        asked, heads = self.progress.asked[words], self.text.heads[words]
        choice = self.learner.choose(edges, ticket, asked=(np.flatnonzero(asked[1:]) + 1).tolist())
        if choice.query == Query.NONE:
            return False
        word, (first, second) = choice.memo["word"], choice.memo["heads"]
        said = self.person(int(heads[word]), first, second, judged)
        asked[word] = True
        self.progress.log[self.progress.counts[1]] = t, word, first, second, ANSWERS.index(said)
        self.progress.counts[1] += 1
        if said in _VALUES:
            self._moving(partial(self.learner.learn, edges, choice, _VALUES[said]))
        if said in ("first", "second"):
            self.progress.memory[self.progress.counts[0]] = t, word, first if said == "first" else second
            self.progress.counts[0] += 1
        return True

    def _rehearse(self, ticket: int) -> None:
        """Learn some of the answers so far once more."""
        known = int(self.progress.counts[0])
        for r in range(self.replay if known else 0):
            t, word, head = self.progress.memory[tickets.Draws(ticket).below(r, known)].tolist()
            self._moving(partial(self.learner.rehearse, self._edges(t), word, head))

    def _moving(self, step: Callable[[], None]) -> None:
        """Take a step; where weights are averaged, add the clock times the change of w."""
        sums = self.progress.average
        before = self.learner.model.weights() if sums.size else sums
        step()
        if sums.size:
            sums += self.progress.counts[2] * (self.learner.model.weights() - before)
