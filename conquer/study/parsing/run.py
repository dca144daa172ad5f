"""The study of parsing: how much of full annotation's accuracy a few questions buy, by rule, seed and error rate."""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from conquer.data import treebank
from conquer.data.treebank import Sentence, TreebankError
from conquer.kernels.parsing.sentences import Text
from conquer.parsing.annotator import Annotator
from conquer.parsing.edges import Features
from conquer.parsing.parser import parse_heads
from conquer.parsing.rule import ASK, EdgeRule
from conquer.parsing.supervision import supervise
from conquer.parsing.training import Recipe, Training
from conquer.study.backends import Backend, serial
from conquer.study.reviews.results import Cells, Row, versions, write_frame
from conquer.study.reviews.run import Progress, Quiet
from conquer.types import Floats

PROTOCOL = 3
"""Raised whenever the same cell would give other numbers, so that old cells are not taken for new."""
CEILING = "full-supervision"
PARTS = ("train", "dev", "test")
_PATIENCE, _MOST_PASSES = 2, 15
_CEILING_LAM = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingSpec:
    """One study of one treebank.

    `errors` and `refusals` are annotators' rates. Every error rate goes with the first refusal rate and the other way
    round, so that each has curves of its own without a run for every pair.
    """

    folder: str
    ask: tuple[str, ...] = ("pair", "gnc", "margin", "confusion", "random")
    questions: int = 1
    passes: int = 1
    seeds: int = 5
    errors: tuple[float, ...] = (0.0,)
    refusals: tuple[float, ...] = (0.0,)
    points: int = 12
    recipe: Recipe = field(default_factory=Recipe)
    features: Features = field(default_factory=Features)

    def __post_init__(self) -> None:
        unknown = [name for name in self.ask if name not in ASK]
        if unknown or not self.ask:
            raise ValueError(f"ask must be some of {', '.join(ASK)}, got {', '.join(unknown) or 'nothing'}")
        for name in ("questions", "passes", "seeds", "points"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def annotators(self) -> list[Annotator]:
        """Who answers: the first error and refusal rate, then every other of either."""
        error, refusal = self.errors[0], self.refusals[0]
        rates = [(other, refusal) for other in self.errors] + [(error, other) for other in self.refusals[1:]]
        return [Annotator(*pair) for pair in rates]


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: everything its numbers depend on."""

    folder: str
    digest: str
    ask: str
    seed: int
    error: float
    passes: int
    points: int
    recipe: Recipe | None
    features: Features

    @property
    def key(self) -> str:
        content = {**asdict(self), "folder": Path(self.folder).name, "protocol": PROTOCOL}
        content["features"] = self.features.settings()
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Bank:
    """A treebank's three parts as sentences and arrays, and which of its words are punctuation."""

    sentences: dict[str, list[Sentence]]
    texts: dict[str, Text]
    punctuation: dict[str, Any]

    def score(self, part: str, features: Features, weights: Floats) -> dict[str, float]:
        """UAS with and without punctuation and the share of whole trees."""
        text = self.texts[part]
        words = text.heads >= 0
        right = parse_heads(text, features, weights) == text.heads
        kept = words & ~self.punctuation[part]
        whole = np.add.reduceat((right | ~words).astype(np.int64), text.offsets[:-1]) == np.diff(text.offsets)
        return {
            "uas": float(right[words].mean()),
            "uas_nopunct": float(right[kept].mean()) if kept.any() else float("nan"),
            "exact": float(whole.mean()),
        }


def files(folder: str | Path) -> dict[str, Path]:
    """The treebank's files by part: the one whose name says train, dev or test."""
    found: dict[str, Path] = {}
    for part in PARTS:
        matches = [p for end in ("", ".gz", ".xz") for p in sorted(Path(folder).glob(f"*{part}*.conllu{end}"))]
        if len(matches) != 1:
            names = ", ".join(path.name for path in matches) or "none"
            raise TreebankError(f"{folder}: expected one *{part}*.conllu file (.gz, .xz), found {names}")
        found[part] = matches[0]
    return found


def digest_of(paths: dict[str, Path]) -> str:
    """What the files hold, in 32 letters."""
    digest = hashlib.blake2b(digest_size=16)
    for part in PARTS:
        digest.update(paths[part].read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=2)
def bank(folder: str, features: Features) -> Bank:
    """The treebank in a folder; a worker reads it once."""
    sentences = {part: treebank.read(path) for part, path in files(folder).items()}
    if empty := [part for part, found in sentences.items() if not found]:
        raise TreebankError(f"{folder}: no sentences in {', '.join(empty)}")
    marks = {
        part: np.array([mark for s in found for mark in (True, *(tag == "PUNCT" for tag in s.upos))])
        for part, found in sentences.items()
    }
    return Bank(sentences, {part: features.encode(found) for part, found in sentences.items()}, marks)


def cells_of(spec: ParsingSpec) -> list[Cell]:
    """Every run of a study, the ceiling's first."""
    digest = digest_of(files(spec.folder))
    common: dict[str, Any] = {"folder": spec.folder, "digest": digest, "points": spec.points, "features": spec.features}
    cells = [
        Cell(ask=CEILING, seed=seed, error=0.0, passes=_MOST_PASSES, recipe=None, **common)
        for seed in range(spec.seeds)
    ]
    for ask, annotator, seed in product(spec.ask, spec.annotators(), range(spec.seeds)):
        recipe = replace(
            spec.recipe,
            rule=replace(spec.recipe.rule, ask=ask),
            annotator=annotator,
            questions=spec.questions,
        )
        cells.append(Cell(ask=ask, seed=seed, error=annotator.error, passes=spec.passes, recipe=recipe, **common))
    return cells


def checkpoints(sentences: int, passes: int, points: int) -> list[int]:
    """Visits after which to measure: evenly spread on a log scale from 100 on, and the end of every pass.

    >>> checkpoints(1000, 2, 3)
    [100, 316, 1000, 2000]
    """
    first = min(100, sentences)
    spread = np.geomspace(first, sentences, points) if sentences > first else [sentences]
    ends = [number * sentences for number in range(1, passes + 1)]
    return sorted({*np.rint(spread).astype(int).tolist(), *ends})


def run_cell(cell: Cell) -> Row:
    """The curve of one run: a list of points with questions asked so far and scores on the test part."""
    start = time.process_time()
    data = bank(cell.folder, cell.features)
    points = _ceiling(cell, data) if cell.recipe is None else _curve(cell, data, cell.recipe)
    refusal = 0.0 if cell.recipe is None else cell.recipe.annotator.refusal
    row = {"ask": cell.ask, "seed": cell.seed, "error": cell.error, "refusal": refusal, "points": points}
    edges = int((data.texts["train"].heads >= 0).sum())
    about = {"edges": edges, "sentences": data.texts["train"].offsets.size - 1, "versions": versions()}
    return {**row, **about, "seconds": time.process_time() - start}


def _curve(cell: Cell, data: Bank, recipe: Recipe) -> list[Row]:
    training = Training(data.texts["train"], cell.features, recipe, cell.seed)
    points = []
    for end in checkpoints(training.sentences, cell.passes, cell.points):
        training.visit(end - training.visits)
        said = np.bincount(training.progress.log[: training.questions, 4], minlength=4)
        shares = dict(zip(("first", "second", "neither", "refused"), (said / max(1, said.sum())).tolist(), strict=True))
        scores = data.score("test", cell.features, training.weights())
        if end % training.sentences == 0:
            anew = data.score("test", cell.features, training.settled())
            scores |= {f"settled_{name}": value for name, value in anew.items()}
        points.append({"visits": end, "questions": training.questions, **shares, **scores})
    return points


def _ceiling(cell: Cell, data: Bank) -> list[Row]:
    """As many passes as help on the development part; one point, measured on the test part."""
    best: tuple[float, int, Any] = (-1.0, 0, None)
    going = supervise(data.texts["train"], cell.features, lam=_CEILING_LAM, seed=cell.seed)
    for number in range(1, cell.passes + 1):
        _, weights = next(going)
        score = data.score("dev", cell.features, weights)["uas_nopunct"]
        if score > best[0]:
            best = (score, number, weights)
        elif number - best[1] >= _PATIENCE:
            break
    edges = int((data.texts["train"].heads >= 0).sum())
    scores = data.score("test", cell.features, best[2])
    return [{"visits": best[1] * (data.texts["train"].offsets.size - 1), "questions": edges, "dev": best[0], **scores}]


def frame_of(rows: Sequence[Row]) -> Any:
    """One line a point: ask, seed, error, refusal, questions, share of edges asked, uas, uas_nopunct, exact, ..."""
    import polars as pl

    names = (
        "visits", "questions", "uas", "uas_nopunct", "exact", "settled_uas", "settled_uas_nopunct", "settled_exact",
        "first", "second", "neither", "refused",
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


def study_parsing(
    spec: ParsingSpec, folder: str | Path, backend: Backend = serial, progress: Progress | None = None
) -> Any:
    """Run what is missing and return the frame of all points, also in `folder`/results.parquet."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    told = progress or Quiet()
    kept = Cells(folder / "cells")
    cells = cells_of(spec)
    rows = {cell.key: kept.get(cell.key) for cell in cells}
    missing = [cell for cell in cells if rows[cell.key] is None]
    told.begin("runs", float(len(missing)))
    for position, row in backend(run_cell, missing):
        kept.put(missing[position].key, row)
        rows[missing[position].key] = row
        told.advance(1.0)
    frame = frame_of([row for row in rows.values() if row is not None])
    write_frame(frame, folder / "results.parquet")
    return frame


def recipe_of(**given: Any) -> Recipe:
    """A recipe from plain options; None leaves the default."""
    options = {key: value for key, value in given.items() if value is not None}
    of_rule = {key: options.pop(key) for key in ("eta", "neither", "scale") if key in options}
    return Recipe(rule=EdgeRule(**of_rule), **options)
