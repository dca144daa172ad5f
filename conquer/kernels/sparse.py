"""Dot products over sparse rows: four accumulators in entry order, summed in one fixed way."""

from conquer.kernels.compiling import inline


@inline
def row_bounds(items, i):
    row = items.rows[i]
    return items.indptr[row], items.indptr[row + 1]


@inline
def dot(items, i, vector):
    """phi_i . vector."""
    indices, data = items.indices, items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // 4 * 4
    for j in range(start, four, 4):
        a += data[j] * vector[indices[j]]
        b += data[j + 1] * vector[indices[j + 1]]
        c += data[j + 2] * vector[indices[j + 2]]
        d += data[j + 3] * vector[indices[j + 3]]
    for j in range(four, stop):
        a += data[j] * vector[indices[j]]
    return (a + b) + (c + d)


@inline
def dot_column(items, i, table, column):
    """phi_i . table[:, column]."""
    indices, data = items.indices, items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // 4 * 4
    for j in range(start, four, 4):
        a += data[j] * table[indices[j], column]
        b += data[j + 1] * table[indices[j + 1], column]
        c += data[j + 2] * table[indices[j + 2], column]
        d += data[j + 3] * table[indices[j + 3], column]
    for j in range(four, stop):
        a += data[j] * table[indices[j], column]
    return (a + b) + (c + d)


@inline
def inner(x, y, size):
    """x . y over the first `size` entries of two vectors."""
    a = b = c = d = 0.0
    four = size // 4 * 4
    for j in range(0, four, 4):
        a += x[j] * y[j]
        b += x[j + 1] * y[j + 1]
        c += x[j + 2] * y[j + 2]
        d += x[j + 3] * y[j + 3]
    for j in range(four, size):
        a += x[j] * y[j]
    return (a + b) + (c + d)
