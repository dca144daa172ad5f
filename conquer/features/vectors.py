"""Rows of vectors: with features beside them, and with products with a context that is a vector of the same length."""

from typing import Any

import numpy as np

from conquer.features.hashing import Entries, Grams, hashed
from conquer.features.items import entries, vector_rows
from conquer.features.parts import of_length_1, row_by_row
from conquer.rows import SparseRows

LARGEST_DIM = 2**31 - 1


def vector_entries(vectors: Any, features: Grams | None, dim: int) -> tuple[Entries, int]:
    """(the entries of vectors and of features beside them, the vectors' length).

    >>> from conquer.features.dicts import hash_dicts
    >>> vector_entries([[0.5, 0.0]], hash_dicts([{"brand": "x"}]), dim=3)[0][1].tolist()
    [0, 2]
    """
    rows = vector_rows(vectors, dim)
    width = rows.dim
    if features is None:
        return entries(rows), width
    if width >= dim:
        raise ValueError(
            f"features beside vectors of {width} numbers need columns of their own: dim must exceed {width}, "
            f"got {dim}; or leave them out with learn=['vector']"
        )
    return _beside(entries(rows), hashed(features, dim - width), width), width


def _beside(vectors: Entries, features: Entries, width: int) -> Entries:
    """Features get the columns from `width` on, and each of the two parts is of length 1."""
    moved = features[1] + np.int32(width)
    own, others = (of_length_1(rows[0], rows[2]) for rows in (vectors, features))
    return row_by_row((vectors[0], vectors[1], own), (features[0], moved, others))


def matched(vectors: Entries, width: int, context: SparseRows, dim: int) -> Entries:
    """Vectors, and number by number their products with a context's vector of the same length, in as many columns more.

    Both are scaled to length 1 first. The products are then as long as the vectors on average, and their sum is the
    cosine of the two, times the root of how many numbers the context has that are not zero.

    >>> rows = np.array([0, 2]), np.array([0, 1], np.int32), np.array([3.0, 4.0])
    >>> [part.tolist() for part in matched(rows, 2, SparseRows([0, 1], [1], [5.0], 2), dim=4)]
    [[0, 3], [0, 1, 3], [0.6, 0.8, 0.8]]
    """
    if context.dim != width:
        raise ValueError(f"matching products are of vectors of one length, got {width} and {context.dim} numbers")
    if dim < 2 * width:
        raise ValueError(
            f"products of {width} numbers with {width} need as many columns more: dim {2 * width}, got {dim}"
        )
    rising, columns, _ = vectors
    own = of_length_1(rising, vectors[2])
    about = np.zeros(width)
    about[context.indices] = of_length_1(context.indptr, context.data) * np.sqrt(context.indices.size)
    products = own * about[columns]
    there = products != 0
    kept = np.concatenate([[0], np.cumsum(there)])[rising]
    return row_by_row((rising, columns, own), (kept, columns[there] + np.int32(width), products[there]))
