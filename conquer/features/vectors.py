"""Rows of vectors: features beside them, products with a context's vector, and vectors from installed encoders."""

from typing import Any

import numpy as np

from conquer import plugins
from conquer.features.hashing import Entries, Grams, hashed, row_by_row, scaled
from conquer.rows import SparseRows, as_rows, refuse_masked
from conquer.types import Floats

LARGEST_DIM = 2**31 - 1


def vector_rows(items: Any, dim: int = LARGEST_DIM) -> SparseRows:
    """Vectors as rows with their own columns, at most `dim`.

    >>> vector_rows([[0.0, 2.0]], dim=10).indices.tolist()
    [1]
    """
    refuse_masked(items)
    if not hasattr(items, "shape"):
        try:
            items = np.array(items, np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"vectors must be lists of numbers of one length: {error}") from None
    if len(items.shape) != 2:
        raise ValueError(f"vectors must have two dimensions (items, features), got shape {items.shape}")
    if not 1 <= items.shape[1] <= dim:
        raise ValueError(f"vectors must have 1 to dim = {dim} features, got {items.shape[1]}")
    return as_rows(items, items.shape[1]).packed()


def vector_entries(vectors: Any, features: Grams | None, dim: int) -> tuple[Entries, int]:
    """The entries of vectors, and of features in the columns after them, and the length of the vectors.

    With features, each of the two parts is scaled to length 1.

    >>> from conquer.features.hashing import hash_dicts
    >>> vector_entries([[0.5, 0.0]], hash_dicts([{"brand": "x"}]), dim=3)[0][1].tolist()
    [0, 2]
    """
    rows = vector_rows(vectors, dim)
    width = rows.dim
    if features is None:
        return (rows.indptr.copy(), rows.indices.copy(), rows.data.copy()), width
    if width >= dim:
        raise ValueError(
            f"features beside vectors of {width} numbers need columns of their own: dim must exceed {width}, "
            f"got {dim}; or leave them out with learn=['vector']"
        )
    indptr, indices, data = hashed(features, dim - width)
    own = rows.indptr, rows.indices, scaled(rows.indptr, rows.data)
    return row_by_row(own, (indptr, indices + np.int32(width), scaled(indptr, data))), width


def matched(vectors: Entries, width: int, context: SparseRows, dim: int) -> Entries:
    """Vectors, and their products number by number with a context's vector of the same length in the next columns.

    Both are scaled to length 1 first. The products are then as long as the vectors on average, and their sum is the
    cosine of the two times the root of the number of non-zeros of the context.

    >>> rows = np.array([0, 2]), np.array([0, 1], np.int32), np.array([3.0, 4.0])
    >>> [part.tolist() for part in matched(rows, 2, SparseRows([0, 1], [1], [5.0], 2), dim=4)]
    [[0, 3], [0, 1, 3], [0.6, 0.8, 0.8]]
    """
    if context.dim != width:
        raise ValueError(f"matching products are of vectors of one length, got {width} and {context.dim} numbers")
    if dim < 2 * width:
        raise ValueError(f"for products of {width} numbers dim must be at least {2 * width}, got {dim}")
    rising, columns, _ = vectors
    own = scaled(rising, vectors[2])
    factors = np.zeros(width)
    factors[context.indices] = scaled(context.indptr, context.data) * np.sqrt(context.indices.size)
    products = own * factors[columns]
    nonzero = products != 0
    kept = np.concatenate([[0], np.cumsum(nonzero)])[rising]
    return row_by_row((rising, columns, own), (kept, columns[nonzero] + np.int32(width), products[nonzero]))


def check_encoder(name: Any, kind: str, columns: str) -> None:
    """A ValueError if no installed package offers this encoder, or settings of words would be ignored."""
    if (kind, columns) != ("binary", "hashing"):
        raise ValueError(f"kind and columns cannot be set with an encoder, got {kind}, {columns} and {name!r}")
    _encoder(name)


def encoded(name: str, items: list[Any]) -> Floats:
    """(K, D): the vectors that an encoder makes of texts or dicts, checked."""
    plugin = _encoder(name)
    try:
        found = np.asarray(plugin.value(items), dtype=np.float64)
    except Exception as error:
        raise plugin.error(f"cannot make vectors: {type(error).__name__}: {error}") from error
    if found.ndim != 2 or len(found) != len(items) or not np.isfinite(found).all():
        raise plugin.error(f"must return {len(items)} finite vectors of one length, got shape {found.shape}")
    return found


def _encoder(name: Any) -> plugins.Plugin:
    plugin = plugins.find("encoders", name) if isinstance(name, str) else None
    if plugin is None:
        there = ", ".join(plugins.names("encoders")) or "none"
        raise ValueError(f"encoder must be the name of an installed encoder ({there}), got {name!r}")
    if not callable(plugin.value):
        raise plugin.error(f"must be a function of a list of items, got {plugin.value!r:.80}")
    return plugin
