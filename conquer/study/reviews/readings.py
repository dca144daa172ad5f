"""What the paper leaves open, read in one way or another: named readings, and the grid points that each one tries."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conquer.study.reviews.spec import Spec

_LITERAL: dict[str, Any] = {
    "features": "binary", "ngrams": (1, 2), "model": "diagonal", "update": "coordinate", "lam": 1.0, "tuning": "eta",
    "tune_at": "run", "hashing": None, "balance": "stars",
}  # fmt: skip

READINGS: dict[str, dict[str, Any]] = {
    "paper": _LITERAL,
    "margin": _LITERAL | {"update": "margin"},
    "ours": _LITERAL | {"features": "idf", "update": "implicit", "tuning": "all", "tune_at": "several"},
}
"""{name: fields of `Spec`}. `paper` is the paper's line with A_0 = I, `margin` its table's form of the update."""

PRESETS = {"small": ("paper", "ours"), "paper": ("paper",), "ours": ("ours",)}
"""{name: the readings it runs}."""

TUNINGS = ("eta", "all")
TUNED_AT = ("run", "several")
ETAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The eight points of every rule that has an eta, where nothing else is tuned."""


def reading_of(spec: "Spec") -> str:
    """The reading's name, or the nearest one's with everything that differs from it: a name cannot lie.

    What all readings of a study share (data, judge, passes, seed, sizes) is no part of it: the report's head has it.

    >>> from conquer.study.reviews.spec import Spec
    >>> reading_of(Spec(features="idf")), reading_of(Spec(features="tfidf")), reading_of(Spec(**READINGS["paper"]))
    ('ours', 'ours, features tfidf', 'paper')
    """
    others = {
        name: [field for field, value in fields.items() if getattr(spec, field) != value]
        for name, fields in READINGS.items()
    }
    name = min(others, key=lambda each: len(others[each]))
    return ", ".join([name, *(f"{field} {_plain(getattr(spec, field))}" for field in others[name])])


def in_order(names: Iterable[str]) -> list[str]:
    """Names of readings in the order of `READINGS`, each once.

    >>> in_order(["ours", "paper, ngrams 2", "paper"])
    ['paper', 'paper, ngrams 2', 'ours']
    """
    return sorted(set(names), key=lambda name: ([*READINGS].index(name.split(", ")[0]), name))


def _plain(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


def points(spec: "Spec", algorithm: str) -> list[dict[str, Any]]:
    """The grid points of an algorithm: the registry's, or with tuning "eta" those of its own parameter alone.

    Then `lam` is the specification's for all. Other systems have no such reading: they keep their grids.

    >>> from conquer.study.reviews.spec import preset
    >>> points(preset("paper")[0], "ttg"), points(preset("paper")[0], "gnc")[0], len(points(preset("paper")[0], "gnc"))
    ([{'lam': 1.0}], {'eta': 0.01, 'lam': 1.0}, 8)
    """
    from conquer.registry import find, groups

    row = find(algorithm)
    names = {parameter.name for parameter in row.parameters}
    if spec.tuning == "all" or algorithm not in groups()["paper"] or "lam" not in names:
        return [dict(point) for point in row.grid]
    if "eta" not in names:
        return [{"lam": spec.lam}]
    return [{"eta": eta, "lam": spec.lam} for eta in ETAS]
