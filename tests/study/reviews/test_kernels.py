"""Test sets, draws and the ceiling against plain numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.kernels import reviews as testsets
from conquer.kernels import reviews as testsets_ridge
from conquer.rows import SparseRows
from conquer.tickets import tickets


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 20))
def test_shortfall_and_equal_pairs_by_hand(seed: int, items: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    scores, worths = rng.integers(0, 3, 8).astype(float), rng.integers(1, 6, 8) / 4.0
    sets = rng.integers(0, 8, (count, items))
    sizes = rng.integers(1, items + 1, count)
    total, equal, pairs = 0.0, 0, 0
    for row, size in zip(sets, sizes, strict=True):
        members = row[:size]
        top = members[scores[members] == scores[members].max()]
        total += worths[members].max() - worths[top].mean()
        same = worths[members][:, None] == worths[members]
        equal += (same.sum() - size) // 2
        pairs += size * (size - 1) // 2
    assert testsets.mean_shortfall(sets, sizes, scores, worths) == pytest.approx(total / count)
    assert testsets.equal_pairs(sets, sizes, worths) == pytest.approx(equal / max(pairs, 1))


def test_drawn_sets_are_distinct_and_even() -> None:
    pool = np.array([3, 5, 8, 9, 11, 20])
    sets = np.empty((60_000, 4), np.int64)
    testsets.draw_sets(pool, tickets(7, 0, 60_000), sets)
    assert (np.diff(np.sort(sets, axis=1)) > 0).all()
    for column in range(4):
        counts = np.array([(sets[:, column] == member).sum() for member in pool])
        assert abs(counts - 10_000).max() < 5 * np.sqrt(60_000 * 5 / 36)
    again = np.empty((10, 4), np.int64)
    testsets.draw_sets(pool, tickets(7, 0, 60_000)[100:110], again)
    assert np.array_equal(again, sets[100:110])


@pytest.mark.parametrize("seed", range(5))
def test_ridge_for_all_penalties_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.5)
    rows = np.sort(rng.choice(30, 20, replace=False))
    targets = rng.normal(size=20)
    penalties = np.array([0.03, 0.5, 1.0, 20.0])
    from conquer.rows import as_rows

    X: SparseRows = as_rows(dense, 12)
    duals = testsets_ridge.dual_coefficients(X.indptr, X.indices, X.data, rows, 12, targets, penalties, 1e-12, 500)
    for penalty, dual in zip(penalties, duals, strict=True):
        weights = testsets_ridge.primal_weights(X.indptr, X.indices, X.data, rows, 12, dual)
        exact = np.linalg.solve(dense[rows].T @ dense[rows] + penalty * np.eye(12), dense[rows].T @ targets)
        assert np.allclose(weights, exact, atol=1e-8)
        scores = testsets_ridge.row_scores(X.indptr, X.indices, X.data, np.arange(30), weights)
        assert np.allclose(scores, dense @ exact, atol=1e-7)
