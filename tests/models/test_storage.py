"""A diagonal model in float32: near the float64 one, half its memory, and the same promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import histories

from conquer.models.diagonal import Diagonal
from conquer.registry import make
from conquer.rows import Rounds
from conquer.saving import dumps, loads
from conquer.simulation import simulate
from conquer.tickets import stream, tickets
from conquer.types import Query

HALF_ULP = 2.0**-24
UPDATES = ("implicit", "margin", "coordinate")


@given(histories(), st.sampled_from([0.7, 1.0, 30.0]), st.sampled_from(UPDATES))
def test_float32_stays_within_its_rounding(history, lam, update):
    dim, steps = history
    wide, narrow = (Diagonal(dim, lam=lam, update=update, storage=name) for name in ("float64", "float32"))
    largest, growth = 1.0, 1.0
    for X, first, second, answer in steps:
        u = (X[first] - X[second]) / 2
        for model in (wide, narrow):
            model.update(X, {first: 0.5, second: -0.5}, answer)
        largest = max(largest, np.abs(wide.weights()).max())
        # How much a step can enlarge an error that w already has: |I - A^-1 u u'|, and 1 where the step contracts.
        growth *= 1.0 if update != "margin" else max(1.0, np.abs(1.0 - np.abs(u) @ np.abs(u) / lam))
    # Each step rounds w and 1/A once; random histories come to an eighth of this.
    count = len(steps)
    scale = 1.0 + max((np.abs(X).max() for X, *_ in steps), default=0.0) ** 2 * dim / lam
    bound = 8.0 * count * HALF_ULP * largest * scale * growth
    assert np.abs(narrow.weights() - wide.weights()).max() <= bound
    np.testing.assert_allclose(narrow.precision(), wide.precision(), rtol=4 * (count + 1) * HALF_ULP)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("size", [1.5e-4, 3e-4, 1e-2])
def test_many_small_steps_are_off_by_the_root_of_their_number(update, size):
    count, rng = 20_000, np.random.default_rng(4)
    entries, answers = rng.choice([-size, size], (count, 1, 2)), np.where(rng.random(count) < 0.7, 1.0, -1.0)
    wide, narrow = (Diagonal(2, update=update, storage=name) for name in ("float64", "float32"))
    for X, answer in zip(entries, answers.tolist(), strict=True):
        for model in (wide, narrow):
            model.update(X, {0: 1.0}, answer)
    # A rounding by chance has a deviation of at most half a unit, 2**-24 of the value, and they are independent: six
    # deviations. Rounded to the nearest, steps of 1.5e-4 would be lost, all of them.
    off = 6.0 * HALF_ULP * math.sqrt(count)
    np.testing.assert_allclose(narrow.precision(), wide.precision(), rtol=off)
    np.testing.assert_allclose(narrow.variances(np.eye(2)), 1.0 / wide.precision(), rtol=off)
    assert np.abs(narrow.weights() - wide.weights()).max() <= 2.0 * off * max(0.1, np.abs(wide.weights()).max())
    assert (
        np.abs((narrow.precision() - 1.0) / (wide.precision() - 1.0) - 1.0).max()
        <= off * (wide.precision() / (wide.precision() - 1.0)).max()
    )


def rounds(count=200, dim=40):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, dim)) * (rng.random((60, dim)) < 0.3)
    sets = np.array([rng.choice(60, 5, replace=False) for _ in range(count)])
    return Rounds(X, sets, rng.random(60) * 2 - 1)


@pytest.mark.parametrize("name", ["ttg", "gnc", "gnt", "confidit"])
def test_a_saved_one_goes_on_bit_for_bit(name):
    whole, first, second = rounds(), rounds(), make(name, dim=40, storage="float32", lam=0.7)
    simulate(second, first, seed=1)
    restored, *_ = loads(dumps(second))
    for learner in (second, restored):
        simulate(learner, whole, seed=2)
    np.testing.assert_array_equal(second.model.cells, restored.model.cells)


def test_call_by_call_equals_the_compiled_loop():
    here = rounds()
    compiled, called = (make("gnc", dim=40, storage="float32") for _ in range(2))
    trace = simulate(compiled, here, seed=5)
    for t, number in enumerate(tickets(stream("policy", 5), 0, len(here)).tolist()):
        choice = called.choose(here[t].items, number)
        if choice.query is not Query.NONE:
            called.learn(here[t].items, choice, float(trace.answers[t]))
    np.testing.assert_array_equal(compiled.model.cells, called.model.cells)
    assert compiled.model.cells.nbytes == 8 * 40


def test_what_float32_refuses():
    with pytest.raises(ValueError, match="storage must be one of 'float64', 'float32', got 'float16'"):
        make("ttg", dim=3, storage="float16")
    with pytest.raises(ValueError, match=r"lam must be in \[1e-15, 1e15\] with storage='float32', got 1e-20"):
        make("ttg", dim=3, storage="float32", lam=1e-20)
    model = Diagonal(2, storage="float32")
    before = model.cells.copy()
    with pytest.raises(ArithmeticError, match="above 1e\\+12"):
        model.update([[1e13, 0.0], [0.0, 1.0]], {0: 0.5, 1: -0.5}, 1.0)
    np.testing.assert_array_equal(model.cells, before)
    wide = Diagonal(2)
    wide.update([[1e40, 0.0]], {0: 1.0}, 1.0)
    with pytest.raises(ValueError, match="must fit into float32"):
        model.restore(wide.arrays())
    np.testing.assert_array_equal(model.cells, before)


def test_statistics_of_both_kinds_merge():
    one, two, both = (Diagonal(2, update="coordinate", storage=name) for name in ("float32", "float64", "float64"))
    for model, row in ((one, [1.0, 0.0]), (two, [0.0, 2.0]), (both, [1.0, 0.0]), (both, [0.0, 2.0])):
        model.update([row], {0: 1.0}, 1.0)
    one.merge(two)
    np.testing.assert_allclose(one.weights(), both.weights(), rtol=1e-6)
