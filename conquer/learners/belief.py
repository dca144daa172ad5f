"""What `believe` brings along: its parameters, the columns it adds, and the learners that cannot have it."""

from collections.abc import Mapping
from typing import Any

from conquer.checks import whole
from conquer.kernels.rounds import settings as st

BELIEVE = ("voters", "people")
DEFAULTS: Mapping[str, Any] = {"voters": 64, "trust": 1.0, "nuisance": ()}
MOST_PLACES, MOST_NUISANCE = 4096, 64


def columns(dim: int, parameters: Mapping[str, Any]) -> int:
    """How many features the model of a learner with these parameters has: its own, the side's and the voters'.

    >>> columns(10, {"lam": 1.0}), columns(10, {"believe": "voters", "voters": 64, "nuisance": []})
    (10, 75)
    """
    if parameters.get("believe") is None:
        return dim
    places = whole("voters", parameters["voters"], 0, MOST_PLACES)
    return dim + 1 + places * (1 + len(parameters["nuisance"]))


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
    return {**DEFAULTS, **belief}
