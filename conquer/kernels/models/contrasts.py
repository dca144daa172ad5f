"""Widths of differences in the diagonal model: (phi_i - phi_p)' A^-1 (phi_i - phi_p), entry by entry.

What an item shares with item p is found through a table of hashes of p's features, and nothing is written into the
model. Whether a feature is shared is a coin for the processor to guess, so nowhere does a branch depend on it. Lists
are rows of two arrays and are read by two numbers: a row taken out would be one more array to count holders of.
"""

import numpy as np

from conquer.kernels.core.hints import borrowed, keep
from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import FOUR, ONE, THREE, TWO, ZERO, feature, row_bounds
from conquer.kernels.models.cells import INVERSE, width

_GOLDEN, _WORD = np.uint64(0x9E3779B97F4A7C15), np.uint64(64)
_SPARSE, _LONG = 16, 4096
VALUES, OWN, LEFT, TERMS = range(4)
IDS, LINKS, FOUND, PLACES = range(4)


@part
def contrasts(cells, items, pivot, out):
    """out[i] = (phi_i - phi_p)' A^-1 (phi_i - phi_p)."""
    most = ZERO
    for i in range(items.rows.size):
        most = max(most, width(items, i))
    size = np.int64(width(items, pivot))
    bits = 3
    while (1 << bits) < (_SPARSE if size < _LONG else 4) * size:
        bits += 1
    marks, heads = np.zeros(1 << bits, np.uint8), np.empty(1 << bits, np.uint32)
    lists, numbers = np.empty((4, most + ONE)), np.empty((4, most + ONE), np.uint32)
    room = borrowed((marks, heads, lists, numbers))
    shift = _WORD - np.uint64(bits)
    index_pivot(cells, items, pivot, room, shift)
    contrasts_with(cells, items, pivot, room, shift, out)
    keep((marks, heads, lists, numbers))


@part
def index_pivot(cells, items, pivot, room, shift):
    """The pivot's features by place, from 1: their values, x_r^2 / A_r, ids, and the next one of the same hash.

    `marks` says which hashes there are, `heads` the last place of each. Place 0 stands for no feature, and is 0.
    """
    marks, heads, lists, numbers = room
    lists[VALUES, 0] = lists[OWN, 0] = lists[LEFT, 0] = 0.0
    numbers[LINKS, 0] = 0
    start, stop = row_bounds(items, pivot)
    for j in range(start, stop):
        n, r, value = j - start + ONE, feature(items, j), items.data[j]
        lists[VALUES, n], numbers[IDS, n] = value, r
        lists[OWN, n] = lists[LEFT, n] = value * value * cells[r, INVERSE]
        slot = (np.uint64(r) * _GOLDEN) >> shift
        numbers[LINKS, n] = heads[slot] * marks[slot]
        heads[slot], marks[slot] = n, 1


@part
def contrasts_with(cells, items, pivot, room, shift, out):
    """One row after the other in one function: called for each, it would count the holders of its arrays each time."""
    marks, heads, lists, numbers = room
    data = items.data
    size = width(items, pivot) + ONE
    for i in range(items.rows.size):
        if i == pivot:
            continue
        start, stop = row_bounds(items, i)
        # TERMS as if nothing were shared, and which entries may be: their number grows by a 0 or a 1.
        count = ZERO
        for j in range(start, stop):
            r = feature(items, j)
            lists[TERMS, j - start] = data[j] * data[j] * cells[r, INVERSE]
            numbers[FOUND, count] = j - start
            count += np.uint64(marks[(np.uint64(r) * _GOLDEN) >> shift])
        for k in range(count):
            j = start + numbers[FOUND, k]
            r = feature(items, j)
            n = np.uint64(heads[(np.uint64(r) * _GOLDEN) >> shift])
            link = np.uint64(numbers[LINKS, n])
            n = link ^ ((link ^ n) * np.uint64(numbers[IDS, n] == r))
            numbers[IDS, 0] = r  # so that one test, nearly never true, is enough
            while numbers[IDS, n] != r:
                n = np.uint64(numbers[LINKS, n])
            numbers[PLACES, k] = n
            gap = data[j] - lists[VALUES, n]
            lists[TERMS, j - start] = gap * gap * cells[r, INVERSE]
            lists[LEFT, n] = 0.0
        a = b = c = d = 0.0
        four = (stop - start) // FOUR * FOUR
        for n in range(ZERO, four, FOUR):
            a += lists[TERMS, n]
            b += lists[TERMS, n + ONE]
            c += lists[TERMS, n + TWO]
            d += lists[TERMS, n + THREE]
        for n in range(four, stop - start):
            a += lists[TERMS, n]
        e = f = g = h = 0.0
        four = size // FOUR * FOUR
        for n in range(ZERO, four, FOUR):
            e += lists[LEFT, n]
            f += lists[LEFT, n + ONE]
            g += lists[LEFT, n + TWO]
            h += lists[LEFT, n + THREE]
        for n in range(four, size):
            e += lists[LEFT, n]
        out[i] = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for k in range(count):
            n = np.uint64(numbers[PLACES, k])
            lists[LEFT, n] = lists[OWN, n]
    out[pivot] = 0.0
