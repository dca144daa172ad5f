"""The study of parsing: how much of full annotation's accuracy a few questions buy, by rule, seed and error rate."""

import hashlib
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conquer.data import treebank
from conquer.data.treebank import Sentence, TreebankError
from conquer.kernels.parsing.edges import Text
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import ASK, EdgeRule
from conquer.parsing.parser import parse_heads
from conquer.parsing.spec import FULL
from conquer.parsing.training import ANSWERS, Annotator, Recipe, Training, check_full, supervise
from conquer.study.command import run_command
from conquer.study.parsing.spec import ParsingSpec
from conquer.study.runner import Row, key, versions
from conquer.types import Floats

if TYPE_CHECKING:
    from polars import DataFrame

PARTS = ("train", "dev", "test")
PROTOCOL = 3
"""Incremented when the same cell would give other numbers, so that cells of another method are not reused."""
_MOST_PASSES, _PATIENCE, _CEILING_LAM = 15, 2, 1.0
"""Of full supervision: passes at most, passes without improvement before it ends, and lam."""
_EARLY = 20
"""The first questions, by which annotators judge whether it is worth their time."""


@dataclass(frozen=True, slots=True)
class Bank:
    """A treebank's three parts as sentences and arrays, and which of its words are punctuation."""

    sentences: dict[str, list[Sentence]]
    texts: dict[str, Text]
    punctuation: dict[str, NDArray[np.bool_]]

    def score(self, part: str, features: Features, weights: Floats) -> dict[str, float]:
        """UAS with and without punctuation, and the share of completely right trees."""
        text = self.texts[part]
        words = text.heads >= 0
        right = parse_heads(text, features, weights) == text.heads
        counted = words & ~self.punctuation[part]
        exact = np.add.reduceat((right | ~words).astype(np.int64), text.offsets[:-1]) == np.diff(text.offsets)
        return {
            "uas": float(right[words].mean()),
            "uas_nopunct": float(right[counted].mean()) if counted.any() else float("nan"),
            "exact": float(exact.mean()),
        }


def files(folder: str | Path) -> dict[str, Path]:
    """The treebank's files by part: the one whose name contains train, dev or test."""
    found: dict[str, Path] = {}
    for part in PARTS:
        matches = [p for end in ("", ".gz", ".xz") for p in sorted(Path(folder).glob(f"*{part}*.conllu{end}"))]
        if len(matches) != 1:
            names = ", ".join(path.name for path in matches) or "none"
            raise TreebankError(f"{folder}: expected one *{part}*.conllu file (.gz, .xz), found {names}")
        found[part] = matches[0]
    return found


def digest_of(paths: dict[str, Path]) -> str:
    """A hash of the content of the files, 32 characters."""
    digest = hashlib.blake2b(digest_size=16)
    for part in PARTS:
        digest.update(paths[part].read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=2)
def bank(folder: str, features: Features, longest: int | None = None) -> Bank:
    """The treebank in a folder, read once per worker. Training sentences longer than `longest` are left out."""
    sentences = {part: treebank.read(path) for part, path in files(folder).items()}
    sentences["train"] = [each for each in sentences["train"] if longest is None or len(each) <= longest]
    if empty := [part for part, found in sentences.items() if not found]:
        raise TreebankError(f"{folder}: no sentences in {', '.join(empty)}")
    marks = {
        part: np.array([mark for s in found for mark in (True, *(tag == "PUNCT" for tag in s.upos))])
        for part, found in sentences.items()
    }
    return Bank(sentences, {part: encode(found) for part, found in sentences.items()}, marks)


@dataclass(frozen=True, slots=True)
class ParsingCell:
    """One run with everything its numbers depend on; `recipe` is None for full supervision."""

    folder: str
    digest: str
    ask: str
    seed: int
    error: float
    passes: int
    points: int
    recipe: Recipe | None
    features: Features
    longest: int | None = None

    @property
    def name(self) -> str:
        """A hash of what the numbers depend on, wherever the treebank's folder is."""
        content = asdict(self) | {"folder": Path(self.folder).name, "features": self.features.settings()}
        return key("parsing", PROTOCOL, content)

    @property
    def cost(self) -> float:
        return float(self.passes)


def checkpoints(sentences: int, passes: int, points: int) -> list[int]:
    """Visits after which to measure: evenly spaced on a log scale from 100 on, and the end of every pass.

    >>> checkpoints(1000, 2, 3)
    [100, 316, 1000, 2000]
    """
    first = min(100, sentences)
    spread = np.geomspace(first, sentences, points) if sentences > first else [sentences]
    ends = [number * sentences for number in range(1, passes + 1)]
    return sorted({*np.rint(spread).astype(int).tolist(), *ends})


def measure(cell: ParsingCell) -> list[Row]:
    """The row of one run, with its curve: a list of points with questions asked so far and scores on the test part."""
    start = time.process_time()
    data = bank(cell.folder, cell.features, cell.longest)
    points = _ceiling(cell, data) if cell.recipe is None else _curve(cell, data, cell.recipe)
    refusal = 0.0 if cell.recipe is None else cell.recipe.annotator.refusal
    row = {"ask": cell.ask, "seed": cell.seed, "error": cell.error, "refusal": refusal, "points": points}
    edges = int((data.texts["train"].heads >= 0).sum())
    about = {"edges": edges, "sentences": data.texts["train"].offsets.size - 1, "versions": versions()}
    return [{**row, **about, "seconds": time.process_time() - start}]


def _curve(cell: ParsingCell, data: Bank, recipe: Recipe) -> list[Row]:
    training = Training(data.texts["train"], cell.features, recipe, cell.seed)
    points = []
    for end in checkpoints(training.sentences, cell.passes, cell.points):
        training.visit(end - training.visits)
        answers = np.bincount(training.progress.log[: training.questions, 4], minlength=4)
        parts = (answers / max(1, answers.sum())).tolist()
        shares = dict(zip(ANSWERS, parts, strict=True))
        scores = data.score("test", cell.features, training.weights())
        if end % training.sentences == 0:
            refitted = data.score("test", cell.features, training.settled())
            scores |= {f"settled_{name}": value for name, value in refitted.items()}
        points.append(
            {"visits": end, "questions": training.questions, "early": early_hits(training), **shares, **scores}
        )
    return points


def early_hits(training: Training) -> float:
    """The share of the first 20 questions that show the word's true head; NaN before the first.

    An annotator who never errs answers "neither" to the others; the share itself does not depend on the answers.
    """
    sentence, word, first, second, _ = training.progress.log[: min(_EARLY, training.questions)].T
    gold = training.text.heads[training.text.offsets[sentence] + word]
    return float(((first == gold) | (second == gold)).mean()) if gold.size else float("nan")


def _ceiling(cell: ParsingCell, data: Bank) -> list[Row]:
    """As many passes as help on the development part; one point, measured on the test part."""
    best: tuple[float, int, Any] = (-1.0, 0, None)
    passes = supervise(data.texts["train"], cell.features, lam=_CEILING_LAM, seed=cell.seed)
    for number in range(1, cell.passes + 1):
        _, weights = next(passes)
        score = data.score("dev", cell.features, weights)["uas_nopunct"]
        if score > best[0]:
            best = (score, number, weights)
        elif number - best[1] >= _PATIENCE:
            break
    edges = int((data.texts["train"].heads >= 0).sum())
    scores = data.score("test", cell.features, best[2])
    return [{"visits": best[1] * (data.texts["train"].offsets.size - 1), "questions": edges, "dev": best[0], **scores}]


def recipe_of(spec: ParsingSpec) -> Recipe:
    """How the rules of a study learn, whichever questions they ask.

    >>> recipe_of(ParsingSpec(treebank=Path("here"))) == Recipe()
    True
    """
    optional: dict[str, Any] = {} if spec.lam is None else {"lam": spec.lam}
    return Recipe(
        rule=EdgeRule(neither=spec.neither, scale=spec.scale), questions=spec.questions, replay=spec.replay,
        punctuation=spec.punctuation, matrix=spec.matrix, projection=spec.projection, **optional,
    )  # fmt: skip


def annotators(spec: ParsingSpec) -> list[Annotator]:
    """The annotators: the first error and refusal rate, then every other of either.

    >>> [person.refusal for person in annotators(ParsingSpec(treebank=Path("here"), refusal=(0.0, 0.5)))]
    [0.0, 0.5]
    """
    error, refusal = spec.error[0], spec.refusal[0]
    rates = [(other, refusal) for other in spec.error] + [(error, other) for other in spec.refusal[1:]]
    return [Annotator(*pair) for pair in rates]


def cells_of(spec: ParsingSpec) -> list[ParsingCell]:
    """Every run of a study, full supervision first."""
    if unknown := [name for name in spec.ask if name not in ASK]:
        raise ValueError(f"ask must be some of {', '.join(ASK)}, got {', '.join(unknown)}")
    recipe, features, people = recipe_of(spec), Features(spec.features, spec.bits), annotators(spec)
    check_full(recipe.matrix, features)
    cell = partial(
        ParsingCell, folder=str(spec.treebank), digest=digest_of(files(spec.treebank)), points=spec.points,
        features=features, longest=spec.longest,
    )  # fmt: skip
    cells = [cell(ask=FULL, seed=seed, error=0.0, passes=_MOST_PASSES, recipe=None) for seed in range(spec.seeds)]
    for ask, prior, person, seed in product(spec.ask, spec.prior, people, range(spec.seeds)):
        own = replace(recipe, rule=replace(recipe.rule, ask=ask), annotator=person, prior=prior)
        name = ask if prior == "none" else f"{ask}+{prior}"
        cells.append(cell(ask=name, seed=seed, error=person.error, passes=spec.passes, recipe=own))
    return cells


def frame_of(rows: Iterable[Row]) -> "DataFrame":
    """One line per point: ask, seed, error, refusal, questions, share of edges asked, uas, uas_nopunct, exact, ..."""
    import polars as pl

    names = (
        "visits", "questions", "uas", "uas_nopunct", "exact", "settled_uas", "settled_uas_nopunct", "settled_exact",
        *ANSWERS, "early",
    )  # fmt: skip
    lines = [
        {
            "ask": row["ask"],
            "seed": row["seed"],
            "error": row["error"],
            "refusal": row["refusal"],
            "share": point["questions"] / row["edges"],
            **{name: point.get(name) for name in names},
            "sentences": row["sentences"],
            "seconds": row["seconds"],
        }
        for row in rows
        for point in row["points"]
    ]
    return pl.DataFrame(lines, infer_schema_length=None).sort("ask", "error", "refusal", "seed", "visits")


def run_parsing_study(
    spec: ParsingSpec,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "parsing-study",
    overwrite: bool = False,
    command: Sequence[str] = (),
) -> None:
    """What `conquer parse study` does; `command` is the command line for the report."""
    from conquer.study.parsing import report

    run_command(
        spec, cells_of, measure, partial(report.write, command=shlex.join(command) or "conquer parse study"),
        kind="parsing", page="report.md", jobs=jobs, cluster=cluster, out=out, overwrite=overwrite,
        summary=report.summary,
    )  # fmt: skip
