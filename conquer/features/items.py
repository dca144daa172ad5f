"""x"""

from typing import Any

import numpy as np

from conquer.features.hashing import Entries
from conquer.rows import SparseRows, as_rows, refuse_masked


def vector_rows(items: Any, dim: int) -> SparseRows:
    """Vectors as rows with their own columns; they may be shorter than `dim`.

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


def entries(rows: SparseRows) -> Entries:
    """The rows' arrays, free to be changed."""
    return rows.indptr.copy(), rows.indices.copy(), rows.data.copy()
