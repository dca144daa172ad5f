"""What `believe` brings along: its parameters, the columns it adds, and the learners that cannot have it."""

from collections.abc import Mapping, Sequence
from typing import Any

from conquer.checks import whole
from conquer.kernels.rounds import settings as st

BELIEVE = ("voters", "people")
NAMES = ("voters", "trust", "nuisance", "judges")
MOST_PLACES, MOST_JUDGES = 4096, 64
TASTE = 0.5
"""The scale of a judge's copies: its taste is thought to differ from people's by half of what tastes come to."""


def columns(dim: int, parameters: Mapping[str, Any]) -> int:
    """How many features the model of a learner with these parameters has: its own, the side's, voters' and judges'.

    >>> columns(10, {"lam": 1.0}), columns(10, {"believe": "voters", "voters": 64, "nuisance": [], "judges": 2})
    (10, 75)
    """
    if parameters.get("believe") is None:
        return dim
    places = whole("voters", parameters["voters"], 0, MOST_PLACES)
    judges = whole("judges", parameters["judges"], 0, MOST_JUDGES)
    return dim + 1 + places + judges * len(copied(dim, parameters["nuisance"]))


def copied(dim: int, nuisance: Any) -> Sequence[int]:
    """The features of which every judge has a copy of its own."""
    if isinstance(nuisance, str) and nuisance == "all":
        return range(dim)
    if isinstance(nuisance, str) or not isinstance(nuisance, Sequence):
        raise ValueError(f"nuisance must be 'all' or a list of features, got {nuisance!r}")
    features = [whole("nuisance", feature, 0, dim - 1) for feature in nuisance]
    if len(set(features)) != len(features):
        raise ValueError(f"nuisance must name different features, got {features}")
    return sorted(features)


def completed(row: Any, model: str, values: Mapping[str, Any], belief: Mapping[str, Any]) -> dict[str, Any]:
    """`belief` with its defaults, or the reason why this row of the table cannot be told whom to believe."""
    if belief["believe"] not in BELIEVE:
        raise ValueError(f"believe must be None, 'voters' or 'people', got {belief['believe']!r}")
    if row.policy is None or row.policy.reply != st.REPLY_DUEL:
        raise ValueError(f"believe= is for CONQUER's rules, which show two items and learn; not for {row.name}")
    if values.get("projection") is not None:
        raise ValueError("believe= goes without projection: the side's columns are no item's, so no slab bounds them")
    if model == "kernel" and values["kernel"] != "linear":
        raise ValueError(f"believe= adds columns to a row: only kernel='linear' adds them up, got {values['kernel']!r}")
    taste = "all" if belief["believe"] == "people" else ()
    return {"voters": 64, "trust": 1.0, "nuisance": taste, "judges": 2, **belief}
