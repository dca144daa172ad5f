"""Run a study of reviews: plan the cells that are missing, run them, put it all together."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conquer.data.compression import NoReviewsError
from conquer.registry import table
from conquer.study.backends import Backend, serial
from conquer.study.cells.output import write_frame
from conquer.study.cells.runner import CellTask, missing, run
from conquer.study.cells.store import Cells, Row
from conquer.study.progress import BUILDING, QUIET, READING, RUNNING, TUNING, StudyProgress
from conquer.study.reviews import planning
from conquer.study.reviews.domains import held, store
from conquer.study.reviews.planning import Known, Place, place
from conquer.study.reviews.results import frames
from conquer.study.reviews.sources import Source, ignored, sources
from conquer.study.reviews.spec import Spec
from conquer.study.reviews.work import repeat, tune


@dataclass(frozen=True, slots=True)
class Finished:
    """The frames of a finished study, what is known of its domains, and which were left out and why."""

    spec: Spec
    results: Any
    curves: Any
    domains: dict[str, dict[str, Any]]
    left_out: dict[str, str]
    folder: Path


@dataclass(frozen=True, slots=True)
class _Store:
    """A picklable call of `store`."""

    folder: Path

    def __call__(self, source: Source) -> list[Row]:
        try:
            return [store(source, self.folder)]
        except NoReviewsError as error:
            return [{"reviews": 0, "nothing": str(error)}]


def study(spec: Spec, folder: str | Path, backend: Backend = serial, progress: StudyProgress = QUIET) -> Finished:
    """Run what is missing of a study in `folder`, then write results.parquet and curves.parquet there.

    Every finished cell is kept under the name of its content, so the same call after any interruption goes on where
    it stopped, and a call with more algorithms or repetitions runs only those.
    """
    for algorithm in spec.algorithms:
        if algorithm not in table():
            raise ValueError(f"no algorithm {algorithm!r}; there are {', '.join(table())}")
    found = sources(spec)
    out = Path(folder).resolve()  # workers may stand elsewhere
    out.mkdir(parents=True, exist_ok=True)
    cells, work = Cells(out / "cells"), out / "work"
    known, left_out = _fit_for_study(spec, _read(found, out, work, backend, progress))
    if not known:
        raise ValueError("no domain is left to study: " + "; ".join(f"{n}: {why}" for n, why in left_out.items()))
    tuning = planning.tuning(spec, known, cells, str(work))
    points = planning.untuned(spec, known) | {place(row): row for row in tuning.found.values()}
    rest = planning.repetitions(spec, known, points, cells, str(work))
    progress.expect(TUNING, tuning.cost)
    progress.expect(RUNNING, rest.cost)
    _build({task.content.source: None for task in (*tuning.tasks, *rest.tasks)}, work, backend, progress)
    tuned = run(tune, tuning, cells, TUNING, backend, progress)
    points |= {place(row): row for row in tuned.values()}
    if tuning.tasks:
        rest = planning.repetitions(spec, known, points, cells, str(work))
    rows = run(repeat, rest, cells, RUNNING, backend, progress)
    results, curves = frames(_labelled(spec, known, points, rows.values()))
    write_frame(results, out / "results.parquet")
    write_frame(curves, out / "curves.parquet")
    shutil.rmtree(work, ignore_errors=True)
    return Finished(spec, results, curves, {source.name: facts for source, facts in known}, left_out, out)


def _read(found: Sequence[Source], out: Path, work: Path, backend: Backend, progress: StudyProgress) -> Known:
    """What is known of each domain, from an earlier run or by building it."""
    notes = Cells(out / "domains")
    plan = missing([CellTask(source, (source.key,)) for source in found], notes)
    facts = run(_Store(work), plan, notes, READING, backend, progress)
    return [(source, facts[source.key]) for source in found]


def _build(known: Iterable[Source], work: Path, backend: Backend, progress: StudyProgress) -> None:
    """The feature matrices of these domains, in `work`."""
    absent = [source for source in known if not (work / source.key).exists()]
    if absent:
        progress.begin(BUILDING, len(absent))
        for _ in backend(_Store(work), absent):
            progress.advance(1)


def _fit_for_study(spec: Spec, about: Known) -> tuple[Known, dict[str, str]]:
    known, left_out = [], dict.fromkeys(ignored(spec), "no file of reviews by its name")
    largest = max(spec.items)
    for source, facts in about:
        size = facts["reviews"]
        if "nothing" in facts:
            left_out[source.name] = facts["nothing"]
        elif facts["grouped"]:
            known.append((source, facts))
        elif source.kind == "files" and size < spec.minimum:
            left_out[source.name] = f"{size} reviews after balancing, fewer than --minimum {spec.minimum}{_lost(facts)}"
        elif _smallest_part(spec, facts) < largest:
            left_out[source.name] = f"{size} reviews are too few for rounds of {largest} items in every part"
        elif spec.judge == "raters" and not facts["rated"]:
            left_out[source.name] = "no individual ratings for judge 'raters'"
        else:
            known.append((source, facts))
    return known, left_out


def _smallest_part(spec: Spec, facts: dict[str, Any]) -> int:
    """How many reviews rounds are drawn from where they are fewest; of development a third is for evaluation."""
    size = int(facts["reviews"])
    tested, tuned = round(spec.test * size), held(facts, spec.development)
    return min(tuned // 3, tested, size - tested - tuned)


def _lost(facts: dict[str, Any]) -> str:
    count, problems = facts.get("unreadable", 0), facts.get("problems", [])
    return f" ({count} rows unreadable: {problems[0]})" if count and problems else ""


def _labelled(spec: Spec, known: Known, points: dict[Place, Row], rows: Iterable[Row]) -> list[Row]:
    """The rows with what they share: the settings, the data's hash, and the error that chose their parameters."""
    shared = spec.settings()
    del shared["protocol"], shared["test_sets"]
    hashes = {source.name: source.key for source, _ in known}
    chosen = {where: {"tuning_error": row["tuning_error"]} for where, row in points.items()}
    return [row | shared | {"data": hashes[row["domain"]]} | chosen.get(place(row), {}) for row in rows]
