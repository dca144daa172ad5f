"""Dot products over sparse rows: four accumulators in entry order, summed in one fixed way; rows fetched ahead.

Positions and feature ids are unsigned here: for signed ones numba adds a test and a select to every access, which
costs more than the arithmetic and keeps loops from vectorising.
"""

from typing import Any

import numpy as np

from conquer.kernels.core.kernel import overload, part, when_loaded

ZERO, ONE, TWO, THREE, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
LINE = np.uint64(8)

# Into the second-level cache: hints for the first hold one of its few buffers each until the line is there, and a
# round asks for more lines than the first level has room for.
_READ, _SECOND_LEVEL, _DATA = 0, 2, 1


def prefetch(array, row):
    """Start to load the line of `array[row]` (its first entry); any unsigned `row` is safe, even beyond the end."""


def _compiled() -> None:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def hint(typing_context: Any, array: Any, row: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            stride = builder.extract_value(view.strides, 0)
            offset = builder.mul(context.cast(builder, arguments[1], signature.args[1], types.uint64), stride)
            address = builder.gep(builder.bitcast(view.data, ir.IntType(8).as_pointer()), [offset])
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
            builder.call(fetch, [address, word(_READ), word(_SECOND_LEVEL), word(_DATA)])
            return context.get_dummy_value()

        return types.void(array, row), generate

    started: Any = hint
    overload(prefetch, lambda array, row: lambda array, row: started(array, row))


when_loaded(_compiled)


@part
def row_bounds(items, i):
    """The first entry of row i and the one after its last, unsigned."""
    row = items.rows[i]
    return np.uint64(items.indptr[row]), np.uint64(items.indptr[row + 1])


@part
def feature(items, j):
    """The id of entry j, unsigned."""
    return np.uint32(items.indices[j])


@part
def dot(items, i, vector):
    """phi_i . vector."""
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        a += data[j] * vector[feature(items, j)]
        b += data[j + ONE] * vector[feature(items, j + ONE)]
        c += data[j + TWO] * vector[feature(items, j + TWO)]
        d += data[j + THREE] * vector[feature(items, j + THREE)]
    for j in range(four, stop):
        a += data[j] * vector[feature(items, j)]
    return (a + b) + (c + d)


@part
def row_ahead(rows, after, i):
    """Row i of `rows` and then of `after`; beyond their end the last one. Neither is empty."""
    # Both are read: choosing between arrays would add reference counting.
    one, two = rows[min(i, rows.size - 1)], after[max(0, min(i - rows.size, after.size - 1))]
    return one if i < rows.size else two


@part
def dot_column_ahead(items, i, after, table, column):
    """phi_i . table[:, column], the bits of `dot`.

    Meanwhile the next row's lines, the row after that and the bounds of one later still are fetched; `after` are the
    rows that follow the items.
    """
    data, indptr = items.data, items.indptr
    start, stop = row_bounds(items, i)
    next_row = row_ahead(items.rows, after, i + 1)
    ahead, end = np.uint64(indptr[next_row]), np.uint64(indptr[next_row + 1])
    far = np.uint64(indptr[row_ahead(items.rows, after, i + 2)])
    prefetch(indptr, np.uint64(row_ahead(items.rows, after, i + 4)))
    a = b = c = d = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        a += data[j] * table[feature(items, j), column]
        b += data[j + ONE] * table[feature(items, j + ONE), column]
        c += data[j + TWO] * table[feature(items, j + TWO), column]
        d += data[j + THREE] * table[feature(items, j + THREE), column]
        if ahead + THREE < end:
            prefetch(table, feature(items, ahead))
            prefetch(table, feature(items, ahead + ONE))
            prefetch(table, feature(items, ahead + TWO))
            prefetch(table, feature(items, ahead + THREE))
            ahead += FOUR
        prefetch(items.indices, far)
        prefetch(data, far)
        far += FOUR
    for j in range(four, stop):
        a += data[j] * table[feature(items, j), column]
    for j in range(ahead, end):
        prefetch(table, feature(items, j))
    return (a + b) + (c + d)


@part
def prefetch_row(items, i):
    """Start to load row i."""
    start, stop = row_bounds(items, i)
    for j in range(start, stop, LINE):
        prefetch(items.indices, j)
        prefetch(items.data, j)


@part
def prefetch_features(items, i, table):
    """Start to load the table's lines for row i."""
    start, stop = row_bounds(items, i)
    for j in range(start, stop):
        prefetch(table, feature(items, j))


@part
def inner(x, y, size):
    """x . y over the first `size` entries of two vectors."""
    a = b = c = d = 0.0
    stop = np.uint64(size)
    four = stop // FOUR * FOUR
    for j in range(np.uint64(0), four, FOUR):
        a += x[j] * y[j]
        b += x[j + ONE] * y[j + ONE]
        c += x[j + TWO] * y[j + TWO]
        d += x[j + THREE] * y[j + THREE]
    for j in range(four, stop):
        a += x[j] * y[j]
    return (a + b) + (c + d)
