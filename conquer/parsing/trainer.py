"""Train parsers: `train` from a treebank or recorded answers, `Trainer` from a person's answers."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from conquer import tickets
from conquer.data import treebank as conllu
from conquer.data.treebank import Sentence, TreebankError
from conquer.parsing import answer_file
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import EdgeLearner, EdgeRule
from conquer.parsing.parser import Parser
from conquer.parsing.spec import FULL, TrainSpec
from conquer.parsing.training import (
    SETTLE_PASSES,
    VALUES,
    Annotator,
    Recipe,
    Training,
    check_full,
    last_weights,
    settle,
    supervise,
)
from conquer.types import Choice, Floats, Query

Progress = Callable[[str, int, int], None]
"""Called during training: (description of the stage, its total work, the work done)."""
Answer = Literal["first", "second", "neither", "refused"]


def quietly(what: str, total: int, done: int) -> None:
    """Report no progress."""


def train(
    treebank: str | os.PathLike[str] | Sequence[Sentence],
    spec: TrainSpec | None = None,
    *,
    progress: Progress = quietly,
) -> Parser:
    """Train a parser by questions about a treebank.

    Parameters
    ----------
    treebank : a CoNLL-U file (plain, gz or xz), or sentences.
    spec : the settings; by default one `gnc` question per sentence. A simulated annotator answers from the treebank's
        trees, unless `spec.answers` names a file of recorded answers (the HEAD column is then ignored) or `spec.ask` is
        "full-supervision" (whole trees).
    progress : called as `progress(what, total, done)` during training.

    Returns
    -------
    The trained `Parser`; its `about` records the settings and the number of questions.

    Raises
    ------
    TreebankError : the file or an answer cannot be read; the message names the line.
    ValueError : incompatible settings.
    ArithmeticError : the weights diverged.

    Examples
    --------
    >>> from conquer.parsing import TrainSpec, evaluate, parse
    >>> rows = ("1 Dogs _ NOUN _ _ 2 nsubj _ _", "2 bark _ VERB _ _ 0 root _ _")
    >>> bank = parse("\\n".join(row.replace(" ", "\\t") for row in rows))
    >>> parser = train(bank, TrainSpec(passes=2, bits=8))
    >>> evaluate(bank, parser.parse(bank)).uas
    1.0
    """
    spec = spec or TrainSpec()
    space = Features(spec.features, spec.bits)
    check_full(spec.matrix, space)
    sentences, name = _sentences(treebank, spec)
    about = {
        "treebank": name,
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "passes": spec.passes,
        "seed": spec.seed,
    }
    learn = _from_answers if spec.answers is not None else _from_trees if spec.ask == FULL else _from_questions
    weights, more = learn(spec, sentences, space, progress)
    return Parser(space, weights, spec.several_roots, about | more)


def _sentences(treebank: str | os.PathLike[str] | Sequence[Sentence], spec: TrainSpec) -> tuple[list[Sentence], str]:
    """The sentences to train on, and the treebank's name."""
    if isinstance(treebank, str | os.PathLike):
        heads: conllu.Heads = "ignore" if spec.answers is not None else ("forest" if spec.several_roots else "tree")
        found, name = conllu.read(treebank, heads), Path(treebank).name
    else:
        found, name = list(treebank), "sentences"
    kept = [sentence for sentence in found if spec.longest is None or len(sentence) <= spec.longest]
    if not kept:
        where = treebank if isinstance(treebank, str | os.PathLike) else name
        raise TreebankError(f"{where}: no sentences{f' of up to {spec.longest} words' if found else ''}")
    return kept, name


Learnt = tuple[Floats, dict[str, Any]]
"""The weights, and what the file says about them."""


def _from_answers(spec: TrainSpec, sentences: list[Sentence], space: Features, progress: Progress) -> Learnt:
    """Weights fitted to recorded answers."""
    assert spec.answers is not None
    log = answer_file.read(spec.answers, sentences)
    if not any(question.answer in ("first", "second") for question in log):
        raise TreebankError(f"{spec.answers}: no answer names a head, so there is nothing to learn")
    text = encode(answer_file.known_heads(sentences, log))
    progress("fitting", SETTLE_PASSES, 0)
    weights = settle(text, space, spec.seed, partial(progress, "fitting", SETTLE_PASSES), spec.prior)
    return weights, {"ask": "recorded", "questions": len(log), "prior": spec.prior}


def _from_trees(spec: TrainSpec, sentences: list[Sentence], space: Features, progress: Progress) -> Learnt:
    """Weights learnt from whole trees, averaged over time: the ceiling."""
    lam = 1.0 if spec.lam is None else spec.lam
    passes = supervise(encode(sentences), space, lam=lam, seed=spec.seed)
    weights = last_weights(passes, spec.passes, partial(progress, "learning whole trees", spec.passes))
    return weights, {"ask": FULL, "questions": sum(map(len, sentences))}


def recipe_of(spec: TrainSpec) -> Recipe:
    """The recipe of these settings.

    >>> recipe_of(TrainSpec()) == Recipe()
    True
    """
    rule = EdgeRule(
        ask=spec.ask, eta=spec.eta, neither=spec.neither, scale=spec.scale, several_roots=spec.several_roots
    )
    return Recipe(
        rule=rule, annotator=Annotator(spec.error, spec.refusal), questions=spec.questions, replay=spec.replay,
        punctuation=spec.punctuation, lam=0.3 if spec.lam is None else spec.lam, matrix=spec.matrix,
        projection=spec.projection, prior=spec.prior,
    )  # fmt: skip


def _from_questions(spec: TrainSpec, sentences: list[Sentence], space: Features, progress: Progress) -> Learnt:
    """Weights learnt from simulated answers to single questions."""
    recipe = recipe_of(spec)
    training = Training(encode(sentences), space, recipe, spec.seed)
    total = spec.passes * len(sentences)
    while training.visits < total:  # in a hundred parts, which give the same weights as one
        training.visit(min(max(1, total // 100), total - training.visits))
        progress("asking", total, training.visits)
    fitted = partial(progress, "fitting", SETTLE_PASSES)
    settled = recipe.compiled if spec.settled is None else spec.settled
    if settled:
        fitted(0)  # the first pass may take a while: replace the finished progress bar
    weights = training.settled(fitted) if settled else training.weights()
    if spec.save_answers is not None:
        answer_file.write(spec.save_answers, sentences, training.log())
    more = {"ask": spec.ask, "recipe": recipe.as_dict(), "questions": training.questions, "settled": settled}
    return weights, more


@dataclass(frozen=True, slots=True)
class HeadQuestion:
    """Which of two words is the head of `word`? Words count from 1; head 0 is the root."""

    sentence: Sentence
    word: int
    heads: tuple[int, int]
    choice: Choice = field(repr=False)

    @property
    def asks(self) -> str:
        """The question in English."""
        first, second = ("the root" if head == 0 else repr(self.sentence.forms[head - 1]) for head in self.heads)
        return f"Which is the head of {self.sentence.forms[self.word - 1]!r}: {first} or {second}?"


class Trainer:
    """Train a parser by asking a person one question at a time. Not thread-safe.

    Parameters
    ----------
    spec : the settings, as for `train`; those of the simulated annotator, passes and files are ignored.

    Examples
    --------
    >>> from conquer.parsing import TrainSpec, parse
    >>> rows = ("1 Dogs _ NOUN _ _ 2 nsubj _ _", "2 bark _ VERB _ _ 0 root _ _")
    >>> sentence = parse("\\n".join(row.replace(" ", "\\t") for row in rows))[0]
    >>> trainer = Trainer(TrainSpec(bits=8, prior="upos"))
    >>> question = trainer.ask(sentence)
    >>> question.asks
    "Which is the head of 'Dogs': 'bark' or the root?"
    >>> trainer.tell(question, "first")
    >>> trainer.parser().parse([sentence])[0].heads
    (2, 0)
    """

    def __init__(self, spec: TrainSpec | None = None) -> None:
        self.spec = spec or TrainSpec()
        self.recipe, self.features = recipe_of(self.spec), Features(self.spec.features, self.spec.bits)
        self.learner = EdgeLearner(self.recipe.model(self.features), self.recipe.rule, features=self.features)
        self.questions = 0
        self._asked: dict[Sentence, set[int]] = {}
        self._answers: list[tuple[Sentence, int, int]] = []

    def ask(self, sentence: Sentence) -> HeadQuestion | None:
        """The question about this sentence, or None if no word is left to ask about. Each word is asked about once.

        Parameters
        ----------
        sentence : a sentence; its own heads, if any, are ignored.
        """
        asked = set(self._asked.get(sentence, ()))
        if not self.recipe.punctuation:
            asked |= {word for word, tag in enumerate(sentence.upos, start=1) if tag == "PUNCT"}
        (ticket,) = tickets.tickets(tickets.stream("policy", self.spec.seed), self.questions, 1).tolist()
        choice = self.learner.choose(sentence, ticket, asked=asked)
        if choice.query == Query.NONE:
            return None
        first, second = choice.memo["heads"]
        return HeadQuestion(sentence, choice.memo["word"], (first, second), choice)

    def tell(self, question: HeadQuestion, answer: Answer) -> None:
        """Learn the answer to a question, then rehearse some of the earlier ones.

        Parameters
        ----------
        question : what `ask` returned.
        answer : "first" or "second" names the head, "neither" says that it is another word, "refused" skips the
            question.

        Raises
        ------
        ValueError : an unknown answer, or a question that has been answered.
        """
        sentence, word = question.sentence, question.word
        if answer != "refused" and answer not in VALUES:
            raise ValueError(f"answer must be 'first', 'second', 'neither' or 'refused', got {answer!r}")
        if word in self._asked.get(sentence, ()):
            raise ValueError(f"the question about word {word} of sentence {sentence.id} has been answered")
        if answer != "refused":
            self.learner.learn(sentence, question.choice, VALUES[answer])
        if answer in ("first", "second"):
            self._answers.append((sentence, word, question.heads[answer == "second"]))
        self._asked.setdefault(sentence, set()).add(word)
        self.questions += 1
        if self._answers:
            draws = tickets.Draws(question.choice.ticket)
            for r in range(self.recipe.replay):
                self.learner.rehearse(*self._answers[draws.below(r, len(self._answers))])

    def parser(self) -> Parser:
        """A `Parser` whose weights are fitted to all answers so far."""
        if self._answers:
            heads: dict[Sentence, list[int]] = {}
            for sentence, word, head in self._answers:
                heads.setdefault(sentence, [-1] * len(sentence))[word - 1] = head
            text = encode([replace(sentence, heads=tuple(found)) for sentence, found in heads.items()])
            weights = settle(text, self.features, self.spec.seed, prior=self.spec.prior)
        else:
            weights = np.asarray(self.learner.model.weights())
        about = {"ask": self.spec.ask, "recipe": self.recipe.as_dict(), "questions": self.questions}
        return Parser(self.features, weights, self.spec.several_roots, about)
