"""What `conquer parse train|predict|evaluate` do: files in, files out, a few lines said."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from conquer.data import treebank
from conquer.data.treebank import Heads, Sentence, TreebankError
from conquer.parsing import parser as parsers
from conquer.parsing import recorded
from conquer.parsing.annotator import Annotator
from conquer.parsing.edges import Features
from conquer.parsing.evaluation import Evaluation, evaluate
from conquer.parsing.parser import Parser
from conquer.parsing.rule import EdgeRule
from conquer.parsing.spec import FULL, TrainSpec
from conquer.parsing.stepwise import check_full
from conquer.parsing.supervision import SETTLE_PASSES, last_weights, settle, supervise
from conquer.parsing.training import Recipe, Training
from conquer.types import Floats

PathLike = str | os.PathLike[str]
Progress = Callable[[str, int, int], None]
"""Called now and then while it works: (what is going on, how much there is of it, how much is done)."""


def quietly(what: str, total: int, done: int) -> None:
    """No word about the progress."""


def train(spec: TrainSpec, progress: Progress = quietly) -> str:
    """Train a parser and write it to the file `spec.model`; returns a line that says what was done.

    Answers are simulated from the treebank's own trees, or taken from the file `answers` (then HEAD is not read).
    In the end the weights are fitted anew to all answers, if `settled`. `ask="full-supervision"` learns whole
    trees, averaged, in as many `passes` as are asked for.
    """
    check_writable(spec.model)
    heads: Heads = "ignore" if spec.answers is not None else ("forest" if spec.several_roots else "tree")
    sentences = _read(spec.treebank, heads, spec.longest)
    about = {"treebank": spec.treebank.name, "sentences": len(sentences), "passes": spec.passes, "seed": spec.seed}
    check_full(spec.matrix, Features(spec.features, spec.bits))
    learn = _from_answers if spec.answers is not None else _from_trees if spec.ask == FULL else _from_questions
    space = Features(spec.features, spec.bits)
    weights, more, said = learn(spec, sentences, space, progress)
    parsers.save(Parser(space, weights, spec.several_roots, about | more), spec.model)
    return f"{spec.model}: trained on {len(sentences)} sentences with {said}"


Learnt = tuple[Floats, dict[str, Any], str]
"""The weights, what the file tells about them, and what is said of it."""


def _from_answers(spec: TrainSpec, sentences: list[Sentence], space: Features, progress: Progress) -> Learnt:
    """Weights fitted to recorded answers."""
    assert spec.answers is not None
    log = recorded.read(spec.answers, sentences)
    if not any(question.answer in ("first", "second") for question in log):
        raise TreebankError(f"{spec.answers}: no answer names a head, so there is nothing to learn")
    text = space.encode(recorded.known_heads(sentences, log))
    progress("fitting", SETTLE_PASSES, 0)
    weights = settle(text, space, spec.seed, partial(progress, "fitting", SETTLE_PASSES), spec.prior)
    return weights, {"ask": "recorded", "questions": len(log), "prior": spec.prior}, f"{len(log)} recorded answers"


def _from_trees(spec: TrainSpec, sentences: list[Sentence], space: Features, progress: Progress) -> Learnt:
    """Weights learnt from whole trees: the ceiling."""
    lam = 1.0 if spec.lam is None else spec.lam
    going = supervise(space.encode(sentences), space, lam=lam, seed=spec.seed)
    weights = last_weights(going, spec.passes, partial(progress, "learning whole trees", spec.passes))
    return weights, {"ask": FULL, "questions": sum(map(len, sentences))}, "whole trees"


def _from_questions(spec: TrainSpec, sentences: list[Sentence], space: Features, progress: Progress) -> Learnt:
    """Weights learnt from simulated answers to single questions."""
    rule = EdgeRule(
        ask=spec.ask, eta=spec.eta, neither=spec.neither, scale=spec.scale, several_roots=spec.several_roots
    )
    recipe = Recipe(
        rule=rule, annotator=Annotator(spec.error, spec.refusal), questions=spec.questions, replay=spec.replay,
        average=spec.average, punctuation=spec.punctuation, lam=0.3 if spec.lam is None else spec.lam,
        matrix=spec.matrix, projection=spec.projection, prior=spec.prior,
    )  # fmt: skip
    training = Training(space.encode(sentences), space, recipe, spec.seed)
    _visit(training, spec.passes * len(sentences), progress)
    fitted = partial(progress, "fitting", SETTLE_PASSES)
    settled = recipe.compiled if spec.settled is None else spec.settled
    if settled:
        fitted(0)  # the first pass may take a while: the bar must not stand at the end of the one before
    weights = training.settled(fitted) if settled else training.weights()
    if spec.save_answers is not None:
        recorded.write(spec.save_answers, sentences, training.log())
    more = {"recipe": recipe.as_dict(), "questions": training.questions, "settled": settled}
    words = sum(map(len, sentences))
    return weights, more, f"{training.questions} questions ({training.questions / words:.1%} of {words} edges)"


def _visit(training: Training, total: int, progress: Progress) -> None:
    """Visit the next `total` sentences in a hundred parts, which give the same weights as one."""
    part = max(1, total // 100)
    while training.visits < total:
        training.visit(min(part, total - training.visits))
        progress("asking", total, training.visits)


def predict(model: PathLike, source: PathLike, target: PathLike) -> str:
    """Parse the file `source` into the file `target`: HEAD and DEPREL (`root`, `dep`) are filled, the rest stays."""
    parser = parsers.load(model)
    check_writable(target)
    sentences = treebank.read(source, heads="ignore")
    treebank.write(target, parser.parse(sentences))
    return f"{target}: {len(sentences)} sentences, {sum(map(len, sentences))} words"


def compare(gold: PathLike, system: PathLike, *, several_roots: bool = False) -> Evaluation:
    """Attachment scores of the file `system` against the file `gold`, which must have the same words."""
    heads: Heads = "forest" if several_roots else "tree"
    return evaluate(treebank.read(gold, heads), treebank.read(system, heads))


def described(found: Evaluation) -> str:
    """An evaluation as lines to print.

    >>> print(described(Evaluation(0.8, 0.75, 0.5, 10, 8, 2)))
    UAS                      80.00 %  (10 words)
    UAS without punctuation  75.00 %  (8 words)
    whole trees              50.00 %  (2 sentences)
    """
    rows = (
        ("UAS", found.uas, f"{found.words} words"),
        ("UAS without punctuation", found.uas_nopunct, f"{found.words_nopunct} words"),
        ("whole trees", found.exact, f"{found.sentences} sentences"),
    )
    return "\n".join(f"{name:<24} {value:.2%}  ({count})".replace("%", " %") for name, value, count in rows)


def check_writable(path: PathLike) -> None:
    """Raise before the work, not after it, if there is no folder to write into."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} to write {Path(path).name} into")


def _read(path: PathLike, heads: Heads, longest: int | None) -> list[Sentence]:
    sentences = treebank.read(path, heads)
    kept = [sentence for sentence in sentences if longest is None or len(sentence) <= longest]
    if not kept:
        raise TreebankError(f"{path}: no sentences{f' of up to {longest} words' if sentences else ''}")
    return kept
