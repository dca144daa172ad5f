"""The parser as ask/tell: a sentence's edges are the items, two edges into one word are shown."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.checks import checked_answer, number, one_of
from conquer.data.treebank import Sentence
from conquer.kernels.parsing import questions as kernel
from conquer.kernels.rounds import settings as st
from conquer.models.model import CompiledModel
from conquer.parsing.edges import LONGEST, Features
from conquer.parsing.mst import best_tree
from conquer.rows import SparseRows, as_rows
from conquer.tickets import draw_ticket
from conquer.types import Choice, Floats, Ints, Query

ASK = {
    "pair": kernel.PAIR,
    "gnc": kernel.GNC,
    "margin": kernel.MARGIN,
    "confusion": kernel.CONFUSION,
    "random": kernel.RANDOM,
}
NEITHER = {"skip": kernel.SKIP, "tie": kernel.TIE, "coin": kernel.COIN}
SCALE = {"edge": 0, "tree": 1}


@dataclass(frozen=True, slots=True)
class Rule:
    """How to ask and how to learn.

    `ask`: "confusion" (widest), "margin" (closest race), "gnc" (likeliest better), "pair" (gnc that prefers pairs
    with a lead over the third candidate, so that fewer answers are "neither") or "random". `neither`: an answer of 0
    is skipped, learnt as a tie, or as a coin's toss. `scale`: steps of an edge, or of an edge over the sentence's
    length. `silent`: ask nothing when the tree's edge leads by more than the width sqrt(eta c).
    """

    ask: str = "gnc"
    eta: float = 0.5
    neither: str = "skip"
    scale: str = "edge"
    silent: bool = False
    several_roots: bool = False

    def __post_init__(self) -> None:
        one_of("ask", self.ask, ASK)
        one_of("neither", self.neither, NEITHER)
        one_of("scale", self.scale, SCALE)
        number("eta", self.eta, 0.0)


class EdgeLearner:
    """`choose` is pure but for its rng; `learn`, `rehearse` and `expose` mutate the model. Not thread-safe.

    `X` is a sentence (with `features`), or its n * n edges as rows, those of word 1 first, heads ascending. Any model
    with `scores`, `contrasts` and `update` will do; with projection all edges of the sentence are constrained.

    >>> from conquer.data.treebank import parse
    >>> from conquer.models.diagonal import Diagonal
    >>> rows = ("1 Dogs _ NOUN _ _ 2 nsubj _ _", "2 bark _ VERB _ _ 0 root _ _")
    >>> sentence = parse("\\n".join(row.replace(" ", "\\t") for row in rows))[0]
    >>> features = Features("tags", bits=10)
    >>> learner = EdgeLearner(Diagonal(features.dim), features=features)
    >>> choice = learner.choose(sentence, 7)
    >>> word, (first, second) = choice.memo["word"], choice.memo["heads"]
    >>> learner.learn(sentence, choice, +1 if sentence.heads[word - 1] == first else -1)
    >>> int(learner.tree(sentence)[word - 1]) == sentence.heads[word - 1]
    True
    """

    name = "parser"

    def __init__(self, model: CompiledModel, rule: Rule | None = None, *, features: Features | None = None) -> None:
        if features is not None and features.dim != model.dim:
            raise ValueError(f"the features have {features.dim} cells, the model {model.dim}")
        self.model, self.rule, self.features = model, rule or Rule(), features

    @property
    def dim(self) -> int:
        return self.model.dim

    @property
    def fresh(self) -> bool:
        """Whether it has learnt nothing yet."""
        return not self.model.stats.any()

    @property
    def answers(self) -> int:
        """How many steps have been learnt."""
        return int(self.model.stats[st.LEARNT])

    def begin_exposing(self) -> None:
        """Prepare to count pairs on show."""
        self.model.begin_exposing()

    def _edges(self, X: Any) -> tuple[SparseRows, int]:
        if isinstance(X, Sentence):
            if self.features is None:
                raise TypeError("a learner without features takes rows, not a Sentence")
            X = self.features.rows(X)
        rows = as_rows(X, self.dim)
        size = math.isqrt(len(rows))
        if size * size != len(rows) or not 1 <= size <= LONGEST:
            raise ValueError(f"a sentence of n words has n * n edges, n in [1, {LONGEST}], got {len(rows)} rows")
        return rows, size

    def _of_word(self, rows: SparseRows, size: int, word: int) -> SparseRows:
        return rows.take(np.arange((word - 1) * size, word * size))

    def _table(self, flat: Floats, size: int) -> Floats:
        """(n * n,) by edge as (n + 1, n + 1) by word and head."""
        table = np.zeros((size + 1, size + 1))
        table[1:][~np.eye(size + 1, dtype=bool)[1:]] = flat
        return table

    def scores(self, X: Any) -> Floats:
        """(n * n,): the score of every edge."""
        rows, size = self._edges(X)
        if self.model.projection is not None:
            return self.model.scores(rows)
        return np.concatenate([self._word_scores(rows, size, word) for word in range(1, size + 1)])

    def _word_scores(self, rows: SparseRows, size: int, word: int) -> Floats:
        return self.model.scores(self._of_word(rows, size, word))

    def tree(self, X: Any) -> Ints:
        """(n,): the head of every word in the best tree."""
        rows, size = self._edges(X)
        return best_tree(self._table(self.scores(rows), size), several_roots=self.rule.several_roots)

    def choose(self, X: Any, rng: np.random.Generator | int, asked: Collection[int] = ()) -> Choice:
        """The question about this sentence: `shown` are two edges into `memo["word"]`, whose heads are `memo["heads"]`.

        Words in `asked` are left alone. Nothing to ask (one word, all asked, or silent): query NONE.
        """
        rows, size = self._edges(X)
        ticket = np.uint64(draw_ticket(rng))
        mask = np.zeros(size + 1, dtype=bool)
        for word in asked:
            if not 1 <= word <= size:
                raise ValueError(f"words are numbered 1 to {size}, got {word!r} as asked")
            mask[word] = True
        scores = self._table(self.scores(rows), size)
        heads = np.zeros(size + 1, np.int64)
        heads[0] = -1
        heads[1:] = best_tree(scores, several_roots=self.rule.several_roots)
        code = ASK[self.rule.ask]
        widths = np.zeros_like(scores)
        if self.rule.silent or code in kernel.WITH_WIDTHS:
            for open_word in (np.flatnonzero(~mask[1:]) + 1).tolist():
                pivot = int(heads[open_word]) - int(heads[open_word] > open_word)
                line = self.model.contrasts(self._of_word(rows, size, open_word), pivot)
                widths[open_word, np.arange(size + 1) != open_word] = line
        values = np.empty(size * (size + 1))
        word, rival = kernel.pick_question(
            code, float(self.rule.eta), self.rule.silent, scores, widths, heads, mask, values, ticket
        )
        if word == 0:
            return Choice((int(heads[1] - (heads[1] > 1)),), Query.NONE, int(ticket), {"chance": None})
        pair = int(heads[word]), int(rival)
        shown = tuple((word - 1) * size + head - (head > word) for head in pair)
        return Choice(shown, Query.DUEL, int(ticket), {"word": int(word), "heads": pair, "chance": None})

    def check(self, choice: Choice, count: int) -> tuple[int, int]:
        """The two rows shown, or a ValueError if they are no two edges into one word of `count` edges."""
        size = math.isqrt(count)
        shown = choice.shown
        if choice.query != Query.DUEL or len(shown) != 2 or shown[0] == shown[1]:
            raise ValueError(f"nothing to learn: expected a duel of two edges, got {choice.query.name} of {shown}")
        if not all(0 <= edge < count for edge in shown) or shown[0] // size != shown[1] // size:
            raise ValueError(f"expected two of {count} edges into one of {size} words, got {shown}")
        return int(shown[0]), int(shown[1])

    def _move(
        self, rows: SparseRows, size: int, pair: tuple[int, int], target: float, ticket: int, exposed: bool = False
    ) -> None:
        a, b = pair
        half = 0.5 / size if self.rule.scale == "tree" else 0.5
        model = self.model
        if exposed:
            two = rows.take([a, b])
            model.reserve(two)
            model.make_room(two)
            arrays = two.indptr, two.indices, two.data, two.rows
            model.ticket[0] = ticket
            common = model.plan, model.knobs, model.work, model.ticket
            status = model.calls.learn(*arrays, *model.state, *common, 0, 1, target, True)
            if status != st.OK:
                model.fail(status)
        elif model.projection is not None:
            model.update(rows, {a: half, b: -half}, target, ticket)
        else:
            model.update(rows.take([a, b]), {0: half, 1: -half}, target)

    def learn(self, X: Any, choice: Choice, answer: float) -> None:
        """+1: the first edge is right, -1: the second, 0: neither (see `Rule`), or a strength between."""
        rows, size = self._edges(X)
        a, b = self.check(choice, len(rows))
        target = checked_answer(answer)
        if answer == 0:
            target = kernel.target(kernel.NEITHER, NEITHER[self.rule.neither], np.uint64(choice.ticket))
            if math.isnan(target):
                return
        self._move(rows, size, (a, b), target, choice.ticket, bool(choice.memo.get("exposed")))

    def rehearse(self, X: Any, word: int, head: int) -> None:
        """Learn a known head once more, against its best rival, unless it leads by a whole answer already."""
        rows, size = self._edges(X)
        if not 1 <= word <= size or not 0 <= head <= size or word == head:
            raise ValueError(f"expected a word in [1, {size}] and another as its head or 0, got {word!r} and {head!r}")
        if size == 1:
            return
        first, own = (word - 1) * size, head - (head > word)
        constrained = self.model.projection is not None
        line = self.scores(rows)[first : first + size] if constrained else self._word_scores(rows, size, word)
        others = line.copy()
        others[own] = -np.inf
        rival = int(others.argmax())
        factor = 1.0 / size if self.rule.scale == "tree" else 1.0
        if 0.5 * factor * (line[own] - line[rival]) < 1.0:
            self._move(rows, size, (first + own, first + rival), 1.0, 0)

    def expose(self, X: Any, choice: Choice) -> Choice:
        """Count a shown pair in the widths before its answer; returns the choice to learn from later."""
        rows, _ = self._edges(X)
        a, b = self.check(choice, len(rows))
        if choice.memo.get("exposed"):
            raise ValueError("this choice has been counted already")
        if self.rule.scale == "tree":
            raise ValueError("with scale='tree' pairs are counted when they are answered, not when they are shown")
        self.begin_exposing()
        two = rows.take([a, b])
        model = self.model
        model.reserve(two)
        arrays = two.indptr, two.indices, two.data, two.rows
        status = model.calls.expose(*arrays, *model.state, model.plan, model.knobs, 0, 1)
        if status != st.OK:
            model.fail(status)
        return Choice(choice.shown, choice.query, choice.ticket, {**choice.memo, "exposed": True})
