"""A row written out in full for a while, so that others are multiplied with it entry by entry."""

import numpy as np

from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import feature, row_bounds


@part
def scatter(items, i, dense):
    start, stop = row_bounds(items, i)
    for j in range(start, stop):
        dense[feature(items, j)] = items.data[j]


@part
def unscatter(items, i, dense):
    start, stop = row_bounds(items, i)
    for j in range(start, stop):
        dense[feature(items, j)] = 0.0


@part
def stored_dot(stored, q, dense):
    total = 0.0
    for j in range(np.uint64(stored.indptr[q]), np.uint64(stored.indptr[q + 1])):
        total += stored.data[j] * dense[feature(stored, j)]
    return total
