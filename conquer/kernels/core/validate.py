"""Checks and conversions of outside arrays, so that no other kernel ever has to check a bound."""

import numpy as np

from conquer.kernels.core.kernel import part, sized

FINE, BAD_INDPTR, BAD_INDEX, NOT_FINITE, REPEATED = range(5)


@part
def repeats(indices, start, stop, seen):
    """Whether an index occurs twice among entries start to stop; `seen` is a hash table of entries, 2^n long.

    Entries of earlier rows have smaller numbers, so they count as free and nothing has to be cleared.
    """
    mask = seen.size - 1
    for j in range(start, stop):
        slot = ((int(indices[j]) * 2654435761) >> 15) & mask
        while seen[slot] >= start:
            if indices[seen[slot]] == indices[j]:
                return True
            slot = (slot + 1) & mask
        seen[slot] = j
    return False


@sized(lambda indptr, indices, *_: 2 * indices.size)
def check_rows(indptr, indices, data, dim):
    """(code, row): the first thing wrong with a sparse matrix and the row it is in; a repeated index last."""
    rows = indptr.size - 1
    if rows < 0 or indptr[0] < 0 or indptr[rows] > indices.size or indptr[rows] > data.size:
        return BAD_INDPTR, 0
    for i in range(rows):
        if indptr[i + 1] < indptr[i]:
            return BAD_INDPTR, i
    repeated = -1
    seen = np.full(512, -1)
    for i in range(rows):
        rising = True
        for j in range(indptr[i], indptr[i + 1]):
            if indices[j] < 0 or indices[j] >= dim:
                return BAD_INDEX, i
            if not np.isfinite(data[j]):
                return NOT_FINITE, i
            if j > indptr[i] and indices[j] <= indices[j - 1]:
                rising = False
        if not rising and repeated < 0:
            while seen.size < 2 * (indptr[i + 1] - indptr[i]):
                seen = np.full(2 * seen.size, -1)
            if repeats(indices, indptr[i], indptr[i + 1], seen):
                repeated = i
    if repeated >= 0:
        return REPEATED, repeated
    return FINE, 0


@sized(lambda dense, *_: dense.size)
def compress(dense, indptr, indices, data):
    """Write the non-zeros of a dense (K, D) array into room made for K * D; returns the first bad row or -1."""
    count = 0
    indptr[0] = 0
    for i in range(dense.shape[0]):
        for r in range(dense.shape[1]):
            value = dense[i, r]
            if value != 0.0:
                if not np.isfinite(value):
                    return i
                indices[count] = r
                data[count] = value
                count += 1
        indptr[i + 1] = count
    return -1


@sized(lambda sets, *_: sets.size)
def check_sets(sets, sizes, items):
    """Fill `sizes` with the number of items of each round; returns the first bad round or -1.

    A round is bad when it is empty, names a row outside [0, items), or has an item after a -1.
    """
    for t in range(sets.shape[0]):
        size = 0
        while size < sets.shape[1] and sets[t, size] != -1:
            if sets[t, size] < 0 or sets[t, size] >= items:
                return t
            size += 1
        for j in range(size, sets.shape[1]):
            if sets[t, j] != -1:
                return t
        if size == 0:
            return t
        sizes[t] = size
    return -1
