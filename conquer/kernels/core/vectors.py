"""The longest loops as operations on whole vectors, for the interpreted tier.

Every number is the result of the same additions and products in the same order as in the loops, so the bits are theirs.
"""

import math

import numpy as np


def _four_sums(products):
    """The sum of the products as the loops have it: in four accumulators, and the rest in the first."""
    rows = products.size // 4
    sums = np.zeros((rows + 1, 4))
    sums[1:] = products[: 4 * rows].reshape(rows, 4)
    a, b, c, d = np.add.accumulate(sums)[-1]
    for product in products[4 * rows :]:
        a += product
    return (a + b) + (c + d)


def _sum(products):
    """Their sum, one after the other from zero."""
    sums = np.zeros(products.size + 1)
    sums[1:] = products
    return np.add.accumulate(sums)[-1]


def inner(x, y, size):
    return _four_sums(x[:size] * y[:size])


def dot(items, i, vector):
    row = items.rows[i]
    entries = slice(items.indptr[row], items.indptr[row + 1])
    return _four_sums(items.data[entries] * vector[items.indices[entries]])


def dot_column_ahead(items, i, after, table, column):
    return dot(items, i, table[:, column])


def announce(items, i):
    """A hint to the processor has no interpreted form."""


def announce_features(items, i, table):
    """A hint to the processor has no interpreted form."""


def stored_dot(stored, q, dense):
    entries = slice(stored.indptr[q], stored.indptr[q + 1])
    return _sum(stored.data[entries] * dense[stored.indices[entries]])


def meet(others, start, stop, dense):
    values = dense[others.indices[start:stop]]
    gaps = others.data[start:stop] - values
    return _sum(gaps * gaps), np.count_nonzero(values)


def scatter(items, i, dense):
    row = items.rows[i]
    entries = slice(items.indptr[row], items.indptr[row + 1])
    dense[items.indices[entries]] = items.data[entries]


def unscatter(items, i, dense):
    row = items.rows[i]
    dense[items.indices[items.indptr[row] : items.indptr[row + 1]]] = 0.0


def exponential(x):
    """e^x, infinite where it is too large for a number."""
    return math.exp(x) if x < 709.0 else math.inf


def variance(items, i, cells, column):
    row = items.rows[i]
    entries = slice(items.indptr[row], items.indptr[row + 1])
    data = items.data[entries]
    return _four_sums(data * data * cells[items.indices[entries], column])


def quadratic(u, v):
    return _four_sums(u * u * v)


def add_rows(matrix, x, y, count):
    """y[i] += matrix x[i] for `count` vectors."""
    four = matrix.shape[0] // 4 * 4
    for i in range(count):
        target = y[i]
        for j in range(0, four, 4):
            p, q, r, s = x[i, j : j + 4]
            if p != 0.0 or q != 0.0 or r != 0.0 or s != 0.0:
                sums = (((target + p * matrix[j]) + q * matrix[j + 1]) + r * matrix[j + 2]) + s * matrix[j + 3]
                target[:] = sums
        for j in range(four, matrix.shape[0]):
            target += x[i, j] * matrix[j]


def fill_zero(vector):
    vector[:] = 0.0


def shrink(matrix, gain, confidence):
    """matrix -= gain gain' / (1 + confidence), exactly symmetric."""
    gain /= math.sqrt(1.0 + confidence)
    for i in np.flatnonzero(gain):
        row = matrix[i]
        row -= gain[i] * gain
        row[i] = max(0.0, row[i])
