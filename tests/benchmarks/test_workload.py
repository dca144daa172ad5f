"""The benchmark's items have distinct features that follow Zipf's law."""

import numpy as np
import pytest

from benchmarks.workload import draw_rounds, zipf_items


@pytest.mark.parametrize(("items", "nonzeros", "dim"), [(50, 10, 40), (300, 150, 10_000), (20, 7, 7), (3, 1, 1)])
def test_items_have_distinct_features_and_unit_length(items, nonzeros, dim):
    X = zipf_items(items, nonzeros, dim, seed=3)
    dense = X.dense()
    assert dense.shape == (items, dim)
    assert ((dense != 0).sum(axis=1) == nonzeros).all()
    np.testing.assert_allclose((dense**2).sum(axis=1), 1.0)


def test_frequencies_follow_zipf():
    X = zipf_items(20_000, 20, 100_000, seed=0)
    counts = np.bincount(X.indices, minlength=100_000)
    # A decade of ranks holds the same share of all entries, but for the first, where an item cannot repeat a feature.
    shares = [counts[10**k : 10 ** (k + 1)].sum() for k in range(2, 5)]
    assert max(shares) / min(shares) < 1.1


def test_rounds_have_distinct_items():
    rounds = draw_rounds(zipf_items(12, 3, 50, seed=0), 200, 10, seed=0)
    assert all(len(set(members)) == 10 for members in rounds.sets.tolist())


def test_more_nonzeros_than_features_are_refused():
    with pytest.raises(ValueError, match=r"nonzeros must be in \[1, 5\], got 6"):
        zipf_items(2, 6, 5, seed=0)
