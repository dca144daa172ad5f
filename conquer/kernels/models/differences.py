"""Rows less another row, entry by entry, so that what two items share cancels before anything is squared.

v_i + v_p - 2 cross would lose all digits of a contrast where both items have one large feature. The other row's
features are found by a small table of places of its own: nothing is written into the model. The kernel model has a
dense row for them, which is scratch.
"""

import numpy as np

from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import ONE, feature, row_bounds
from conquer.kernels.rounds import primitives

_GOLDEN, _WORD = np.uint64(0x9E3779B97F4A7C15), np.uint64(64)
_SPARSE, _LONG = 16, 4096


@part
def index_row(items, i):
    """(slots, ids, shift) for `place`: the place of every feature of row i, from 1, by a hash; the ids by place.

    Few slots are used, so that nearly every search ends where it begins; of a long row a quarter, for its size.
    """
    start, stop = row_bounds(items, i)
    count = np.int64(stop - start)
    bits = 3
    while (1 << bits) < (_SPARSE if count < _LONG else 4) * count:
        bits += 1
    slots, ids = np.zeros(1 << bits, np.int32), np.empty(count + 1, np.uint32)
    shift, mask = _WORD - np.uint64(bits), np.uint64((1 << bits) - 1)
    ids[0] = 0
    for j in range(start, stop):
        r = feature(items, j)
        slot = (np.uint64(r) * _GOLDEN) >> shift
        while slots[slot] != 0:
            slot = (slot + ONE) & mask
        slots[slot] = j - start + ONE
        ids[j - start + ONE] = r
    return slots, ids, shift


@part
def place(slots, ids, shift, r):
    """The place of feature r in the row that was indexed, 0 for none."""
    slot = (np.uint64(r) * _GOLDEN) >> shift
    n = np.uint32(slots[slot])
    # One test, nearly never true: whether there is a place at all would be a coin for the processor to guess.
    while (n != 0) & (ids[n] != r):
        slot = (slot + ONE) & np.uint64(slots.size - 1)
        n = np.uint32(slots[slot])
    return np.uint64(n)


@part
def by_place(items, i):
    """(n + 1,): the values of row i by place; place 0 stands for no feature, and is 0."""
    start, stop = row_bounds(items, i)
    values = np.empty(stop - start + ONE)
    values[0] = 0.0
    for j in range(start, stop):
        values[j - start + ONE] = items.data[j]
    return values


@part
def meet(others, start, stop, dense):
    """||y - x||^2 over the features of y, entries start to stop of others, and how many of them x has: x is scattered.

    Small enough to become part of its caller: called, it would take longer than its sum.
    """
    total = 0.0
    met = np.int64(0)
    for j in range(start, stop):
        value = dense[feature(others, j)]
        gap = others.data[j] - value
        total += gap * gap
        met += value != 0.0
    return total, met


@part
def beyond(total, others, start, stop, items, i, dense):
    """The sum of `meet` and what row i of items, which is scattered and stays so, has beside y."""
    first, last = row_bounds(items, i)
    for j in range(start, stop):
        dense[feature(others, j)] = 0.0
    for j in range(first, last):
        rest = dense[feature(items, j)]
        total += rest * rest
        dense[feature(items, j)] = items.data[j]
    return total


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


@part
def item_distance(items, i, j, dense):
    """||phi_i - phi_j||^2, phi_j being scattered."""
    start, stop = row_bounds(items, i)
    first, last = row_bounds(items, j)
    total, met = meet(items, start, stop, dense)
    return beyond(total, items, start, stop, items, j, dense) if met < np.int64(last - first) else total


@part
def combined(items, weights, dense):
    """u = sum_k weights[k] phi_k as one row: what the items share has cancelled in it and is not there."""
    size = 0
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        size += np.int64(stop - start)
        for j in range(start, stop):
            dense[feature(items, j)] += weights[k] * items.data[j]
    indptr, indices, data = np.zeros(2, np.int64), np.empty(size, np.int32), np.empty(size)
    end = 0
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            value = dense[feature(items, j)]
            if value != 0.0:
                indices[end], data[end] = items.indices[j], value
                dense[feature(items, j)] = 0.0
                end += 1
    indptr[1] = end
    return primitives.Items(indptr, indices, data, np.zeros(1, np.int64))
