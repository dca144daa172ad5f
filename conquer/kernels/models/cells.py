"""The cells of the diagonal model, w and 1/A side by side, four features to a cache line, and how features are matched.

Where features of several items must be matched, the cell of 1/A itself holds the place of the feature in a small list
meanwhile: 1/A is never negative, so a negative number is a place. A model takes no memory for that, and no cache line.
A row has each feature once, which `SparseRows` sees to.
"""

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import ONE, TWO, ZERO, feature, row_bounds

W, INVERSE = range(2)
BELOW = np.uint64(2**29 - 1)  # the bits of a float64 that a float32 has not
OF_W, OF_INVERSE = np.uint64(0), np.uint64(35)  # which bits of a hash round which column


@part
def width(items, i):
    """How many entries row i has."""
    start, stop = row_bounds(items, i)
    return stop - start


@part
def place(inverse):
    """The place that a cell holds, 0 for none, without a branch."""
    return np.uint64(np.int64(max(-inverse, 0.0)))


@part
def gather(items, i, weight, cells, u, v, spare, last):
    """Append weight * phi_i and 1/A to the lists whose last place is `last`; returns phi_i . w.

    A cell of 1/A then holds minus the place of its feature. A feature that is there already moves to its new place and
    leaves 0 at the old one. `spare` is a list as long as the others, overwritten.
    """
    data = items.data
    start, stop = row_bounds(items, i)
    shift = last + ONE - start
    a = b = 0.0
    two = start + (stop - start) // TWO * TWO
    for j in range(start, two, TWO):
        r, s = feature(items, j), feature(items, j + ONE)
        a += data[j] * cells[r, W]
        v[shift + j] = cells[r, INVERSE]
        cells[r, INVERSE] = -float(np.int64(shift + j))
        b += data[j + ONE] * cells[s, W]
        v[shift + j + ONE] = cells[s, INVERSE]
        cells[s, INVERSE] = -float(np.int64(shift + j + ONE))
    for j in range(two, stop):
        r = feature(items, j)
        a += data[j] * cells[r, W]
        v[shift + j] = cells[r, INVERSE]
        cells[r, INVERSE] = -float(np.int64(shift + j))
    for j in range(start, stop):
        u[shift + j] = weight * data[j]
    if last > ZERO:
        # First which they are, without a branch: whether a feature is shared is a coin for the processor to guess.
        count = ZERO
        for n in range(last + ONE, last + ONE + stop - start):
            spare[count] = float(np.int64(n))
            count += ONE if v[n] < 0.0 else ZERO
        for k in range(count):
            n = np.uint64(np.int64(spare[k]))
            old = place(v[n])
            u[n] += u[old]
            v[n] = v[old]
            u[old] = v[old] = 0.0
    return a + b


@part
def release(items, cells, v):
    """Put 1/A back; what has moved within the list is put at its last place."""
    n = ONE
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            cells[feature(items, j), INVERSE] = v[n + j - start]
        n += stop - start


@part
def dither(items, values, count, shift):
    """Round values by place to float32, up or down by chance, so that the mean of many roundings is exact.

    The chance is a hash of the feature and of how many steps there were: made again, the same step has the same bits.
    """
    n = ONE
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            noise = (tickets.word(count, np.uint64(feature(items, j))) >> shift) & BELOW
            bits = np.float64(values[n]).view(np.uint64)
            values[n] = np.uint64((bits + noise) & ~BELOW).view(np.float64)
            n += ONE


@part
def add_weights(items, cells, sign, values):
    """values by place += sign * w."""
    n = ONE
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            values[n] += sign * cells[feature(items, j), W]
            n += ONE


@part
def empty_lists(items):
    """Lists (3, n) with room for the entries of some items from place 1 on; place 0 stands for no feature, and is 0."""
    size = ONE
    for k in range(items.rows.size):
        size += width(items, k)
    lists = np.empty((3, size))
    lists[0, 0] = lists[1, 0] = lists[2, 0] = 0.0
    return lists
