"""Widths of differences in the diagonal model: (phi_i - phi_p)' A^-1 (phi_i - phi_p), entry by entry.

What an item shares with item p is found through a table of hashes of p's features, and nothing is written into the
model. Whether a feature is shared is a coin for the processor to guess, so nowhere does a branch depend on it.
"""

import numpy as np

from conquer.kernels.core.compile import part
from conquer.kernels.core.hints import borrowed, keep
from conquer.kernels.core.sparse import FOUR, ONE, THREE, TWO, ZERO, feature, row_bounds
from conquer.kernels.models.cells import INVERSE, width

_GOLDEN, _WORD = np.uint64(0x9E3779B97F4A7C15), np.uint64(64)
_SPARSE, _LONG = 16, 4096
VALUES, OWN, LEFT, SHARED = range(4)
IDS, LINKS, FOUND, EITHER = range(4)


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
    lists, numbers = np.empty((4, most + ONE)), np.empty((4, most + TWO), np.uint32)
    room = borrowed((marks, heads, lists, numbers))
    contrasts_with(cells, items, pivot, room, _WORD - np.uint64(bits), out)
    keep((marks, heads, lists, numbers))


@part
def contrasts_with(cells, items, pivot, room, shift, out):
    lists = room[2]
    index_pivot(cells, items, pivot, room, shift)
    for n in range(np.uint64(lists.shape[1])):
        lists[SHARED, n] = 0.0
    size = width(items, pivot) + ONE
    for i in range(items.rows.size):
        if i == pivot:
            out[i] = 0.0
        else:
            for n in range(size):
                lists[LEFT, n] = lists[OWN, n]
            count = match(items, i, room, shift)
            out[i] = contrast(items, i, cells, lists[SHARED], lists[LEFT], size)
            for k in range(count):
                lists[SHARED, np.uint64(room[3][FOUND, k])] = 0.0


@part
def index_pivot(cells, items, pivot, room, shift):
    """The pivot's features by place, from 1: their values, x_r^2 / A_r, ids, and the next one of the same hash.

    `marks` says which hashes there are, `heads` the last place of each. Place 0 stands for no feature, and is 0.
    """
    marks, heads, lists, numbers = room
    values, own, ids, links = lists[VALUES], lists[OWN], numbers[IDS], numbers[LINKS]
    values[0] = own[0] = 0.0
    ids[0] = links[0] = 0
    start, stop = row_bounds(items, pivot)
    for j in range(start, stop):
        n, r, value = j - start + ONE, feature(items, j), items.data[j]
        values[n], own[n], ids[n] = value, value * value * cells[r, INVERSE], r
        slot = (np.uint64(r) * _GOLDEN) >> shift
        links[n] = heads[slot] * marks[slot]
        heads[slot], marks[slot] = n, 1


@part
def match(items, i, room, shift):
    """Note what row i shares with the pivot: in SHARED by entry; LEFT loses it. Returns how many are FOUND, or so."""
    marks, heads, lists, numbers = room
    values, left, shared = lists[VALUES], lists[LEFT], lists[SHARED]
    ids, links, found, either = numbers[IDS], numbers[LINKS], numbers[FOUND], numbers[EITHER]
    start, stop = row_bounds(items, i)
    count = ZERO
    for j in range(start, stop):
        found[count] = j - start
        count += np.uint64(marks[(np.uint64(feature(items, j)) * _GOLDEN) >> shift])
    for k in range(count):
        e = np.uint64(found[k])
        r = feature(items, start + e)
        n = np.uint64(heads[(np.uint64(r) * _GOLDEN) >> shift])
        either[0], either[1] = links[n], n
        n = np.uint64(either[np.uint64(ids[n] == r)])  # not by a condition: the compiler would make a branch of it
        ids[0] = r  # so that one test, nearly never true, is enough
        while ids[n] != r:
            n = np.uint64(links[n])
        shared[e] = values[n]
        left[n] = 0.0
    return count


@part
def contrast(items, i, cells, shared, left, size):
    """(phi_i - x)' A^-1 (phi_i - x): `shared` is x by entry of row i, `left` x_r^2 / A_r of what only x has."""
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        n = j - start
        one, two = data[j] - shared[n], data[j + ONE] - shared[n + ONE]
        three, last = data[j + TWO] - shared[n + TWO], data[j + THREE] - shared[n + THREE]
        a += one * one * cells[feature(items, j), INVERSE]
        b += two * two * cells[feature(items, j + ONE), INVERSE]
        c += three * three * cells[feature(items, j + TWO), INVERSE]
        d += last * last * cells[feature(items, j + THREE), INVERSE]
    for j in range(four, stop):
        one = data[j] - shared[j - start]
        a += one * one * cells[feature(items, j), INVERSE]
    e = f = g = h = 0.0
    four = size // FOUR * FOUR
    for n in range(ZERO, four, FOUR):
        e += left[n]
        f += left[n + ONE]
        g += left[n + TWO]
        h += left[n + THREE]
    for n in range(four, size):
        e += left[n]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))
