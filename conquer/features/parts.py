"""Items that have several parts (`conquer.items`): what is learnt of them, and how it makes one row."""

from typing import Any

import numpy as np

from conquer.features.hashing import Grams
from conquer.kernels.text import hashing as kernel
from conquer.types import Floats, Ints


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
