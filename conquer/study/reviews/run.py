"""Run a study: plan the cells that are missing, hand them to a backend, keep each as it comes, put it all together."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from conquer.data.compression import NoReviewsError
from conquer.registry import table
from conquer.study import progress as outlook
from conquer.study.backends import Backend, serial
from conquer.study.reviews import planning, tasks
from conquer.study.reviews.domains import Source, held, ignored, sources, store
from conquer.study.reviews.planning import Known, Plan, Points
from conquer.study.reviews.results import Cells, Row, frames, write_frame
from conquer.study.reviews.spec import Spec


class Progress(Protocol):
    """Told what a run will do, stage by stage, and what it has done.

    `expect(stage, work)` says how much work a later stage will have, `begin` that it starts, with how much after
    all, `advance` that some of it is done.
    """

    def expect(self, stage: str, work: float) -> None: ...
    def begin(self, stage: str, work: float) -> None: ...
    def advance(self, work: float) -> None: ...


class Quiet:
    """Tells nobody."""

    def expect(self, stage: str, work: float) -> None:
        pass

    def begin(self, stage: str, work: float) -> None:
        pass

    def advance(self, work: float) -> None:
        pass


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

    def __call__(self, source: Source) -> dict[str, Any]:
        try:
            return store(source, self.folder)
        except NoReviewsError as error:
            return {"reviews": 0, "nothing": str(error)}


def study(spec: Spec, folder: str | Path, backend: Backend = serial, progress: Progress | None = None) -> Finished:
    """Run what is missing of a study in `folder`, then write results.parquet and curves.parquet there.

    Every finished cell is kept under the name of its content, so the same call after any interruption goes on where
    it stopped, and a call with more algorithms or repetitions runs only those.
    """
    for algorithm in spec.algorithms:
        if algorithm not in table():
            raise ValueError(f"no algorithm {algorithm!r}; there are {', '.join(table())}")
    told = progress or Quiet()
    found = sources(spec)
    out = Path(folder).resolve()  # workers may stand elsewhere
    out.mkdir(parents=True, exist_ok=True)
    cells, work = Cells(out / "cells"), out / "work"
    about = _prepare(found, out, work, backend, told)
    known, left_out = _fit_for_study(spec, about)
    if not known:
        raise ValueError("no domain is left to study: " + "; ".join(f"{n}: {why}" for n, why in left_out.items()))
    tuning, points = planning.tuning(spec, known, cells, str(work))
    rest = planning.repetitions(spec, known, points, cells, str(work))
    told.expect(outlook.TUNING, tuning.cost)
    told.expect(outlook.RUNNING, rest.cost)
    _ensure({task.source: None for task in (*tuning.tasks, *rest.tasks)}, work, backend, told)
    for row in _run(tasks.tune, tuning, outlook.TUNING, cells, backend, told):
        points[_place(row)] = row
    if tuning.tasks:
        rest = planning.repetitions(spec, known, points, cells, str(work))
    fresh = list(_run(tasks.repeat, rest, outlook.RUNNING, cells, backend, told))
    rows = _labelled(spec, known, points, [*rest.found, *fresh])
    results, curves = frames(rows)
    write_frame(results, out / "results.parquet")
    write_frame(curves, out / "curves.parquet")
    shutil.rmtree(work, ignore_errors=True)
    return Finished(spec, results, curves, {source.name: facts for source, facts in known}, left_out, out)


def _prepare(found: Sequence[Source], out: Path, work: Path, backend: Backend, told: Progress) -> Known:
    """What is known of each domain, from an earlier run or by building it."""
    notes = Cells(out / "domains")
    known = {source: notes.get(source.key) for source in found}
    missing = [source for source in found if known[source] is None]
    told.begin(outlook.READING, len(missing))
    for position, facts in backend(_Store(work), missing):
        source = missing[position]
        notes.put(source.key, facts)
        known[source] = facts
        told.advance(1)
    return [(source, facts) for source, facts in known.items() if facts is not None]


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


def _ensure(known: Iterable[Source], work: Path, backend: Backend, told: Progress) -> None:
    """The feature matrices of these domains, in `work`."""
    absent = [source for source in known if not (work / source.key).exists()]
    if absent:
        told.begin(outlook.BUILDING, len(absent))
        for _ in backend(_Store(work), absent):
            told.advance(1)


def _place(row: Row) -> tuple[str, int, str]:
    return row["domain"], row["items"], row["algorithm"]


def _run(
    function: Callable[[Any], list[Row]], plan: Plan, stage: str, cells: Cells, backend: Backend, told: Progress
) -> Iterator[Row]:
    """Rows as they come, kept; the longest tasks go first so that no worker is left alone with one at the end."""
    order = sorted(range(len(plan.tasks)), key=lambda i: -plan.costs[i])
    told.begin(stage, plan.cost)
    for position, rows in backend(function, [plan.tasks[i] for i in order]):
        for row in rows:
            number = (row["repetition"],) if "repetition" in row else ()
            cells.put(plan.names[*_place(row), *number], row)
        told.advance(plan.costs[order[position]])
        yield from rows


def _labelled(spec: Spec, known: Known, points: Points, rows: Sequence[Row]) -> list[Row]:
    """The rows with what they share: the settings, the data's hash, and the error that chose their parameters."""
    shared = spec.settings()
    del shared["protocol"], shared["test_sets"]
    hashes = {source.name: source.key for source, _ in known}
    chosen = {place: {"tuning_error": row["tuning_error"]} for place, row in points.items()}
    return [row | shared | {"data": hashes[row["domain"]]} | chosen.get(_place(row), {}) for row in rows]


def write_text(path: Path, text: str) -> None:
    """Write a text file, all or nothing."""
    room = path.with_name(path.name + ".tmp")
    room.write_text(text, encoding="utf-8")
    os.replace(room, path)


def dump(path: Path, content: Any) -> None:
    """Write JSON, all or nothing."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True) + "\n")
