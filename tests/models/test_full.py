"""Thompson sampling on the full model: drawn in the smaller of items and features, and never for long."""

import numpy as np
import pytest

from conquer.learners import conquer
from conquer.registry import make


def learnt(dim):
    """A gnt learner on a full model after a few answers."""
    learner, rng = make("gnt", dim=dim, model="full", lam=0.5), np.random.default_rng(0)
    for _ in range(4):
        learner.model.update(rng.normal(size=(2, dim)), {0: 0.5, 1: -0.5}, 1.0)
    return learner


def draws(learner, X, count):
    """(count, K): what the rule maximises less the scores, over the root of eta."""
    rows, values = [], np.empty((count, len(X)))
    for ticket in range(count):
        rows.append(learner.choose(X, ticket))
        values[ticket] = learner.model.work[2, : len(X)] - learner.model.work[0, : len(X)]
    return values / np.sqrt(learner.eta)


@pytest.mark.parametrize("items", [3, 6])
def test_draws_have_the_models_covariance_in_either_space(items):
    learner, X = learnt(4), np.random.default_rng(1).normal(size=(items, 4))
    X[items - 1] = X[0]
    values = draws(learner, X, 4000)
    assert (values[:, items - 1] == values[:, 0]).all()
    gaps = X[1:] - X[0]
    expected = gaps @ learner.model.inverse @ gaps.T
    np.testing.assert_allclose(np.cov((values[:, 1:] - values[:, :1]).T), expected, atol=0.12 * expected.max())


def test_many_items_of_few_features_need_no_square_of_the_items():
    learner = learnt(4)
    X = np.random.default_rng(2).normal(size=(5000, 4))
    learner.learn(X, learner.choose(X, 1), 1.0)
    assert learner.model.work.nbytes < 5000 * 8 * 10


def test_a_draw_that_would_take_long_is_refused(monkeypatch):
    learner, X = learnt(4), np.random.default_rng(3).normal(size=(5, 4))
    monkeypatch.setattr(conquer, "MOST_DRAWN", 3)
    for rows in (X, X[:4]):
        with pytest.raises(ValueError, match=f"draw in 4 dimensions for {len(rows)} items and 4 features.*at most 3"):
            learner.choose(rows, 1)
    assert len(learner.choose(X[:3], 1).shown) == 2
