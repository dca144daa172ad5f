"""A round's items as dense arrays, and all their differences."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.rows import SparseRows
from conquer.types import Floats


def all_features(X: SparseRows) -> Floats:
    """The items as a (K, D) array."""
    columns, values, where = _entries(X)
    dense = np.zeros((len(X), X.dim))
    dense[where, columns] = values
    return dense


def over_features(X: SparseRows) -> tuple[Any, Floats]:
    """The ids of the features these items have, rising, and the items as a (K, ids) array.

    >>> ids, items = over_features(SparseRows([0, 1, 2], [7, 2], [1.0, 3.0], dim=9))
    >>> ids.tolist(), items.tolist()
    ([2, 7], [[0.0, 1.0], [3.0, 0.0]])
    """
    ids, values, where = _entries(X)
    columns, places = np.unique(ids, return_inverse=True)
    dense = np.zeros((len(X), columns.size))
    dense[where, places] = values
    return columns, dense


def between(items: Floats, squares: Callable[[Floats], Floats]) -> Floats:
    """(K, K): `squares` of the differences x_i - x_j, 0 on the diagonal.

    From the differences themselves: g_ii + g_jj - 2 g_ij would cancel where the items share a large value.

    >>> between(np.array([[1e9, 0.0], [1e9, 0.5]]), lambda Z: (Z * Z).sum(axis=1)).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    rows, columns = pairs(len(items))
    found = np.zeros((len(items), len(items)))
    step = max(1, 2**18 // max(1, items.shape[1]))  # a few megabytes at a time, however many items
    for start in range(0, rows.size, step):
        i, j = rows[start : start + step], columns[start : start + step]
        found[i, j] = found[j, i] = squares(items[i] - items[j])
    return found


@lru_cache(maxsize=64)
def pairs(count: int) -> tuple[Any, Any]:
    """All i < j below `count`, as two arrays."""
    return np.triu_indices(count, 1)


def _entries(X: SparseRows) -> tuple[NDArray[np.int32], Floats, NDArray[np.int64]]:
    """(feature ids, values, item) of every stored entry of these items."""
    starts = X.indptr[X.rows]
    lengths = X.indptr[X.rows + 1] - starts
    where = np.repeat(np.arange(len(X)), lengths)
    if (lengths == lengths[0]).all():  # dense items, the arena's: half the time
        flat = (starts[:, None] + np.arange(lengths[0])).ravel()
        return X.indices[flat], X.data[flat], where
    ends = np.cumsum(lengths)
    flat = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
    return X.indices[flat], X.data[flat], where
