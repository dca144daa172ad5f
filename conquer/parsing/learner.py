"""The parser as a learner: a sentence's edges are the items, and two edges into one word are shown."""

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_answer, number, one_of
from conquer.kernels.parsing import training as kernel
from conquer.kernels.parsing.edges import edge_of, row_of
from conquer.kernels.rounds import settings as st
from conquer.models.model import CompiledModel
from conquer.parsing.edges import EdgeRows, Features
from conquer.parsing.trees import best_tree
from conquer.tickets import FULL_RANGE, draw_ticket
from conquer.types import Choice, Floats, Ints, Learner, Query, Source

ASK = {
    "gnc": kernel.GNC,
    "margin": kernel.MARGIN,
    "confusion": kernel.CONFUSION,
    "random": kernel.RANDOM,
}
NEITHER = {"skip": kernel.SKIP, "tie": kernel.TIE, "coin": kernel.COIN}
SCALE = {"edge": 0, "tree": 1}


@dataclass(frozen=True, slots=True)
class EdgeRule:
    """How to ask and how to learn.

    `ask`: "confusion" (the widest pair), "margin" (the smallest margin), "gnc" (the most likely challenger) or
    "random". `neither`: an answer of 0 is skipped, learnt as a tie, or as a coin toss. `scale`: the size of a step,
    "edge", or "tree" (divided by the sentence's length). `silent`: ask nothing when the tree's edge leads by more than
    the width sqrt(eta c).
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
        for name in ("silent", "several_roots"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")


class EdgeLearner:
    """Questions about sentences: `choose` only advances `rng`; `learn` and `rehearse` change the model.

    `X` is a Sentence (with `features`), or its n * n edges as rows: those of word 1 first, heads ascending. Any model
    with `scores`, `contrasts` and `update` works; projection constrains all edges of the sentence. Not thread-safe.

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
    shows = 2
    duels = False
    """A sentence of one word has one edge and nothing to ask."""
    fixed_arms = False
    compiled = False
    """The compiled loop over rounds cannot run it; `training.Training` has one over sentences."""

    def __init__(self, model: CompiledModel, rule: EdgeRule | None = None, *, features: Features | None = None) -> None:
        if features is not None and features.dim != model.dim:
            raise ValueError(f"the features have {features.dim} cells, the model {model.dim}")
        self.model, self.rule, self.features = model, rule or EdgeRule(), features

    @property
    def dim(self) -> int:
        return self.model.dim

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The rule by name."""
        return asdict(self.rule)

    @property
    def fresh(self) -> bool:
        """Whether nothing has been learnt yet."""
        return not self.model.stats.any()

    @property
    def answers(self) -> int:
        """The number of steps learnt."""
        return int(self.model.stats[st.LEARNT])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, by name."""
        return self.model.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Load the state of `arrays()`, checked, into a fresh learner."""
        self.model.restore(arrays)

    def _edges(self, X: Any) -> EdgeRows:
        return EdgeRows.read(X, self.dim, self.features)

    def scores(self, X: Any, ticket: int = 0) -> Floats:
        """(n * n,): the score of every edge; `ticket`, the round's, orders a sequential projection."""
        return self._scores(self._edges(X), draw_ticket(ticket))

    def _scores(self, edges: EdgeRows, ticket: int) -> Floats:
        if self.model.projection is not None:
            return self.model.scores(edges.rows, ticket)
        return np.concatenate([self.model.scores(edges.into(word)) for word in range(1, edges.size + 1)])

    def _word_scores(self, edges: EdgeRows, word: int) -> Floats:
        if self.model.projection is None:
            return self.model.scores(edges.into(word))
        first = edge_of(word, 0, edges.size)
        return self._scores(edges, 0)[first : first + edges.size]

    def board(self, X: Any, *arguments: Any, **options: Any) -> NoReturn:
        """Raise a ValueError: the edges of one sentence are not items to rank."""
        raise ValueError("a parser has no board: every sentence has its own edges")

    def tree(self, X: Any, ticket: int = 0) -> Ints:
        """(n,): the head of every word in the best tree; `ticket`, a round's, orders a sequential projection."""
        edges = self._edges(X)
        return best_tree(edges.table(self._scores(edges, draw_ticket(ticket))), several_roots=self.rule.several_roots)

    def choose(self, X: Any, rng: np.random.Generator | int, asked: Collection[int] = ()) -> Choice:
        """The question about this sentence: `shown` are two edges into `memo["word"]`, whose heads are `memo["heads"]`.

        Words in `asked` are left out. With nothing to ask (one word, all asked, or silent) the query is NONE.
        `memo["outside"]` is True if "neither" is learnt. `memo["ties"]` is False: a tie counts as "neither".
        """
        edges = self._edges(X)
        size, ticket = edges.size, draw_ticket(rng)
        done = np.zeros(size + 1, dtype=bool)
        for word in asked:
            if not 1 <= word <= size:
                raise ValueError(f"words are numbered 1 to {size}, got {word!r} as asked")
            done[word] = True
        scores = edges.table(self._scores(edges, ticket))
        heads = np.zeros(size + 1, np.int64)
        heads[0] = -1
        heads[1:] = best_tree(scores, several_roots=self.rule.several_roots)
        code = ASK[self.rule.ask]
        widths = np.zeros_like(scores)
        if self.rule.silent or code in kernel.WITH_WIDTHS:
            for word in (np.flatnonzero(~done[1:]) + 1).tolist():
                line = self.model.contrasts(edges.into(word), row_of(word, int(heads[word])))
                widths[word, np.arange(size + 1) != word] = line
        values = np.empty(size * (size + 1))
        word, rival = kernel.question(
            code, float(self.rule.eta), self.rule.silent, scores, widths, heads, done, values, np.uint64(ticket)
        )
        if word == 0:
            return Choice((edge_of(1, int(heads[1]), size),), Query.NONE, ticket, {"chance": None})
        pair = int(heads[word]), int(rival)
        memo: dict[str, Any] = {"word": int(word), "heads": list(pair), "chance": None, "ties": False}
        if self.rule.neither != "skip":
            memo["outside"] = True
        return Choice(tuple(edge_of(int(word), head, size) for head in pair), Query.DUEL, ticket, memo)

    def check(self, choice: Choice, count: int) -> tuple[int, int]:
        """The two rows shown, or a ValueError unless they are two of `count` edges and lead into one word."""
        size = math.isqrt(count)
        shown = choice.shown
        if choice.query != Query.DUEL or len(shown) != 2 or shown[0] == shown[1]:
            raise ValueError(f"nothing to learn: expected a duel of two edges, got {choice.query.name} of {shown}")
        if not all(0 <= edge < count for edge in shown) or shown[0] // size != shown[1] // size:
            raise ValueError(f"expected two of {count} edges into one of {size} words, got {shown}")
        if not 0 <= choice.ticket < FULL_RANGE:
            raise ValueError(f"a ticket must be in [0, 2**64), got {choice.ticket!r}")
        return int(shown[0]), int(shown[1])

    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None:
        """+1: the first edge is right, -1: the second, 0: neither (see `EdgeRule`), or a strength between."""
        edges = self._edges(X)
        pair = self.check(choice, len(edges.rows))
        target = checked_answer(answer)
        if target == 0:
            target = kernel.target_of(kernel.NEITHER, NEITHER[self.rule.neither], np.uint64(choice.ticket))
            if math.isnan(target):
                return
        self._move(edges, pair, target, choice.ticket)

    def _move(self, edges: EdgeRows, pair: tuple[int, int], target: float, ticket: int) -> None:
        """One step along half the difference of two edges."""
        (a, b), model = pair, self.model
        half = 0.5 / edges.size if self.rule.scale == "tree" else 0.5
        if model.projection is not None:
            model.update(edges.rows, {a: half, b: -half}, target, ticket)
        else:
            model.update(edges.rows.take([a, b]), {0: half, 1: -half}, target)

    def rehearse(self, X: Any, word: int, head: int) -> None:
        """Learn a known head once more, against its best rival, unless its margin is at least 1."""
        edges = self._edges(X)
        size = edges.size
        if not 1 <= word <= size or not 0 <= head <= size or word == head:
            raise ValueError(f"expected a word in [1, {size}] and another as its head or 0, got {word!r} and {head!r}")
        if size == 1:
            return
        first, own = edge_of(word, 0, size), row_of(word, head)
        line = self._word_scores(edges, word)
        others = line.copy()
        others[own] = -np.inf
        rival = int(others.argmax())
        factor = 1.0 / size if self.rule.scale == "tree" else 1.0
        if 0.5 * factor * (line[own] - line[rival]) < 1.0:
            self._move(edges, (first + own, first + rival), 1.0, 0)


if TYPE_CHECKING:
    _checked: type[Learner] = EdgeLearner
