"""A study of reviews from its files to its results: plan the missing cells, run them, collect the rows."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conquer.data.reviews import NoReviewsError
from conquer.registry import find
from conquer.study.backends import Backend, serial
from conquer.study.output import write_frame
from conquer.study.progress import BUILDING, QUIET, READING, RUNNING, StudyProgress
from conquer.study.reviews.domains import development_size, store
from conquer.study.reviews.rounds import count_of
from conquer.study.reviews.sources import DomainSource, ignored, refuse_unreadable, sources
from conquer.study.reviews.spec import CEILING, CONTROLS, Spec, points, reading_of
from conquer.study.reviews.tasks import Repetition, Tuning, repeat, tune, tuning_effort
from conquer.study.runner import CellStore, CellTask, Plan, Row, joined, key, missing, run

if TYPE_CHECKING:
    from polars import DataFrame

_PLACE = ("reading", "domain", "items", "algorithm", "repetition")
_NUMBERS = ("items", "repetition", "trained", "answers", "features_seen", "seed", "passes", "shows")
_REALS = (
    "error", "score_error", "online_error", "regret", "query_rate", "equal_pairs", "equal_in_sets", "unique_in_sets",
    "length_correlation", "mean_answer", "centred_error", "tuning_error", "lam", "seconds",
)  # fmt: skip
_COLUMNS = (
    *_PLACE, "error", "score_error", "online_error", "regret", "trained", "shows", "answers", "query_rate",
    "query_rates", "equal_pairs",
    "equal_in_sets", "unique_in_sets", "length_correlation", "mean_answer", "centred_error", "tuning_error",
    "parameters", "diverged", "features_seen", "seed", "rounds", "balance", "update", "features", "tuning", "ngrams",
    "model", "lam", "judge", "passes", "kind", "data", "versions", "seconds",
)  # fmt: skip

_FIXED = 300.0
"""What a cell costs besides its rounds, in rounds: features, test sets and the like."""

Domains = Sequence[tuple[DomainSource, dict[str, Any]]]
"""Domains and the facts known about them."""
Place = tuple[str, int, str]
"""(domain, items, algorithm)."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The frames of a finished study, the facts of its domains, and which domains were left out and why.

    `domains` has the facts as found where any reading takes them so; `balanced` those of readings with balanced stars.
    """

    specs: tuple[Spec, ...]
    results: "DataFrame"
    curves: "DataFrame"
    domains: dict[str, dict[str, Any]]
    balanced: dict[str, dict[str, Any]]
    left_out: dict[str, str]
    folder: Path


@dataclass(frozen=True, slots=True)
class _Reading:
    """One specification, the domains it can be run on, and where its cells and the domains' arrays are stored."""

    spec: Spec
    domains: Domains
    store: CellStore
    folder: str

    def tuning(self) -> Plan:
        """The choice of a grid point for each domain, items and algorithm. A task's cost is the items it scores."""
        plan, spec = Plan(), self.spec
        for source, facts in self.domains:
            absent: dict[str, tuple[int, str]] = {}
            for items in spec.items:
                for algorithm in self.tuned():
                    grid = points(spec, algorithm)
                    if len(grid) > 1:
                        name = key("tuning", spec.settings(), source.key, items, algorithm, grid, spec.tuning)
                        if (row := self.store.get(name)) is None:
                            absent[name] = items, algorithm
                        else:
                            plan.found[name] = row
            if absent:
                task = Tuning(spec, source, self.folder, tuple(absent.values()))
                size, cost = development_size(facts, spec.development), 0.0
                for items, _ in absent.values():
                    count, folds = tuning_effort(spec, size, items)
                    cost += 8.0 * count * folds * items
                plan.tasks.append(CellTask(task, tuple(absent), cost))
        return plan

    def tuned(self) -> list[str]:
        """The algorithms whose parameters are chosen: those of the study, and those of which it has only controls."""
        return list(dict.fromkeys(CONTROLS.get(name, (name, ""))[0] for name in self.spec.algorithms))

    def points(self, plan: Plan, tuned: Mapping[str, Row]) -> dict[Place, Row]:
        """The points known so far: those of one-point grids, and those of the tuning plan that are in `tuned`."""
        grids = {algorithm: points(self.spec, algorithm) for algorithm in self.tuned()}
        untuned: dict[Place, Row] = {
            (source.name, items, algorithm): {"parameters": dict(grid[0]), "tuning_error": None}
            for source, _ in self.domains
            for items in self.spec.items
            for algorithm, grid in grids.items()
            if len(grid) == 1
        }
        found = untuned | {_place(tuned[name]): tuned[name] for name in plan.names if name in tuned}
        controls = [(name, CONTROLS[name][0]) for name in self.spec.algorithms if name in CONTROLS]
        same = {(d, k, name): row for (d, k, base), row in found.items() for name, of in controls if base == of}
        return found | same

    def repetitions(self, chosen: Mapping[Place, Row], taken: set[str]) -> Plan:
        """The cells; those of algorithms that are not tuned yet count as missing.

        Cells that are `taken` belong to another reading's plan; the new ones of this plan are added.
        """
        plan, spec = Plan(), self.spec
        for source, facts in self.domains:
            for number in range(spec.repetitions):
                absent: dict[str, tuple[int, str, dict[str, Any]]] = {}
                for items in spec.items:
                    for algorithm in (*spec.algorithms, CEILING):
                        tuned = chosen.get((source.name, items, algorithm))
                        if tuned is None and algorithm != CEILING:
                            absent[f"{items} {algorithm}"] = items, algorithm, {}
                            continue
                        point = dict(tuned["parameters"]) if tuned else {"penalties": spec.penalties}
                        settings = spec.ceiling_settings() if algorithm == CEILING else spec.settings()
                        name = key("cell", settings, source.key, items, algorithm, number, point)
                        plan.wanted.append(name)
                        if name in taken:
                            continue
                        if (row := self.store.get(name)) is None:
                            absent[name] = items, algorithm, point
                        else:
                            plan.found[name] = row
                if absent:
                    taken |= absent.keys()
                    task = Repetition(spec, source, self.folder, number, tuple(absent.values()))
                    per_item = spec.passes * count_of(spec.rounds, facts["reviews"], 20) + _FIXED
                    cost = float(sum(items for items, _, _ in absent.values()) * per_item)
                    plan.tasks.append(CellTask(task, tuple(absent), cost))
        return plan

    def labelled(self, chosen: Mapping[Place, Row], rows: Iterable[Row]) -> list[Row]:
        """The rows with the settings, the data's hash, and the error that chose their parameters."""
        spec = self.spec
        shared = spec.settings() | {"reading": reading_of(spec), "ngrams": ",".join(map(str, spec.ngrams))}
        shared |= {"tuning": spec.tuning, "lam": spec.lam, "kind": self.domains[0][0].kind}
        hashes = {source.name: source.key for source, _ in self.domains}
        errors = {where: {"tuning_error": row["tuning_error"]} for where, row in chosen.items()}
        return [row | shared | {"data": hashes[row["domain"]]} | errors.get(_place(row), {}) for row in rows]


def _place(row: Row) -> Place:
    return row["domain"], row["items"], row["algorithm"]


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
    """Run the missing cells of a study in `folder`, then write results.parquet and curves.parquet there.

    Several specifications are readings of one study: they run together, on the same rounds. Every finished cell is
    stored under a hash of its content, so the same call continues after an interruption, and a call with more readings,
    algorithms or repetitions runs only those.
    """
    every = (specs,) if isinstance(specs, Spec) else tuple(specs)
    for algorithm in (algorithm for spec in every for algorithm in spec.algorithms):
        find(CONTROLS.get(algorithm, (algorithm, ""))[0])  # raises a ValueError that lists the algorithms
    found = [sources(spec) for spec in every]
    out = Path(folder).resolve()  # workers may have another current folder
    out.mkdir(parents=True, exist_ok=True)
    cells, work = CellStore(out / "cells"), out / "work"
    facts = _read({source.key: source for each in found for source in each}, out, work, backend, progress)
    if not all(spec.allow_unreadable for spec in every):
        refuse_unreadable({source.name: facts[source.key] for each in found for source in each})
    fit = [_usable(spec, [(s, facts[s.key]) for s in each]) for spec, each in zip(every, found, strict=True)]
    left_out = {name: why for _, left in fit for name, why in left.items()}
    readings = [_Reading(spec, usable, cells, str(work)) for spec, (usable, _) in zip(every, fit, strict=True)]
    if not all(reading.domains for reading in readings):
        raise ValueError("no domain is left to study: " + "; ".join(f"{n}: {why}" for n, why in left_out.items()))

    tunings = [reading.tuning() for reading in readings]
    tuning = joined(tunings)
    chosen = [reading.points(plan, plan.found) for reading, plan in zip(readings, tunings, strict=True)]
    plans = _plans(readings, chosen)
    _build({task.content.source: None for plan in (tuning, *plans) for task in plan.tasks}, work, backend, progress)
    tuned = run(tune, tuning, cells, RUNNING, backend, progress, later=joined(plans).cost)
    if tuning.tasks:
        chosen = [reading.points(plan, tuned) for reading, plan in zip(readings, tunings, strict=True)]
        plans = _plans(readings, chosen)
    rows = run(repeat, joined(plans), cells, RUNNING, backend, progress)

    own = zip(readings, chosen, plans, strict=True)
    results, curves = frames(
        [row for reading, known, plan in own for row in reading.labelled(known, [rows[name] for name in plan.wanted])]
    )
    write_frame(results, out / "results.parquet")
    write_frame(curves, out / "curves.parquet")
    shutil.rmtree(work, ignore_errors=True)
    kinds: dict[str, dict[str, dict[str, Any]]] = {"none": {}, "stars": {}}
    for reading in readings:
        kinds[reading.spec.balance] |= {source.name: about for source, about in reading.domains}
    return Finished(every, results, curves, kinds["stars"] | kinds["none"], kinds["stars"], left_out, out)


def _plans(readings: Sequence[_Reading], chosen: Sequence[Mapping[Place, Row]]) -> list[Plan]:
    """The plan of each reading; a cell that several share is in the first of them."""
    taken: set[str] = set()
    return [reading.repetitions(known, taken) for reading, known in zip(readings, chosen, strict=True)]


def _read(
    found: Mapping[str, DomainSource], out: Path, work: Path, backend: Backend, progress: StudyProgress
) -> dict[str, Row]:
    """The facts of each domain by its key, from an earlier run or by building it."""
    facts = CellStore(out / "domains")
    plan = missing([CellTask(source, (name,)) for name, source in found.items()], facts)
    return run(_Store(work), plan, facts, READING, backend, progress)


def _build(needed: Iterable[DomainSource], work: Path, backend: Backend, progress: StudyProgress) -> None:
    """Build the feature matrices of these domains in `work`."""
    absent = [source for source in needed if not (work / source.key).exists()]
    if absent:
        progress.begin(BUILDING, len(absent))
        for _ in backend(_Store(work), absent):
            progress.advance(1)


def _usable(spec: Spec, domains: Domains) -> tuple[Domains, dict[str, str]]:
    """The domains that can be studied, and {name: why not} of the others."""
    usable, left_out = [], dict.fromkeys(ignored(spec), "unrecognised file extension")
    largest = max(spec.items)
    for source, facts in domains:
        size = facts["reviews"]
        if "nothing" in facts:
            left_out[source.name] = facts["nothing"]
        elif facts["grouped"]:
            usable.append((source, facts))
        elif source.kind == "files" and size < spec.minimum:
            left_out[source.name] = f"{size} reviews after balancing, fewer than --minimum {spec.minimum}{_lost(facts)}"
        elif _smallest_part(spec, facts) < largest:
            left_out[source.name] = f"{size} reviews are too few for rounds of {largest} items in every part"
        elif spec.judge == "raters" and not facts["rated"]:
            left_out[source.name] = "no individual ratings for judge 'raters'"
        else:
            usable.append((source, facts))
    return usable, left_out


def _smallest_part(spec: Spec, facts: dict[str, Any]) -> int:
    """The size of the smallest part that rounds are drawn from; a third of the development part is for evaluation."""
    size = int(facts["reviews"])
    tested, tuned = round(spec.test * size), development_size(facts, spec.development)
    return min(tuned // 3, tested, size - tested - tuned)


def _lost(facts: dict[str, Any]) -> str:
    count, problems = facts.get("unreadable", 0), facts.get("problems", [])
    return f" ({count} rows unreadable: {problems[0]})" if count and problems else ""


def frames(rows: list[Row]) -> "tuple[DataFrame, DataFrame]":
    """(results, curves): one row per cell, and one row per point of a learning curve, sorted by place."""
    import polars as pl

    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in _PLACE))
    table = []
    curves: dict[str, list[Any]] = {name: [] for name in (*_PLACE, "round", "regret", "answers", "error")}
    for row in ordered:
        plain = {name: row.get(name) for name in _COLUMNS}
        plain["parameters"] = json.dumps(row["parameters"], sort_keys=True)
        plain["versions"] = json.dumps(row["versions"], sort_keys=True)
        plain["diverged"] = bool(row.get("diverged", False))
        table.append(plain)
        curve = row.get("curve")
        if curve:
            for name in _PLACE:
                curves[name].extend([row[name]] * len(curve["round"]))
            for name in ("round", "regret", "answers", "error"):
                curves[name].extend(curve[name])
    types: dict[str, Any] = dict.fromkeys(_REALS, pl.Float64) | dict.fromkeys(_NUMBERS, pl.Int64)
    types |= {"round": pl.Int64, "query_rates": pl.List(pl.Float64), "diverged": pl.Boolean}
    schemas = ({name: types.get(name, pl.String) for name in names} for names in (_COLUMNS, curves))
    return pl.DataFrame(table, schema=next(schemas)), pl.DataFrame(curves, schema=next(schemas))
