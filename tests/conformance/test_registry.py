"""What every registered algorithm promises, with every model it supports; a new row is tested by being there."""

import copy
import json
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from conquer.registry import algorithms, make
from conquer.rows import Rounds, SparseRows
from conquer.saving import dumps, loads
from conquer.simulation import simulate
from conquer.types import Query

ROWS = algorithms()
CASES = [pytest.param(row, model, id=f"{row.name}-{model}") for row in ROWS for model in row.models]
DIM, COUNT = 8, 5


def items(rng, count=COUNT, dim=DIM):
    X = rng.normal(size=(count, dim))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def arms(learner):
    """The fixed items of algorithms that know their arms by position; else fresh ones each round."""
    fixed = items(np.random.default_rng(99))
    return lambda rng: fixed if getattr(learner, "fixed_arms", False) else items(rng)


def answer_for(choice, rng):
    return float(rng.choice([-1.0, 1.0]))


def trained(row, model, rounds=60, seed=0, **parameters):
    rng = np.random.default_rng(seed)
    learner = make(row.name, dim=DIM, model=model, **parameters)
    fresh = arms(learner)
    for _ in range(rounds):
        X = fresh(rng)
        choice = learner.choose(X, rng)
        if choice.query != Query.NONE:
            learner.learn(X, choice, answer_for(choice, rng))
    return learner, rng, fresh


def snapshot(learner):
    return {name: array.copy() for name, array in learner.arrays().items()}


def assert_same_state(one, two):
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


@pytest.mark.parametrize(("row", "model"), CASES)
def test_choose_is_pure_and_repeats_from_its_ticket(row, model):
    learner, rng, fresh = trained(row, model)
    X, before = fresh(rng), snapshot(learner)
    choices = [learner.choose(X, ticket) for ticket in range(40)]
    assert_same_state(before, snapshot(learner))
    assert choices == [learner.choose(X, choice.ticket) for choice in choices]
    generator, same = np.random.default_rng(5), np.random.default_rng(5)
    expected = int(same.integers(0, 2**64, dtype=np.uint64))
    assert learner.choose(X, generator).ticket == expected
    assert generator.bit_generator.state == same.bit_generator.state


@pytest.mark.parametrize(("row", "model"), CASES)
def test_shows_distinct_items_and_asks_what_it_can_learn(row, model):
    learner, rng, fresh = trained(row, model, rounds=30)
    for _ in range(40):
        choice = learner.choose(fresh(rng), rng)
        assert len(set(choice.shown)) == len(choice.shown) >= 1
        assert all(isinstance(k, int) and 0 <= k < COUNT for k in choice.shown)
        json.dumps(dict(choice.memo), allow_nan=False)
        if choice.query == Query.DUEL:
            assert len(choice.shown) >= 2
        if choice.query == Query.NONE:
            before = snapshot(learner)
            with pytest.raises(ValueError, match="NONE"):
                learner.learn(fresh(rng), choice, 1.0)
            assert_same_state(before, snapshot(learner))
        chance = choice.memo.get("chance")
        assert chance is None or 0 < chance <= 1


@pytest.mark.parametrize(("row", "model"), CASES)
def test_works_with_two_items_equal_items_and_zero_rows(row, model):
    learner = make(row.name, dim=DIM, model=model)
    rng = np.random.default_rng(1)
    X = items(rng, 2)
    for Y in (X, np.vstack([X[:1], X[:1]]), np.vstack([X[:1], np.zeros((1, DIM))])):
        for _ in range(4):
            choice = learner.choose(Y, rng)
            if choice.query != Query.NONE:
                learner.learn(Y, choice, answer_for(choice, rng))
    assert np.isfinite(learner.scores(X)).all()


@pytest.mark.parametrize(("row", "model"), CASES)
def test_dense_csr_and_sparse_rows_give_the_same_choices(row, model):
    learner, rng, fresh = trained(row, model, rounds=30)
    for _ in range(10):
        X = fresh(rng)
        matrix = csr_array(X)
        forms = (X, matrix, SparseRows(matrix.indptr, matrix.indices, matrix.data, DIM), X.tolist())
        assert len({learner.choose(form, 77).shown for form in forms}) == 1


@pytest.mark.parametrize(("row", "model"), CASES)
def test_save_and_load_continue_bit_for_bit(row, model):
    learner, rng, fresh = trained(row, model, rounds=40)
    twin, extra, _ = loads(dumps(learner, {"note": 1}))
    assert extra == {"note": 1}
    assert dict(twin.parameters) == dict(learner.parameters)
    for _ in range(1000 if model != "kernel" or row.name == "gnc" else 150):
        X, ticket = fresh(rng), int(rng.integers(0, 2**64, dtype=np.uint64))
        one, two = learner.choose(X, ticket), twin.choose(X, ticket)
        assert one == two
        if one.query != Query.NONE:
            answer = answer_for(one, rng)
            learner.learn(X, one, answer)
            twin.learn(X, two, answer)
    assert_same_state(snapshot(learner), snapshot(twin))


@pytest.mark.parametrize(("row", "model"), CASES)
def test_copies_go_their_own_way(row, model):
    learner, _, fresh = trained(row, model, rounds=20)
    for copied in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        before = snapshot(learner)
        other_rng = np.random.default_rng(8)
        for _ in range(20):
            X = fresh(other_rng)
            choice = copied.choose(X, other_rng)
            if choice.query != Query.NONE:
                copied.learn(X, choice, 1.0)
        assert_same_state(before, snapshot(learner))
        assert copied.answers >= learner.answers


@pytest.mark.parametrize(("row", "model"), CASES)
@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (7, 1), (3, 4)])
def test_both_drivers_are_bit_identical(row, model, delay, batch):
    rng = np.random.default_rng(3)
    X = items(rng, 40)
    sets = rng.integers(0, 40, (120, COUNT))
    sets[::3, 4:] = -1
    learner = make(row.name, dim=DIM, model=model)
    if getattr(learner, "fixed_arms", False):
        sets = np.tile(np.arange(COUNT), (120, 1))
    rounds = Rounds(X, sets, np.clip(X @ np.eye(DIM)[0], -1, 1))
    runs = [
        simulate(row.name, rounds, seed=4, model=model, delay=delay, batch=batch, compiled=compiled)
        for compiled in (True, False)
    ]
    for name in ("shown", "query", "answers", "chance", "regret"):
        np.testing.assert_array_equal(getattr(runs[0], name), getattr(runs[1], name), err_msg=name)
    assert_same_state(snapshot(runs[0].learner), snapshot(runs[1].learner))


@pytest.mark.parametrize(("row", "model"), CASES)
def test_bad_input_is_refused_and_changes_nothing(row, model):
    learner, rng, fresh = trained(row, model, rounds=20)
    X = fresh(rng)
    choice = next(c for c in (learner.choose(X, t) for t in range(2000)) if c.query != Query.NONE)
    before = snapshot(learner)
    broken = X.copy()
    broken[1, 2] = np.nan
    for bad in (broken, np.where(X[0, 0] == X, np.inf, X), X[:, :-1], np.empty((0, DIM)), X[0], "text", [["a"] * DIM]):
        with pytest.raises((ValueError, TypeError)):
            learner.choose(bad, rng)
        with pytest.raises((ValueError, TypeError)):
            learner.learn(bad, choice, 1.0)
    for answer in (np.nan, np.inf, 2.0, -1.5):
        with pytest.raises(ValueError, match=r"\[-1, 1\]"):
            learner.learn(X, choice, answer)
    if learner.duels:
        with pytest.raises(ValueError, match="two items"):
            learner.choose(X[:1], rng)
    with pytest.raises(TypeError, match="rng"):
        learner.choose(X, "seed")
    assert_same_state(before, snapshot(learner))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_registry_says_what_it_builds(row):
    assert row.description
    assert len(row.grid) == 8 or not row.parameters
    for model in row.models:
        for point in row.grid:
            make(row.name, dim=3, model=model, **point)
        with pytest.raises(TypeError, match="no_such"):
            make(row.name, dim=3, model=model, no_such=1)
    with pytest.raises(ValueError, match="model must be one of"):
        make(row.name, dim=3, model="no_such")


DETERMINISTIC = ("ttg", "gnu", "gnc", "ttu", "gnw", "tob", "sep", "confidit")


@pytest.mark.parametrize(("row", "model"), [case for case in CASES if case.values[0].name in DETERMINISTIC])
def test_permuting_items_permutes_the_choice(row, model):
    learner, rng, fresh = trained(row, model)
    for _ in range(30):
        X, order = fresh(rng), rng.permutation(COUNT)
        straight, mixed = learner.choose(X, 1), learner.choose(X[order], 2)
        assert tuple(int(order[k]) for k in mixed.shown) == straight.shown
        assert mixed.query == straight.query
