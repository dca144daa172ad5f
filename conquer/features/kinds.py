"""The kinds of features: what each makes of a count, and whether a column's rarity matters."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["binary", "counts", "tfidf", "idf"]


@dataclass(frozen=True, slots=True)
class Weighing:
    """What a kind makes of a count: 1 instead of it where `presence`, times the rarity of its column where `rarity`."""

    presence: bool
    rarity: bool


KINDS: dict[Kind, Weighing] = {
    "binary": Weighing(presence=True, rarity=False),
    "counts": Weighing(presence=False, rarity=False),
    "tfidf": Weighing(presence=False, rarity=True),
    "idf": Weighing(presence=True, rarity=True),
}


def checked_kind(kind: Kind) -> Kind:
    """`kind` when it is one of the four."""
    if kind not in tuple(KINDS):  # what comes from a file may not be hashable
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return kind
