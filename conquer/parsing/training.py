"""Training over whole treebanks: by questions to a simulated annotator, or on known heads.

A diagonal model without projection trains in a compiled loop; any other takes the same steps one call at a time.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer import tickets
from conquer.checks import one_of
from conquer.kernels.parsing import training as kernel
from conquer.kernels.parsing.edges import COMMA, PUNCT, Text
from conquer.kernels.rounds import settings as st
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.model import PROJECTIONS, CompiledModel
from conquer.parsing.edges import Features
from conquer.parsing.learner import ASK, NEITHER, EdgeLearner, EdgeRule
from conquer.parsing.prior import PRIORS, begin
from conquer.rows import SparseRows
from conquer.types import Floats, Ints, Query

ANSWERS = ("first", "second", "neither", "refused")
VALUES = {"first": 1.0, "second": -1.0, "neither": 0.0}
MATRICES = {"diagonal": 0, "full": 1}
LARGEST_FULL = 4096
"""The most features of a full matrix: memory and time of a step grow with their square."""
LONGEST_PROJECTED = 50
"""The most words of a sentence under projection: memory grows with the fourth power of the words."""
SETTLE_PASSES = 5
"""Passes of the final fit; more make no difference on the development parts."""
Tickets = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Annotator:
    """A simulated annotator who knows the right tree: answers "is `first` or `second` the head?" by one of `ANSWERS`.

    With chance `refusal` the answer is "refused"; otherwise, with chance `error`, it is one of the two wrong ones.

    >>> Annotator()(gold=2, first=2, second=0, ticket=7)
    'first'
    >>> Annotator(refusal=1.0)(gold=2, first=2, second=0, ticket=7)
    'refused'
    """

    error: float = 0.0
    refusal: float = 0.0

    def __post_init__(self) -> None:
        for name in ("error", "refusal"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
                raise ValueError(f"{name} must be a rate in [0, 1], got {value!r}")

    def __call__(self, gold: int, first: int, second: int, ticket: int) -> str:
        return ANSWERS[kernel.answer(gold, first, second, float(self.error), float(self.refusal), np.uint64(ticket))]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of training by questions.

    Each visit of a sentence asks `questions`, each followed by `replay` rehearsals of earlier answers. A word is asked
    about once; words of UPOS PUNCT only with `punctuation`, since guidelines settle them and most scores leave them
    out. `matrix` "full" keeps the full A; `projection` holds the score of every edge of a sentence within [-1, 1], as
    in the paper's listing. Both are for small trials (`LARGEST_FULL`, `LONGEST_PROJECTED`). `prior` "upos" starts the
    weights from rules over tags instead of 0.
    """

    rule: EdgeRule = field(default_factory=EdgeRule)
    annotator: Annotator = field(default_factory=Annotator)
    lam: float = 0.3
    update: str = "margin"
    questions: int = 1
    replay: int = 8
    punctuation: bool = False
    matrix: str = "diagonal"
    projection: str | None = None
    prior: str = "none"

    def __post_init__(self) -> None:
        one_of("prior", self.prior, PRIORS)
        one_of("matrix", self.matrix, MATRICES)
        one_of("projection", self.projection, PROJECTIONS)
        for name, low in (("questions", 1), ("replay", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ValueError(f"{name} must be a whole number of at least {low}, got {value!r}")

    @property
    def compiled(self) -> bool:
        """Whether the compiled loop can run it."""
        return self.matrix == "diagonal" and self.projection is None

    def as_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self)

    def as_ask(self) -> kernel.Ask:
        """The settings for the kernels."""
        rule, person = self.rule, self.annotator
        return kernel.Ask(
            ASK[rule.ask], float(rule.eta), bool(rule.silent), self.questions, self.replay, NEITHER[rule.neither],
            rule.scale == "tree", bool(rule.several_roots), float(person.error), float(person.refusal),
        )  # fmt: skip

    def model(self, features: Features) -> CompiledModel:
        """A fresh model, started from the prior.

        >>> Recipe(matrix="full", projection="exact").model(Features("tags", bits=4)).projection
        'exact'
        """
        check_full(self.matrix, features)
        if self.matrix == "full":
            model: Diagonal | Full = Full(features.dim, lam=self.lam, projection=self.projection)
        else:
            model = Diagonal(features.dim, lam=self.lam, update=self.update, projection=self.projection)
        begin(model, features, self.prior)
        return model


def check_full(matrix: str, features: Features) -> None:
    """Raise if these features are too many for a full matrix."""
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


def check_trees(text: Text, partly: bool = False) -> None:
    """Raise unless every word has a head, or with `partly` at least one."""
    if text.offsets.size < 2:
        raise ValueError("no sentences to train on")
    inner = np.ones(text.heads.size, bool)
    inner[text.offsets[:-1]] = False
    present = text.heads[inner] >= 0
    if not (present.any() if partly else present.all()):
        raise ValueError("training needs heads; these sentences were read without them")


def check_status(status: int, sentence: int) -> None:
    """Raise the error of a kernel's status."""
    if status != st.OK:
        raise ArithmeticError(
            f"the model diverged at sentence {sentence + 1}: a larger lam or update='implicit' keeps it finite"
        )


def visiting_order(seed: int, number: int, sentences: int) -> Ints:
    """The order of the sentences in pass `number`."""
    rng = np.random.default_rng(tickets.stream("order", seed, number))
    return rng.permutation(sentences).astype(np.int64)


@dataclass(frozen=True, slots=True)
class EdgeQuestion:
    """One line of the log: sentence (from 0), word, the two heads shown, the answer."""

    sentence: int
    word: int
    heads: tuple[int, int]
    answer: str


class Training:
    """Training by questions; `visit` continues it, so that curves can be drawn.

    Policy and annotator have their own random streams, so all rules see the same sentences in the same order.
    """

    def __init__(self, text: Text, features: Features, recipe: Recipe, seed: int = 0) -> None:
        check_trees(text)
        check_projected(text, recipe.projection)
        self.text, self.features, self.recipe, self.seed = text, features, recipe, seed
        self.model = recipe.model(features)
        self.learner = EdgeLearner(self.model, recipe.rule, features=features)
        words = text.codes.shape[0]
        self.progress = kernel.TrainingState(
            asked=np.zeros(words, bool),
            memory=np.zeros((words, kernel.MEMORY_COLUMNS), np.int64),
            log=np.zeros((words, kernel.LOG_COLUMNS), np.int64),
            counts=np.zeros(2, np.int64),
        )
        if not recipe.punctuation:
            self.progress.asked[np.isin(text.classes, (PUNCT, COMMA))] = True
        self.visits = 0

    @property
    def sentences(self) -> int:
        return self.text.offsets.size - 1

    @property
    def questions(self) -> int:
        """The number of questions asked."""
        return int(self.progress.counts[1])

    def order(self, start: int, count: int) -> Ints:
        """Sentences of visits start to start + count: every pass is a fresh permutation."""
        passes = range(start // self.sentences, (start + count - 1) // self.sentences + 1)
        orders = [visiting_order(self.seed, number, self.sentences) for number in passes]
        first = start - passes[0] * self.sentences
        return np.concatenate(orders)[first : first + count]

    def visit(self, count: int) -> None:
        """Visit the next `count` sentences."""
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        each = self.recipe.questions
        order = self.order(self.visits, count)
        policy, judge = (
            tickets.tickets(tickets.stream(name, self.seed), self.visits * each, count * each)
            for name in ("policy", "judge")
        )
        if self.recipe.compiled:
            status, sentence = kernel.train(
                self.model.state, self.text, self.features.table,
                self.features.value, order, self.recipe.as_ask(), policy, judge, self.progress,
            )  # fmt: skip
            check_status(status, sentence)
        else:
            self.visit_by_calls(order, policy, judge)
        self.visits += count

    def visit_by_calls(self, order: Ints, policy: Tickets, judge: Tickets) -> None:
        """The compiled loop as calls of `choose`, `learn` and `rehearse`: same tickets, same questions.

        Every sentence of `order` takes `questions` tickets of either kind, even if it has fewer questions.
        """
        draws = iter(zip(policy.tolist(), judge.tolist(), strict=True))
        for t in order.tolist():
            edges = self.features.rows_of(self.text, t)
            for ticket, judged in list(islice(draws, self.recipe.questions)):
                if not self._ask(t, edges, ticket, judged):
                    break
                self._rehearse(ticket)

    def _ask(self, t: int, edges: SparseRows, ticket: int, judged: int) -> bool:
        """Choose, ask and learn one question; returns whether there was one."""
        words = slice(int(self.text.offsets[t]), int(self.text.offsets[t + 1]))
        asked, heads = self.progress.asked[words], self.text.heads[words]
        choice = self.learner.choose(edges, ticket, asked=(np.flatnonzero(asked[1:]) + 1).tolist())
        if choice.query == Query.NONE:
            return False
        word, (first, second) = choice.memo["word"], choice.memo["heads"]
        said = self.recipe.annotator(int(heads[word]), first, second, judged)
        asked[word] = True
        self.progress.log[self.progress.counts[1]] = t, word, first, second, ANSWERS.index(said)
        self.progress.counts[1] += 1
        if said in VALUES:
            self.learner.learn(edges, choice, VALUES[said])
        if said in ("first", "second"):
            self.progress.memory[self.progress.counts[0]] = t, word, first if said == "first" else second
            self.progress.counts[0] += 1
        return True

    def _rehearse(self, ticket: int) -> None:
        """Learn some of the earlier answers once more."""
        answered = int(self.progress.counts[0])
        for r in range(self.recipe.replay if answered else 0):
            t, word, head = self.progress.memory[tickets.Draws(ticket).below(r, answered)].tolist()
            self.learner.rehearse(self.features.rows_of(self.text, t), word, head)

    def weights(self) -> Floats:
        """(D,): the weights to parse with."""
        return self.model.weights()

    def settled(self, progress: Callable[[int], None] | None = None) -> Floats:
        """(D,): weights refitted to all answers; better than `weights`, which saw each answer only in its turn.

        The fit is a diagonal model's, whichever model asked.
        """
        heads = np.full(self.text.heads.size, -1, np.int64)
        sentence, word, head = self.progress.memory[: self.progress.counts[0]].T
        heads[self.text.offsets[sentence] + word] = head
        if not word.size:
            return self.weights()
        return settle(self.text._replace(heads=heads), self.features, self.seed, progress, self.recipe.prior)

    def log(self) -> list[EdgeQuestion]:
        """Every question so far."""
        rows = self.progress.log[: self.questions].tolist()
        return [EdgeQuestion(s, j, (first, second), ANSWERS[said]) for s, j, first, second, said in rows]


def supervise(
    text: Text, features: Features, *, lam: float = 1.0, average: bool = True, seed: int = 0, prior: str = "none"
) -> Iterator[tuple[Diagonal, Floats]]:
    """Train on known heads, pass after pass without end: (model, weights to parse with) after each.

    Every word with a known head is learnt against its best rival, by the same step as a rehearsed answer. All heads
    known is full supervision, the ceiling; a few are what annotators have answered. `average` returns the mean of the
    weights over time.
    """
    check_trees(text, partly=True)
    model = Diagonal(features.dim, lam=lam, update="margin")
    begin(model, features, prior)
    sums = np.zeros(features.dim if average else 0)
    clock, number = 1, 0
    while True:
        order = visiting_order(seed, number, text.offsets.size - 1)
        status, sentence, clock = kernel.supervise(
            model.state, text, features.table, features.value, order, sums, clock
        )
        check_status(status, sentence)
        number += 1
        weights = model.weights()
        yield model, weights - sums / clock if average else weights


def last_weights(
    passes: Iterator[tuple[Diagonal, Floats]], count: int, progress: Callable[[int], None] | None = None
) -> Floats:
    """(D,): the weights after `count` passes; calls `progress(done)` after each."""
    for number, (_, found) in enumerate(islice(passes, count), start=1):
        weights = found
        if progress:
            progress(number)
    return weights


def settle(
    text: Text, features: Features, seed: int = 0, progress: Callable[[int], None] | None = None, prior: str = "none"
) -> Floats:
    """(D,): weights fitted to the known heads, starting from the prior."""
    return last_weights(supervise(text, features, average=False, seed=seed, prior=prior), SETTLE_PASSES, progress)
