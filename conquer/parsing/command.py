"""What `conquer parse train|predict|evaluate` do: files in, files out, a few lines said."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from conquer.data import treebank
from conquer.data.treebank import Heads, Sentence, TreebankError
from conquer.parsing import parser as parsers
from conquer.parsing import recorded
from conquer.parsing.annotator import Annotator
from conquer.parsing.edges import Features
from conquer.parsing.evaluation import Evaluation, evaluate
from conquer.parsing.parser import Parser
from conquer.parsing.rule import EdgeRule
from conquer.parsing.supervision import SETTLE_PASSES, last_weights, settle, supervise
from conquer.parsing.training import Recipe, Training

PathLike = str | os.PathLike[str]
Progress = Callable[[str, int, int], None]
"""Called now and then while it works: (what is going on, how much there is of it, how much is done)."""
FULL = "full-supervision"


def quietly(what: str, total: int, done: int) -> None:
    """No word about the progress."""


def train(
    treebank_file: PathLike,
    model: PathLike,
    *,
    ask: str = "gnc",
    questions: int = 1,
    passes: int = 1,
    seed: int = 0,
    answers: PathLike | None = None,
    save_answers: PathLike | None = None,
    error: float = 0.0,
    refusal: float = 0.0,
    eta: float = 0.5,
    lam: float | None = None,
    replay: int = 8,
    neither: str = "skip",
    scale: str = "edge",
    average: bool = False,
    punctuation: bool = False,
    settled: bool = True,
    features: str = "standard",
    bits: int = 16,
    several_roots: bool = False,
    progress: Progress = quietly,
) -> str:
    """Train a parser and write it to the file `model`; returns a line that says what was done.

    Answers are simulated from the treebank's own trees, or taken from the file `answers` (then HEAD is not read).
    In the end the weights are fitted anew to all answers, unless not `settled`. `ask="full-supervision"` learns whole
    trees, averaged, in as many `passes` as are asked for.
    """
    if passes < 1:
        raise ValueError(f"passes must be at least 1, got {passes}")
    check_writable(model)
    space = Features(features, bits)
    heads: Heads = "ignore" if answers is not None else ("forest" if several_roots else "tree")
    sentences = _read(treebank_file, heads)
    about = {"treebank": Path(treebank_file).name, "sentences": len(sentences), "passes": passes, "seed": seed}
    words = sum(map(len, sentences))
    if answers is not None:
        log = recorded.read(answers, sentences)
        if not any(question.answer in ("first", "second") for question in log):
            raise TreebankError(f"{answers}: no answer names a head, so there is nothing to learn")
        text = space.encode(recorded.known_heads(sentences, log))
        weights = settle(text, space, seed, partial(progress, "fitting", SETTLE_PASSES))
        about |= {"ask": "recorded", "questions": len(log)}
        said = f"{len(log)} recorded answers"
    elif ask == FULL:
        going = supervise(space.encode(sentences), space, lam=1.0 if lam is None else lam, seed=seed)
        weights = last_weights(going, passes, partial(progress, "learning whole trees", passes))
        about |= {"ask": FULL, "questions": words}
        said = "whole trees"
    else:
        rule = EdgeRule(ask=ask, eta=eta, neither=neither, scale=scale, several_roots=several_roots)
        recipe = Recipe(rule=rule, annotator=Annotator(error, refusal), questions=questions, replay=replay)
        recipe = replace(recipe, average=average, punctuation=punctuation, lam=0.3 if lam is None else lam)
        training = Training(space.encode(sentences), space, recipe, seed)
        _visit(training, passes * len(sentences), progress)
        fitted = partial(progress, "fitting", SETTLE_PASSES)
        weights = training.settled(fitted) if settled else training.weights()
        about |= {"recipe": recipe.as_dict(), "questions": training.questions, "settled": settled}
        said = f"{training.questions} questions ({training.questions / words:.1%} of {words} edges)"
        if save_answers is not None:
            recorded.write(save_answers, sentences, training.log())
    parsers.save(Parser(space, weights, several_roots, about), model)
    return f"{model}: trained on {len(sentences)} sentences with {said}"


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


def _read(path: PathLike, heads: Heads) -> list[Sentence]:
    sentences = treebank.read(path, heads)
    if not sentences:
        raise TreebankError(f"{path}: no sentences")
    return sentences
