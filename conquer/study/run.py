"""Run a study: plan the cells that are missing, hand them to a backend, keep each as it comes, put it all together."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from conquer.data.opening import NoReviewsError
from conquer.registry import ALGORITHMS
from conquer.study import tasks
from conquer.study.backends import Backend, serial
from conquer.study.domains import Source, held, ignored, sources, store
from conquer.study.results import Cells, Row, frames, write_frame
from conquer.study.spec import CEILING, Spec, key


class Progress(Protocol):
    """Told about stages: `begin(name, work)` with the total work, then `advance(work)` as it is done."""

    def begin(self, stage: str, work: float) -> None: ...
    def advance(self, work: float) -> None: ...


class Quiet:
    """Tells nobody."""

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
        if algorithm not in ALGORITHMS:
            raise ValueError(f"no algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    told = progress or Quiet()
    found = sources(spec)
    out = Path(folder).resolve()  # workers may stand elsewhere
    out.mkdir(parents=True, exist_ok=True)
    cells, work = Cells(out / "cells"), out / "work"
    about = _prepare(found, out, work, backend, told)
    known, left_out = _fit_for_study(spec, about)
    if not known:
        raise ValueError("no domain is left to study: " + "; ".join(f"{n}: {why}" for n, why in left_out.items()))
    points = _tune(spec, known, cells, work, backend, told)
    rows = _repeat(spec, known, points, cells, work, backend, told)
    results, curves = frames(rows)
    write_frame(results, out / "results.parquet")
    write_frame(curves, out / "curves.parquet")
    shutil.rmtree(work, ignore_errors=True)
    return Finished(spec, results, curves, {source.name: facts for source, facts in known}, left_out, out)


_Known = Sequence[tuple[Source, dict[str, Any]]]


def _prepare(found: Sequence[Source], out: Path, work: Path, backend: Backend, told: Progress) -> _Known:
    """What is known of each domain, from an earlier run or by building it."""
    notes = Cells(out / "domains")
    known = {source: notes.get(source.key) for source in found}
    missing = [source for source in found if known[source] is None]
    told.begin("reading domains", len(missing))
    for position, facts in backend(_Store(work), missing):
        source = missing[position]
        notes.put(source.key, facts)
        known[source] = facts
        told.advance(1)
    return [(source, facts) for source, facts in known.items() if facts is not None]


def _fit_for_study(spec: Spec, about: _Known) -> tuple[_Known, dict[str, str]]:
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
        told.begin("building features", len(absent))
        for _ in backend(_Store(work), absent):
            told.advance(1)


def _tune(
    spec: Spec, known: _Known, cells: Cells, work: Path, backend: Backend, told: Progress
) -> dict[tuple[str, int, str], Row]:
    """{(domain, items, algorithm): tuning row}; an algorithm with one grid point needs no tuning."""
    points: dict[tuple[str, int, str], Row] = {}
    wanted: list[tasks.Tuning] = []
    names: dict[tuple[str, int, str], str] = {}
    costs: list[float] = []
    for source, facts in known:
        pairs = []
        for items in spec.items:
            for algorithm in spec.algorithms:
                place = (source.name, items, algorithm)
                grid = [dict(point) for point in ALGORITHMS[algorithm].grid]
                if len(grid) == 1:
                    points[place] = {"parameters": grid[0], "tuning_error": None}
                    continue
                names[place] = key("tuning", spec.settings(), source.key, items, algorithm, grid)
                row = cells.get(names[place])
                if row is None:
                    pairs.append((items, algorithm))
                else:
                    points[place] = row
        if pairs:
            wanted.append(tasks.Tuning(spec, source, str(work), tuple(pairs)))
            count, ways = tasks.tuning_effort(held(facts, spec.development))
            costs.append(8.0 * count * ways * sum(items for items, _ in pairs))
    _ensure([task.source for task in wanted], work, backend, told)
    for rows in _largest_first(tasks.tune, wanted, costs, "tuning", backend, told):
        for row in rows:
            place = (row["domain"], row["items"], row["algorithm"])
            cells.put(names[place], row)
            points[place] = row
    return points


def _repeat(
    spec: Spec,
    known: _Known,
    points: dict[tuple[str, int, str], Row],
    cells: Cells,
    work: Path,
    backend: Backend,
    told: Progress,
) -> list[Row]:
    rows: list[Row] = []
    wanted: list[tasks.Repetition] = []
    names: dict[tuple[str, int, str, int], str] = {}
    costs: list[float] = []
    extra = spec.settings()
    del extra["protocol"], extra["test_sets"]
    hashes = {source.name: source.key for source, _ in known}

    def keep(row: Row) -> None:
        tuned = points.get((row["domain"], row["items"], row["algorithm"]))
        full = row | extra | {"data": hashes[row["domain"]]}
        rows.append(full | ({"tuning_error": tuned["tuning_error"]} if tuned else {}))

    for source, facts in known:
        for number in range(spec.repetitions):
            absent = []
            for items in spec.items:
                for algorithm in (*spec.algorithms, CEILING):
                    tuned = points.get((source.name, items, algorithm))
                    point = dict(tuned["parameters"]) if tuned else spec.ceiling()
                    place = (source.name, items, algorithm, number)
                    names[place] = key("cell", spec.settings(), source.key, items, algorithm, number, point)
                    row = cells.get(names[place])
                    if row is None:
                        absent.append((items, algorithm, point))
                    else:
                        keep(row)
            if absent:
                wanted.append(tasks.Repetition(spec, source, str(work), number, tuple(absent)))
                costs.append(sum(items for items, _, _ in absent) * facts["reviews"] * spec.passes)
    _ensure({task.source: None for task in wanted}, work, backend, told)
    for found in _largest_first(tasks.repeat, wanted, costs, "running cells", backend, told):
        for row in found:
            cells.put(names[row["domain"], row["items"], row["algorithm"], row["repetition"]], row)
            keep(row)
    return rows


def _largest_first(
    function: Callable[[Any], list[Row]],
    wanted: Sequence[Any],
    costs: Sequence[float],
    stage: str,
    backend: Backend,
    told: Progress,
) -> Iterable[list[Row]]:
    """Results as they come; the longest tasks go first so that no worker is left alone with one at the end."""
    order = sorted(range(len(wanted)), key=lambda i: -costs[i])
    told.begin(stage, sum(costs))
    for position, rows in backend(function, [wanted[i] for i in order]):
        told.advance(costs[order[position]])
        yield rows


def write_text(path: Path, text: str) -> None:
    """Write a text file, all or nothing."""
    room = path.with_name(path.name + ".tmp")
    room.write_text(text, encoding="utf-8")
    os.replace(room, path)


def dump(path: Path, content: Any) -> None:
    """Write JSON, all or nothing."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True) + "\n")
