"""Who enters the arena: every algorithm of the registry, and options of some as contenders of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conquer.registry import find, groups, make, table
from conquer.study.arena.worlds import Setting

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contender:
    """An algorithm with what is fixed and an eight-point grid.

    `ours`: whether it counts as one of ours. `worlds`: the only ones where it differs from the plain algorithm, or
    None for all.
    """

    name: str
    algorithm: str
    grid: tuple[Point, ...]
    fixed: Point = field(default_factory=dict)
    covariance: str = "on-answer"
    ours: bool = False
    worlds: tuple[str, ...] | None = None

    def fits(self, setting: Setting) -> bool:
        """Whether it can be run in this world and has a point there."""
        if self.worlds is not None and setting.name not in self.worlds:
            return False
        return setting.fixed or not getattr(make(self.algorithm, dim=2), "fixed_arms", False)

    def options(self, setting: Setting) -> dict[str, Any]:
        """The model it is given in a world: kernels where rewards are curved, else whole matrices, if it can."""
        row = find(self.algorithm)
        if "model" in self.fixed:
            return dict(self.fixed)
        wanted = "kernel" if setting.kernel else "full"
        model = wanted if wanted in row.models else "full" if "full" in row.models else row.models[0]
        scaled = model == "kernel" and any(p.name == "scale" for p in row.parameters)
        return {"model": model, **({"scale": 4.0} if scaled else {}), **self.fixed}


_LINEAR = {"model": "full", "estimator": "linear"}
_FORGET, _ROBUST = (0.98, 0.99, 0.995, 0.998), (0.05, 0.1, 0.2, 0.4)


def _counted_on_show(name: str) -> Contender:
    return Contender(f"{name}+on-show", name, find(name).grid, covariance="on-show", ours=True, worlds=("delayed",))


VARIANTS = {
    row.name: row
    for row in (
        *map(_counted_on_show, ("gnc", "gnu", "gnt", "ttu")),
        Contender(
            "ttg+forget",
            "toptwo",
            tuple({"forget": f, "lam": lam} for f in _FORGET for lam in (3.0, 30.0)),
            _LINEAR,
            ours=True,
            worlds=("drifting",),
        ),
        Contender(
            "gnc+forget",
            "ndb",
            tuple({"forget": f, "lam": lam} for f in _FORGET for lam in (3.0, 30.0)),
            {**_LINEAR, "eta": 6.0, "gate": "gnc", "gate_eta": 36.0},
            ours=True,
            worlds=("drifting",),
        ),
        Contender(
            "ttg+robust",
            "toptwo",
            tuple({"robust": r, "lam": lam} for r in _ROBUST for lam in (3.0, 30.0)),
            _LINEAR,
            ours=True,
            worlds=("corrupted",),
        ),
        Contender(
            "gnc+robust",
            "ndb",
            tuple({"robust": r, "eta": eta, "gate_eta": eta**2} for r in _ROBUST for eta in (2.0, 6.0)),
            {**_LINEAR, "lam": 3.0, "gate": "gnc"},
            ours=True,
            worlds=("corrupted",),
        ),
        Contender(
            "pairucb+forget",
            "pairucb",
            tuple({"forget": f, "lam": lam} for f in _FORGET for lam in (3.0, 30.0)),
            {**_LINEAR, "eta": 3.0},
            worlds=("drifting",),
        ),
        Contender(
            "pairucb+robust",
            "pairucb",
            tuple({"robust": r, "eta": eta} for r in _ROBUST for eta in (0.1, 1.0)),
            {"model": "full"},
        ),
        Contender(
            "pairucb+aurora",
            "pairucb",
            tuple({"gate_eta": g, "eta": eta} for g in (1.0, 3.0, 10.0, 30.0) for eta in (0.1, 1.0)),
            {"model": "full", "gate": "aurora"},
        ),
    )
}
"""ttg and gnc with forgetting or robust weights are their rules over the linear estimator, which is our own link."""


def contender(name: str) -> Contender:
    """The contender of this name.

    >>> contender("gnt").ours, contender("pairucb+aurora").algorithm
    (True, 'pairucb')
    """
    if name in VARIANTS:
        return VARIANTS[name]
    return Contender(name, name, find(name).grid, ours=name in groups()["paper"])


def names_of(algorithms: tuple[str, ...]) -> tuple[str, ...]:
    """The names that ("all",), ("rivals",) or ("paper",) stand for, each with its variants; others as they are.

    >>> names_of(("ttg", "rucb"))
    ('ttg', 'rucb')
    """
    group = algorithms[0] if len(algorithms) == 1 and algorithms[0] in groups() else None
    names = algorithms if group is None else groups()[group]
    if group in ("all", "rivals", "paper"):
        names += tuple(v.name for v in VARIANTS.values() if group in ("all", "paper" if v.ours else "rivals"))
    if unknown := [name for name in names if name not in table() and name not in VARIANTS]:
        raise ValueError(f"no algorithm {', '.join(unknown)}; there are {', '.join([*table(), *VARIANTS])}")
    return names
