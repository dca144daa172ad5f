"""The diagonal model against dense numpy: features that items share, any number of items, pairs on show."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from conquer.kernels.models.diagonal import INVERSE
from conquer.models.diagonal import Diagonal
from conquer.registry import make
from conquer.rows import SparseRows

DIM = 6


@some.composite
def any_rows(draw):
    """One to four items over six features, entries in any order, some items without any."""
    count = draw(some.integers(1, 4))
    item = some.dictionaries(some.integers(0, DIM - 1), some.floats(-1.0, 1.0))
    items = [draw(item) for _ in range(count)]
    indptr = np.cumsum([0, *map(len, items)])
    ids = [r for item in items for r in item]
    values = [x for item in items for x in item.values()]
    return SparseRows(indptr, np.array(ids, np.int32), np.array(values, float), DIM)


def dense(rows):
    X = np.zeros((len(rows), DIM))
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    np.add.at(X, (owner, rows.indices), rows.data)
    return X


def moved(update, w, A, u, target):
    """(w, A) after a step, straight from the definitions."""
    loss, now = target - u @ w, A + u * u
    if update == "implicit":
        return w + loss / (1.0 + u @ (u / A)) * u / A, now
    if update == "margin":
        return w + loss * u / now, now
    return (A * w + target * u) / now, now


@settings(max_examples=150)
@given(
    steps=some.lists(some.tuples(any_rows(), some.integers(0, 3)), min_size=1, max_size=6),
    update=some.sampled_from(["implicit", "margin", "coordinate"]),
    lam=some.sampled_from([0.7, 1.0, 5.0]),
    data=some.data(),
)
def test_any_items_move_it_as_the_definitions_say(steps, update, lam, data):
    model = Diagonal(DIM, lam=lam, update=update)
    w, A = np.zeros(DIM), np.full(DIM, lam)
    for rows, pivot in steps:
        X, pivot = dense(rows), pivot % len(rows)
        weights = data.draw(some.lists(some.floats(-1, 1), min_size=len(X), max_size=len(X)))
        if any(weights):
            model.update(rows, weights, 0.5)
            u = np.array(weights) @ X
            w, A = moved(update, w, A, u, 0.5)
        np.testing.assert_allclose(model.weights(), w, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.precision(), A, rtol=1e-12)
        difference = X - X[pivot]
        np.testing.assert_allclose(model.contrasts(rows, pivot), (difference**2 / A).sum(axis=1), atol=1e-12)
        assert (model.table[:, INVERSE] > 0.0).all()  # no place of a list is left behind


def test_the_precision_of_many_steps_is_their_sum():
    model = Diagonal(1)
    values = np.random.default_rng(0).random(20_000) * 0.1
    for value in values:
        model.update([[value]], [1.0], 1.0)
    assert model.precision()[0] == pytest.approx(math.fsum([1.0, *values**2]), rel=1e-12)


@pytest.mark.parametrize("update", ["implicit", "margin", "coordinate"])
def test_a_step_that_diverges_leaves_everything_as_it_was(update):
    model = Diagonal(4, update=update)
    X = np.array([[1.0, 0.5, 0.0, 0.2], [0.0, 0.5, 1.0, 0.0]])
    model.update(X, {0: 0.5, 1: -0.5}, 1.0)
    model.table[0, 0] = 1e200
    before, stats = model.table.copy(), model.stats.copy()
    with pytest.raises(ArithmeticError, match="diverged"):
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
    np.testing.assert_array_equal(model.table, before)
    np.testing.assert_array_equal(model.stats, stats)


def test_what_was_saved_is_restored():
    learner = make("gnc", dim=5)
    X = np.random.default_rng(0).normal(size=(3, 5))
    choice = learner.choose(X, 1)
    learner.learn(X, choice, 1.0)
    plain = make("gnc", dim=5)
    plain.restore(learner.arrays())
    np.testing.assert_array_equal(plain.model.table, learner.model.table)


@pytest.mark.parametrize("ids", [[3, 1], [1, 1], [-1, 1], [1, 5]])
def test_a_file_with_ids_that_do_not_rise_within_the_features_is_refused(ids):
    values = {"weights": np.zeros(2), "inverse": np.full(2, 0.5), "stats": np.zeros(3)}
    with pytest.raises(ValueError, match=r"feature ids must rise within \[0, 5\)"):
        Diagonal(5).restore({"ids": np.array(ids, np.int32), **values})
