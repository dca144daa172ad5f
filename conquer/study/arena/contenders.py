"""Who enters the arena: every algorithm of the registry, and options of some as contenders of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from conquer.registry import find, groups, make, offered, table, unknown
from conquer.study.arena.worlds import Setting

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contender:
    """An algorithm with fixed parameters and an eight-point grid.

    `ours`: whether it counts as one of ours. `worlds`: the only ones where it differs from the plain algorithm, or
    None for all. `published`: a rival as its paper runs it, with the world's T; tuned only where its paper tunes.
    """

    name: str
    algorithm: str
    grid: tuple[Point, ...]
    fixed: Point = field(default_factory=dict)
    ours: bool = False
    worlds: tuple[str, ...] | None = None
    published: bool = False

    def fits(self, setting: Setting) -> bool:
        """Whether it enters this world."""
        if self.worlds is not None and setting.name not in self.worlds:
            return False
        return setting.fixed or not getattr(make(self.algorithm, dim=2), "fixed_arms", False)

    def options(self, setting: Setting) -> dict[str, Any]:
        """Its model in a world: a kernel where rewards are not linear, else full matrices, where it has the choice."""
        row = find(self.algorithm)
        paper = row.published if self.published else None
        if paper is not None and "model" in paper.values:
            return {"published": True, **dict.fromkeys(paper.needs, setting.rounds)}
        if "model" in self.fixed:
            return dict(self.fixed)
        wanted = "kernel" if setting.kernel else "full"
        model = wanted if wanted in row.models else "full" if "full" in row.models else row.models[0]
        scaled = model == "kernel" and any(p.name == "scale" for p in row.parameters)
        chosen = {"model": model, **({"scale": 4.0} if scaled else {}), **self.fixed}
        return chosen if paper is None else {**chosen, "published": True, **dict.fromkeys(paper.needs, setting.rounds)}


def _grid(name: str, values: tuple[float, ...], other: str, others: tuple[float, ...]) -> tuple[Point, ...]:
    return tuple({name: one, other: two} for one in values for two in others)


_LINEAR = {"model": "full", "estimator": "linear"}
_ROBUST = (0.05, 0.1, 0.2, 0.4)
_FORGETTING = _grid("forget", (0.98, 0.99, 0.995, 0.998), "lam", (3.0, 30.0))
_GNC_FORGETTING = {**_LINEAR, "eta": 6.0, "gate": "gnc", "gate_eta": 36.0}
_GNC_ROBUST = tuple({"robust": r, "eta": eta, "gate_eta": eta**2} for r in _ROBUST for eta in (2.0, 6.0))

VARIANTS = {
    row.name: row
    for row in (
        Contender("ttg+forget", "toptwo", _FORGETTING, _LINEAR, ours=True, worlds=("drifting",)),
        Contender("gnc+forget", "ndb", _FORGETTING, _GNC_FORGETTING, ours=True, worlds=("drifting",)),
        Contender(
            "ttg+robust", "toptwo", _grid("robust", _ROBUST, "lam", (3.0, 30.0)), _LINEAR, ours=True,
            worlds=("corrupted",),
        ),
        Contender(
            "gnc+robust", "ndb", _GNC_ROBUST, {**_LINEAR, "lam": 3.0, "gate": "gnc"}, ours=True, worlds=("corrupted",)
        ),
        Contender("pairucb+forget", "pairucb", _FORGETTING, {**_LINEAR, "eta": 3.0}, worlds=("drifting",)),
        Contender("pairucb+robust", "pairucb", _grid("robust", _ROBUST, "eta", (0.1, 1.0)), {"model": "full"}),
        Contender(
            "pairucb+aurora", "pairucb", _grid("gate_eta", (1.0, 3.0, 10.0, 30.0), "eta", (0.1, 1.0)),
            {"model": "full", "gate": "aurora"},
        ),
    )
}  # fmt: skip
"""ttg and gnc with forgetting or robust weights are their rules over the linear estimator, which is our own link."""


@cache
def published() -> Mapping[str, Contender]:
    """Every rival that has its own paper, as that paper runs it, by name.

    >>> from conquer.study.arena.worlds import SETTINGS
    >>> published()["maxinp (published)"].options(SETTINGS["linear"])
    {'published': True, 'horizon': 1000}
    """
    rows = [(row, row.published) for row in table().values() if row.published is not None]
    entries = (Contender(f"{row.name} (published)", row.name, paper.grid, published=True) for row, paper in rows)
    return {entry.name: entry for entry in entries}


def contender(name: str) -> Contender:
    """The contender of this name.

    >>> contender("gnt").ours, contender("pairucb+aurora").algorithm
    (True, 'pairucb')
    """
    if name in VARIANTS or name in published():
        return {**VARIANTS, **published()}[name]
    row = find(name)
    # The two baselines of the paper have their own papers, and choosing at random belongs to no group.
    return Contender(name, name, row.grid, ours=row.policy is not None and row.published is None and "lam" in row.takes)


def names_of(algorithms: tuple[str, ...]) -> tuple[str, ...]:
    """The distinct names of the contenders in these names and groups.

    "paper" and "rivals" include their variants, "published" are the rivals as their papers run them, "all" everything.

    >>> names_of(("ttg", "rucb"))
    ('ttg', 'rucb')
    """
    names = tuple(dict.fromkeys(name for given in algorithms for name in _expanded(given)))
    entered = {**VARIANTS, **published()}
    if absent := unknown(name for name in names if name not in entered):
        there = (*table(), *offered(), *entered)
        raise ValueError(f"unknown algorithm {', '.join(absent)}; algorithms are {', '.join(there)}")
    return names


def _expanded(name: str) -> tuple[str, ...]:
    if name == "published":
        return tuple(published())
    if name not in groups():
        return (name,)
    variants = tuple(v.name for v in VARIANTS.values() if name in ("all", "paper" if v.ours else "rivals"))
    return (*(tuple(published()) if name in ("all", "rivals") else ()), *groups()[name], *variants)
