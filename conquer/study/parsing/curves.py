"""One run of a parsing study: a rule's accuracy along its questions, or the ceiling's after full supervision."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conquer.parsing.edges import Features
from conquer.parsing.training import Recipe, Training, supervise
from conquer.study.cells.store import Row, digest, versions
from conquer.study.parsing.bank import Bank, bank

PROTOCOL = 3
"""Raised whenever the same cell would give other numbers, so that old cells are not taken for new."""
_PATIENCE = 2
_CEILING_LAM = 1.0
_EARLY = 20
"""Questions by which people judge whether it is worth their time."""


@dataclass(frozen=True, slots=True)
class ParsingCell:
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
    longest: int | None = None

    @property
    def name(self) -> str:
        """What the numbers depend on, wherever the treebank's folder lies."""
        content = {**asdict(self), "folder": Path(self.folder).name, "protocol": PROTOCOL}
        content["features"] = self.features.settings()
        if self.recipe is not None and self.recipe.prior == "none":
            del content["recipe"]["prior"]  # runs from before there was a choice keep their names
        return digest(json.dumps(content, sort_keys=True))


def checkpoints(sentences: int, passes: int, points: int) -> list[int]:
    """Visits after which to measure: evenly spread on a log scale from 100 on, and the end of every pass.

    >>> checkpoints(1000, 2, 3)
    [100, 316, 1000, 2000]
    """
    first = min(100, sentences)
    spread = np.geomspace(first, sentences, points) if sentences > first else [sentences]
    ends = [number * sentences for number in range(1, passes + 1)]
    return sorted({*np.rint(spread).astype(int).tolist(), *ends})


def run_cell(cell: ParsingCell) -> list[Row]:
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
        said = np.bincount(training.progress.log[: training.questions, 4], minlength=4)
        shares = dict(zip(("first", "second", "neither", "refused"), (said / max(1, said.sum())).tolist(), strict=True))
        scores = data.score("test", cell.features, training.weights())
        if end % training.sentences == 0:
            anew = data.score("test", cell.features, training.settled())
            scores |= {f"settled_{name}": value for name, value in anew.items()}
        points.append(
            {"visits": end, "questions": training.questions, "early": early_hits(training), **shares, **scores}
        )
    return points


def early_hits(training: Training) -> float:
    """The share of the first 20 questions that show the word's true head; NaN before the first.

    An annotator who never errs answers "neither" to the others, but this does not depend on who answers.
    """
    sentence, word, first, second, _ = training.progress.log[: min(_EARLY, training.questions)].T
    gold = training.text.heads[training.text.offsets[sentence] + word]
    return float(((first == gold) | (second == gold)).mean()) if gold.size else float("nan")


def _ceiling(cell: ParsingCell, data: Bank) -> list[Row]:
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
