"""Training by questions over whole treebanks, in a compiled loop."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from conquer import tickets
from conquer.checks import one_of
from conquer.kernels.parsing import training as kernel
from conquer.kernels.parsing.sentences import Text
from conquer.kernels.parsing.templates import COMMA, PUNCT
from conquer.kernels.rounds.primitives import DiagonalState
from conquer.models.model import PROJECTIONS
from conquer.parsing.annotator import ANSWERS, Annotator
from conquer.parsing.edges import Features
from conquer.parsing.learner import EdgeLearner
from conquer.parsing.prior import PRIORS, begin
from conquer.parsing.rule import ASK, NEITHER, EdgeRule
from conquer.parsing.stepwise import MATRICES, Stepwise, check_projected, made
from conquer.parsing.supervision import averaged, check_status, check_trees, settle
from conquer.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that training by questions takes beside the treebank.

    `questions` per visit of a sentence, each followed by `replay` rehearsals of earlier answers. A word is asked about
    once; words of UPOS PUNCT only with `punctuation`: guidelines settle those, and most scores leave them out.
    `matrix` "full" keeps all of A; `projection` holds the score of every edge of a sentence within [-1, 1], as
    the listing does. Both are for small trials: see `stepwise` for their limits. `prior` "upos": the weights start
    from rules over tags (`prior`) instead of 0.
    """

    rule: EdgeRule = field(default_factory=EdgeRule)
    annotator: Annotator = field(default_factory=Annotator)
    lam: float = 0.3
    update: str = "margin"
    questions: int = 1
    replay: int = 8
    average: bool = False
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
        """The same for the kernels."""
        rule, person = self.rule, self.annotator
        return kernel.Ask(
            ASK[rule.ask], float(rule.eta), bool(rule.silent), self.questions, self.replay, NEITHER[rule.neither],
            rule.scale == "tree", bool(rule.several_roots), float(person.error), float(person.refusal),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EdgeQuestion:
    """One line of the log: sentence (from 0), word, the two heads shown, the answer."""

    sentence: int
    word: int
    heads: tuple[int, int]
    answer: str


class Training:
    """Training by questions, as far as it has gone; `visit` goes on, so that curves can be drawn.

    Policy and annotator draw from streams of their own, so all rules see the same sentences in the same order.
    """

    def __init__(self, text: Text, features: Features, recipe: Recipe, seed: int = 0) -> None:
        check_trees(text)
        check_projected(text, recipe.projection)
        self.text, self.features, self.recipe, self.seed = text, features, recipe, seed
        self.model = made(recipe.matrix, recipe.projection, features, recipe.lam, recipe.update)
        begin(self.model, features, recipe.prior)
        words = text.codes.shape[0]
        self.progress = kernel.TrainingState(
            asked=np.zeros(words, bool),
            memory=np.zeros((words, kernel.MEMORY_COLUMNS), np.int64),
            log=np.zeros((words, kernel.LOG_COLUMNS), np.int64),
            counts=np.array([0, 0, 1], np.int64),
            average=np.zeros(features.dim if recipe.average else 0),
        )
        if not recipe.punctuation:
            self.progress.asked[np.isin(text.classes, (PUNCT, COMMA))] = True
        self.visits = 0

    @property
    def sentences(self) -> int:
        return self.text.offsets.size - 1

    @property
    def questions(self) -> int:
        """How many have been asked."""
        return int(self.progress.counts[1])

    def order(self, start: int, count: int) -> Ints:
        """Sentences of visits start to start + count: every pass is a fresh permutation."""
        passes = range(start // self.sentences, (start + count - 1) // self.sentences + 1)
        orders = [
            np.random.default_rng(tickets.stream("order", self.seed, number)).permutation(self.sentences)
            for number in passes
        ]
        first = start - passes[0] * self.sentences
        return np.concatenate(orders)[first : first + count].astype(np.int64)

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
                DiagonalState(*self.model.state), self.model.plan, self.model.knobs, self.text, self.features.table,
                self.features.value, order, self.recipe.as_ask(), policy, judge, self.progress,
            )  # fmt: skip
            check_status(status, sentence)
        else:
            self.stepwise().visit(order, policy, judge)
        self.visits += count

    def stepwise(self) -> Stepwise:
        """The same training one call at a time, for models that the compiled loop does not know."""
        learner = EdgeLearner(self.model, self.recipe.rule, features=self.features)
        recipe = self.recipe
        return Stepwise(learner, self.text, recipe.annotator, recipe.questions, recipe.replay, self.progress)

    def weights(self) -> Floats:
        """(D,): what to parse with."""
        return averaged(self.model, self.progress.average, int(self.progress.counts[2]))

    def settled(self, progress: Callable[[int], None] | None = None) -> Floats:
        """(D,): weights fitted anew to all answers so far; better than `weights`, which met each answer in its turn.

        The fit is the diagonal model's, whatever model asked.
        """
        known = np.full(self.text.heads.size, -1, np.int64)
        sentence, word, head = self.progress.memory[: self.progress.counts[0]].T
        known[self.text.offsets[sentence] + word] = head
        if not word.size:
            return self.weights()
        return settle(self.text._replace(heads=known), self.features, self.seed, progress, self.recipe.prior)

    def log(self) -> list[EdgeQuestion]:
        """Every question so far."""
        rows = self.progress.log[: self.questions].tolist()
        return [EdgeQuestion(s, j, (first, second), ANSWERS[said]) for s, j, first, second, said in rows]
