"""The floor under every method: read the rows of each round once and do nothing with them."""

import numpy as np

from conquer.kernels.core.sparse import FOUR, ONE, THREE, TWO, announce, row_bounds
from conquer.kernels.core.tiers import jit
from conquer.kernels.rounds.primitives import Items


@jit
def read_rows(indptr, indices, data, sets, ahead):
    """A checksum of all entries of all rounds' rows, in four accumulators as a score would be.

    `ahead`: the row after next is fetched meanwhile, as the scores do it.
    """
    everything = Items(indptr, indices, data, sets.ravel())
    last = everything.rows.size - 1
    a = b = c = d = 0.0
    ids = np.int32(0)
    for i in range(everything.rows.size):
        if ahead:
            announce(everything, min(i + 2, last))
        start, stop = row_bounds(everything, i)
        four = start + (stop - start) // FOUR * FOUR
        for j in range(start, four, FOUR):
            a += data[j]
            b += data[j + ONE]
            c += data[j + TWO]
            d += data[j + THREE]
            ids ^= indices[j] ^ indices[j + ONE] ^ indices[j + TWO] ^ indices[j + THREE]
        for j in range(four, stop):
            a += data[j]
            ids ^= indices[j]
    return (a + b) + (c + d) + ids
