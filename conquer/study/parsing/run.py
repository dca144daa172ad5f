"""The study of parsing: how much of full annotation's accuracy a few questions buy, by rule, seed and error rate."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from conquer.parsing.edges import Features
from conquer.parsing.learner import ASK, EdgeRule
from conquer.parsing.training import Annotator, Recipe, check_full
from conquer.study.backends import Backend, serial
from conquer.study.cells.output import write_frame
from conquer.study.cells.runner import CellTask, missing, run
from conquer.study.cells.store import Cells, Row
from conquer.study.parsing.bank import digest_of, files
from conquer.study.parsing.curves import ParsingCell, run_cell
from conquer.study.parsing.spec import CEILING, ParsingSpec
from conquer.study.progress import QUIET, RUNNING, StudyProgress

_MOST_PASSES = 15
"""Of the ceiling."""


def recipe_of(spec: ParsingSpec) -> Recipe:
    """How a study's rules learn, whatever they ask and start from.

    >>> recipe_of(ParsingSpec(treebank=Path("here"))) == Recipe()
    True
    """
    optional = {name: getattr(spec, name) for name in ("lam", "average") if getattr(spec, name) is not None}
    eta: dict[str, Any] = {} if spec.eta is None else {"eta": spec.eta}
    rule = EdgeRule(neither=spec.neither, scale=spec.scale, **eta)
    return Recipe(
        rule=rule, questions=spec.questions, replay=spec.replay, punctuation=spec.punctuation, matrix=spec.matrix,
        projection=spec.projection, **optional,
    )  # fmt: skip


def annotators(spec: ParsingSpec) -> list[Annotator]:
    """Who answers: the first error and refusal rate, then every other of either.

    >>> [person.refusal for person in annotators(ParsingSpec(treebank=Path("here"), refusal=(0.0, 0.5)))]
    [0.0, 0.5]
    """
    error, refusal = spec.error[0], spec.refusal[0]
    rates = [(other, refusal) for other in spec.error] + [(error, other) for other in spec.refusal[1:]]
    return [Annotator(*pair) for pair in rates]


def cells_of(spec: ParsingSpec) -> list[ParsingCell]:
    """Every run of a study, the ceiling's first."""
    if unknown := [name for name in spec.ask if name not in ASK]:
        raise ValueError(f"ask must be some of {', '.join(ASK)}, got {', '.join(unknown)}")
    recipe, features, people = recipe_of(spec), Features(spec.features, spec.bits), annotators(spec)
    check_full(recipe.matrix, features)
    common: dict[str, Any] = {
        "folder": str(spec.treebank),
        "digest": digest_of(files(spec.treebank)),
        "points": spec.points,
        "features": features,
        "longest": spec.longest,
    }
    cells = [
        ParsingCell(ask=CEILING, seed=seed, error=0.0, passes=_MOST_PASSES, recipe=None, **common)
        for seed in range(spec.seeds)
    ]
    for ask, prior, person, seed in product(spec.ask, spec.prior, people, range(spec.seeds)):
        own = replace(recipe, rule=replace(recipe.rule, ask=ask), annotator=person, prior=prior)
        name = ask if prior == "none" else f"{ask}+{prior}"
        cells.append(ParsingCell(ask=name, seed=seed, error=person.error, passes=spec.passes, recipe=own, **common))
    return cells


def frame_of(rows: Iterable[Row]) -> Any:
    """One line per point: ask, seed, error, refusal, questions, share of edges asked, uas, uas_nopunct, exact, ..."""
    import polars as pl

    names = (
        "visits", "questions", "uas", "uas_nopunct", "exact", "settled_uas", "settled_uas_nopunct", "settled_exact",
        "first", "second", "neither", "refused", "early",
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
    spec: ParsingSpec, folder: str | Path, backend: Backend = serial, progress: StudyProgress = QUIET
) -> Any:
    """Run what is missing and return the frame of all points, also in `folder`/results.parquet."""
    cells = cells_of(spec)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    store = Cells(out / "cells")
    plan = missing([CellTask(cell, (cell.name,), float(cell.passes)) for cell in cells], store)
    frame = frame_of(run(run_cell, plan, store, RUNNING, backend, progress).values())
    write_frame(frame, out / "results.parquet")
    return frame
