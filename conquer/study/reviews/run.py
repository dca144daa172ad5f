"""Run a study of reviews: plan the cells that are missing, run them, put it all together."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conquer.data.reviews import NoReviewsError
from conquer.registry import find
from conquer.study.backends import Backend, serial
from conquer.study.cells.output import write_frame
from conquer.study.cells.runner import CellTask, Plan, joined, missing, run
from conquer.study.cells.store import Cells, Row
from conquer.study.progress import BUILDING, QUIET, READING, RUNNING, TUNING, StudyProgress
from conquer.study.reviews import planning
from conquer.study.reviews.domains import held, store
from conquer.study.reviews.looking import refuse_unreadable
from conquer.study.reviews.planning import Known, Place, place
from conquer.study.reviews.readings import reading_of
from conquer.study.reviews.results import frames
from conquer.study.reviews.sources import DomainSource, ignored, sources
from conquer.study.reviews.spec import Spec
from conquer.study.reviews.work import repeat, tune


@dataclass(frozen=True, slots=True)
class Finished:
    """The frames of a finished study, what is known of its domains, and which were left out and why."""

    specs: tuple[Spec, ...]
    results: Any
    curves: Any
    domains: dict[str, dict[str, Any]]
    left_out: dict[str, str]
    folder: Path


@dataclass(frozen=True, slots=True)
class _Way:
    """One reading, and the domains it can be run on."""

    spec: Spec
    known: Known


@dataclass(frozen=True, slots=True)
class _Store:
    """A picklable call of `store`."""

    folder: Path

    def __call__(self, source: DomainSource) -> list[Row]:
        try:
            return [store(source, self.folder)]
        except NoReviewsError as error:
            return [{"reviews": 0, "nothing": str(error)}]


def study(
    specs: Spec | Sequence[Spec], folder: str | Path, backend: Backend = serial, progress: StudyProgress = QUIET
) -> Finished:
    """Run what is missing of a study in `folder`, then write results.parquet and curves.parquet there.

    Several specifications are readings of one study: they are run together, on the same rounds. Every finished cell
    is kept under the name of its content, so the same call after any interruption goes on where it stopped, and a call
    with more readings, algorithms or repetitions runs only those.
    """
    every = (specs,) if isinstance(specs, Spec) else tuple(specs)
    for algorithm in (algorithm for spec in every for algorithm in spec.algorithms):
        find(algorithm)  # or a ValueError that lists them
    found = [sources(spec) for spec in every]
    out = Path(folder).resolve()  # workers may stand elsewhere
    out.mkdir(parents=True, exist_ok=True)
    cells, work = Cells(out / "cells"), out / "work"
    facts = _read({source.key: source for each in found for source in each}, out, work, backend, progress)
    named = {source.name: facts[source.key] for each in found for source in each}
    if not all(spec.allow_unreadable for spec in every):
        refuse_unreadable(named)
    fit = [_fit_for_study(spec, [(s, facts[s.key]) for s in each]) for spec, each in zip(every, found, strict=True)]
    left_out = {name: why for _, left in fit for name, why in left.items()}
    ways = [_Way(spec, known) for spec, (known, _) in zip(every, fit, strict=True)]
    if not all(way.known for way in ways):
        raise ValueError("no domain is left to study: " + "; ".join(f"{n}: {why}" for n, why in left_out.items()))
    tunings = [planning.tuning(way.spec, way.known, cells, str(work)) for way in ways]
    tuning = joined(tunings)
    points = [_points(way, plan, plan.found) for way, plan in zip(ways, tunings, strict=True)]
    rests = [planning.repetitions(w.spec, w.known, p, cells, str(work)) for w, p in zip(ways, points, strict=True)]
    progress.expect(TUNING, tuning.cost)
    progress.expect(RUNNING, joined(rests).cost)
    _build({task.content.source: None for plan in (tuning, *rests) for task in plan.tasks}, work, backend, progress)
    tuned = run(tune, tuning, cells, TUNING, backend, progress)
    points = [_points(way, plan, tuned) for way, plan in zip(ways, tunings, strict=True)]
    if tuning.tasks:
        rests = [planning.repetitions(w.spec, w.known, p, cells, str(work)) for w, p in zip(ways, points, strict=True)]
    rows = run(repeat, joined(rests), cells, RUNNING, backend, progress)
    own = zip(ways, points, rests, strict=True)
    labelled = [row for w, p, plan in own for row in _labelled(w, p, [rows[name] for name in plan.names])]
    results, curves = frames(labelled)
    write_frame(results, out / "results.parquet")
    write_frame(curves, out / "curves.parquet")
    shutil.rmtree(work, ignore_errors=True)
    domains = {source.name: about for source, about in ways[0].known}
    return Finished(every, results, curves, domains, left_out, out)


def _points(way: _Way, plan: Plan, tuned: Mapping[str, Row]) -> dict[Place, Row]:
    """The points known so far: those that need no tuning, and those of the plan that are among `tuned`."""
    found = [tuned[name] for name in plan.names if name in tuned]
    return planning.untuned(way.spec, way.known) | {place(row): row for row in found}


def _read(
    found: Mapping[str, DomainSource], out: Path, work: Path, backend: Backend, progress: StudyProgress
) -> dict[str, Row]:
    """What is known of each domain by its key, from an earlier run or by building it."""
    notes = Cells(out / "domains")
    plan = missing([CellTask(source, (key,)) for key, source in found.items()], notes)
    return run(_Store(work), plan, notes, READING, backend, progress)


def _build(known: Iterable[DomainSource], work: Path, backend: Backend, progress: StudyProgress) -> None:
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


def _labelled(way: _Way, points: dict[Place, Row], rows: Iterable[Row]) -> list[Row]:
    """The rows with what they share: the settings, the data's hash, and the error that chose their parameters."""
    shared = way.spec.settings() | {"reading": reading_of(way.spec), "ngrams": ",".join(map(str, way.spec.ngrams))}
    shared |= {"tuning": way.spec.tuning, "tune_at": way.spec.tune_at, "lam": way.spec.lam}
    del shared["protocol"], shared["test_sets"]
    hashes = {source.name: source.key for source, _ in way.known}
    chosen = {where: {"tuning_error": row["tuning_error"]} for where, row in points.items()}
    return [row | shared | {"data": hashes[row["domain"]]} | chosen.get(place(row), {}) for row in rows]
