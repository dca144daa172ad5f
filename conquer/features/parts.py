"""Items that have several parts (`conquer.items`): what is learnt of them, and how it makes one row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from conquer.features.hashing import Grams
from conquer.items import PARTS, Part, is_whole, learnt_of
from conquer.kernels.text import hashing as kernel
from conquer.types import Floats, Ints

LearntKind = Literal["texts", "dicts", "vectors", "parts"]
_SINGLE: dict[Part, LearntKind] = {"text": "texts", "features": "dicts", "vector": "vectors"}


@dataclass(frozen=True, slots=True, eq=False)
class ItemParts:
    """Items by what is learnt of them: texts and features, or vectors and features; None where a part is not learnt."""

    text: Sequence[str] | None = None
    features: Sequence[Mapping[str, Any]] | None = None
    vector: Any = None


def of_vectors(kind: LearntKind, values: Any) -> bool:
    """Whether these items are vectors, with features or alone."""
    return kind == "vectors" or (kind == "parts" and values.vector is not None)


def learnt(items: Sequence[Mapping[str, Any]], learn: Sequence[Part] | None = None) -> tuple[LearntKind, Any]:
    """The kind of what is learnt of items with parts, and what it is: all of them have the same parts.

    >>> learnt([{"text": "good tea", "vector": [0.5], "label": "A"}])
    ('vectors', [[0.5]])
    """
    parts: tuple[Part, ...] = ()
    for number, item in enumerate(items):
        if not is_whole(item) and not (isinstance(item, Mapping) and isinstance(item.get("text"), str)):
            raise TypeError(f"item {number} must have text, features or vector as item 0 has, got {item!r:.80}")
        try:
            found = learnt_of([part for part in PARTS if item.get(part) is not None], learn)
        except ValueError as error:
            raise ValueError(f"item {number} {error}") from None
        if parts and found != parts:
            raise TypeError(
                f"all items must have the same parts: item 0 has {', '.join(parts)}, item {number} {', '.join(found)}"
            )
        parts = found
    columns = {part: [item[part] for item in items] for part in parts}
    if len(parts) == 1:
        return _SINGLE[parts[0]], columns[parts[0]]
    return "parts", ItemParts(**columns)


def together(one: Grams, other: Grams) -> Grams:
    """The features of the same K items from two parts, each part of length 1, so that neither drowns the other.

    >>> from conquer.features.dicts import hash_dicts
    >>> both = together(hash_dicts([{"a": 3.0, "b": 4.0}]), hash_dicts([{"brand": "x"}]))
    >>> sorted(both.weights.tolist())
    [0.6, 0.8, 1.0]
    """
    rows = [(part.indptr, part.hashes, of_length_1(part.indptr, part.weights)) for part in (one, other)]
    return Grams(*row_by_row(*rows))


def of_length_1(indptr: Ints, data: Floats) -> Floats:
    """The same rows scaled to length 1, a copy; a row of zeros stays."""
    own = data.copy()
    kernel.to_unit(indptr, own)
    return own


def row_by_row(one: tuple[Ints, Any, Floats], other: tuple[Ints, Any, Floats]) -> tuple[Ints, Any, Floats]:
    """Rows that begin as one's and go on as the other's."""
    indptr = one[0] + other[0]
    names, values = np.empty(int(indptr[-1]), one[1].dtype), np.empty(int(indptr[-1]))
    for (rising, part, data), ahead in ((one, other[0][:-1]), (other, one[0][1:])):
        places = np.arange(data.size) + np.repeat(ahead, np.diff(rising))
        names[places], values[places] = part, data
    return indptr, names, values
