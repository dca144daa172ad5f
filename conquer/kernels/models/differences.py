"""Rows less another row, entry by entry, so that what two items share cancels before anything is squared.

v_i + v_p - 2 cross would lose all digits of a contrast where both items have one large feature. The other row's
features are found by a small table of places of its own: nothing is written into the model.
"""

import numpy as np

from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import ONE, feature, row_bounds
from conquer.kernels.rounds import primitives

GOLDEN, _WORD = np.uint64(0x9E3779B97F4A7C15), np.uint64(64)
_SPARSE, _LONG = 16, 4096


@part
def slot_bits(count):
    """The size of a table of hashes for `count` features, as a power of two.

    Few slots are used, so that nearly every search ends where it begins. A long row fills a quarter of them, to save
    memory.
    """
    bits = 3
    while (1 << bits) < (_SPARSE if count < _LONG else 4) * count:
        bits += 1
    return bits


@part
def index_row(items, i):
    """(slots, ids, shift) for `place`: the place of every feature of row i, from 1, by a hash; the ids by place."""
    start, stop = row_bounds(items, i)
    count = np.int64(stop - start)
    bits = slot_bits(count)
    slots, ids = np.zeros(1 << bits, np.int32), np.empty(count + 1, np.uint32)
    shift, mask = _WORD - np.uint64(bits), np.uint64((1 << bits) - 1)
    ids[0] = 0
    for j in range(start, stop):
        r = feature(items, j)
        slot = (np.uint64(r) * GOLDEN) >> shift
        while slots[slot] != 0:
            slot = (slot + ONE) & mask
        slots[slot] = j - start + ONE
        ids[j - start + ONE] = r
    return slots, ids, shift


@part
def place(slots, ids, shift, r):
    """The place of feature r in the row that was indexed, 0 for none."""
    slot = (np.uint64(r) * GOLDEN) >> shift
    n = np.uint32(slots[slot])
    # One test, nearly never true: a branch on whether there is a place would be mispredicted half of the time.
    while (n != 0) & (ids[n] != r):
        slot = (slot + ONE) & np.uint64(slots.size - 1)
        n = np.uint32(slots[slot])
    return np.uint64(n)


@part
def by_place(items, i):
    """(n + 1,): the values of row i by place; place 0 means no feature, and is 0."""
    start, stop = row_bounds(items, i)
    values = np.empty(stop - start + ONE)
    values[0] = 0.0
    for j in range(start, stop):
        values[j - start + ONE] = items.data[j]
    return values


@part
def less_row(items, pivot):
    """The items phi_i - phi_p as rows of their own: those of phi_i, then what only phi_p has; row p is empty."""
    count = items.rows.size
    slots, ids, shift = index_row(items, pivot)
    values = by_place(items, pivot)
    first, _ = row_bounds(items, pivot)
    size = 0
    for i in range(count):
        start, stop = row_bounds(items, i)
        size += np.int64(stop - start) + values.size
    indptr, indices, data = np.zeros(count + 1, np.int64), np.empty(size, np.int32), np.empty(size)
    left = np.empty(values.size)
    end = np.uint64(0)
    for i in range(count):
        if i != pivot:
            for n in range(left.size):
                left[n] = values[n]
            start, stop = row_bounds(items, i)
            for j in range(start, stop):
                n = place(slots, ids, shift, feature(items, j))
                indices[end], data[end] = items.indices[j], items.data[j] - values[n]
                left[n] = 0.0
                end += ONE
            for n in range(1, left.size):
                if left[n] != 0.0:
                    indices[end], data[end] = items.indices[first + np.uint64(n) - ONE], -left[n]
                    end += ONE
        indptr[i + 1] = end
    return primitives.Items(indptr, indices, data, np.arange(count))
