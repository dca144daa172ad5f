"""Widths of pairs on show: the same as the others' until a pair is counted, in memory and in files."""

import numpy as np
import pytest

from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.registry import make
from conquer.saving import dumps, loads

X = np.random.default_rng(0).normal(size=(3, 4))
KINDS = [Full, Diagonal, lambda dim: Diagonal(dim, storage="float32")]


def teach(model, count=5):
    rng = np.random.default_rng(1)
    for turn in range(count):
        model.update(rng.normal(size=(2, 4)), {0: 0.5, 1: -0.5}, (-1.0) ** turn)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_before_the_first_counted_pair_widths_go_on_shrinking(kind):
    plain, ready = teach(kind(4)), kind(4)
    ready.begin_exposing()
    teach(ready)
    np.testing.assert_array_equal(ready.variances(X), plain.variances(X))


def test_a_merge_before_the_first_counted_pair_moves_both():
    plain, ready = teach(Full(4)), Full(4)
    ready.begin_exposing()
    ready.merge(plain)
    np.testing.assert_allclose(ready.variances(X), plain.variances(X), rtol=1e-12)


@pytest.mark.parametrize("model", [{"model": "full"}, {}, {"storage": "float32"}])
def test_a_learner_saved_before_the_first_counted_pair_goes_on_bit_for_bit(model):
    learner = make("gnc", dim=4, **model)
    learner.begin_exposing()
    teach(learner.model)
    twin, *_ = loads(dumps(learner))
    late = make("gnc", dim=4, **model)
    late.begin_exposing()
    late.restore(learner.arrays())
    for one in (learner, twin, late):
        one.begin_exposing()
        choice = one.choose(X, 7)
        one.learn(X, one.expose(X, choice), 1.0)
        teach(one.model, 3)
    for other in (twin, late):
        np.testing.assert_array_equal(other.model.variances(X), learner.model.variances(X))
        for name, array in learner.arrays().items():
            np.testing.assert_array_equal(other.arrays()[name], array)
