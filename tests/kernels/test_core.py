"""What makes the kernels fast changes no result: the table of normals, rows fetched ahead, repeated features."""

import numpy as np
import pytest

from benchmarks.workload import zipf_items
from conquer.kernels.core import sparse, tickets
from conquer.kernels.core.kernel import toolchain
from conquer.kernels.rounds.primitives import Items
from conquer.rows import SparseRows

numba = toolchain()


@numba.njit
def _normals(ticket, counters, out):
    for j in range(out.size):
        out[j] = tickets.table_normal(ticket, counters[j])


def test_table_normals_are_the_quantiles():
    counters = np.arange(200_000, dtype=np.uint64)
    table, exact = np.empty(counters.size), np.empty(counters.size)
    _normals(np.uint64(11), counters, table)
    tickets.ticket_normals(np.uint64(11), counters, exact)
    assert (np.abs(exact) > 3.5).any()
    # Far out in the upper half 1 - p is rounded to 2^-53 before the quantile is taken; the mirrored table is not.
    rounding = 2.0**-53 * np.sqrt(2 * np.pi) * np.exp(exact**2 / 2)
    assert (np.abs(table - exact) <= 1e-13 + rounding).all()


@numba.njit
def _deviates(whole, out):
    for j in range(out.size):
        out[j] = tickets.deviate(whole[j])


def test_the_table_reaches_the_rarest_draws():
    rng = np.random.default_rng(0)
    octaves = 2 ** rng.integers(0, 52, 5000)
    lower = np.concatenate([[0, 1, 2, 2**52 - 1], octaves + rng.integers(0, octaves)]).astype(np.uint64)
    below, above = np.empty(lower.size), np.empty(lower.size)
    _deviates(lower, below)
    _deviates(np.uint64(2**53 - 1) - lower, above)
    exact = [tickets.quantile((float(whole) + 0.5) * 2.0**-53) for whole in lower]
    np.testing.assert_allclose(below, exact, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(above, -below)


@numba.njit
def _dots(items, table, plain, ahead):
    for i in range(items.rows.size):
        plain[i] = sparse.dot(items, i, table[:, 1])
        ahead[i] = sparse.dot_column_ahead(items, i, items.rows, table, 1)


@pytest.mark.parametrize("nonzeros", [1, 3, 4, 7, 30])
def test_fetching_ahead_keeps_the_bits(nonzeros):
    X = zipf_items(9, nonzeros, 50, seed=0)
    table = np.random.default_rng(0).normal(size=(50, 4))
    plain, ahead = np.empty(9), np.empty(9)
    _dots(Items(X.indptr, X.indices, X.data, X.rows), table, plain, ahead)
    np.testing.assert_array_equal(plain, ahead)
    np.testing.assert_allclose(plain, X.dense() @ table[:, 1], rtol=1e-13)


@pytest.mark.parametrize("size", [2, 300, 5000])
def test_repeated_features_are_found_in_any_order(size):
    rng = np.random.default_rng(size)
    ids = rng.permutation(100 * size)[:size].astype(np.int32)
    whole = SparseRows([0, size, 2 * size], np.concatenate([ids, ids]), np.ones(2 * size), 100 * size)
    np.testing.assert_array_equal(whole.indices, np.concatenate([ids, ids]))
    again = ids.copy()
    again[rng.integers(1, size)] = again[0]
    summed = SparseRows([0, size, 2 * size], np.concatenate([ids, again]), np.ones(2 * size), 100 * size)
    assert summed.indices.size == 2 * size - 1
    assert summed.dense()[1].max() == 2.0 if size < 1000 else summed.data.max() == 2.0
