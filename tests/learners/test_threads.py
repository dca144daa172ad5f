"""Learners are not thread-safe: two threads inside one are told so, and what was learnt stays what it was."""

import threading

import numpy as np
import pytest
from scipy.sparse import csr_array

from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import GNC
from conquer.registry import make
from conquer.rows import Rounds, as_rows
from conquer.simulation import simulate

DIM, COUNT = 500, 60
MODELS = [
    {},
    {"projection": "exact"},
    {"model": "full"},
    {"model": "kernel", "kernel": "linear"},
]


def items(seed):
    rng = np.random.default_rng(seed)
    dim = DIM
    X = csr_array(rng.normal(size=(COUNT, dim)) * (rng.random((COUNT, dim)) < 0.2))
    return as_rows(X, dim)


def trained(settings):
    learner = make("gnc", dim=DIM, eta=1e6, **settings)
    for ticket in range(4):
        X = items(ticket)
        learner.learn(X, learner.choose(X, ticket), 1.0)
    return learner


@pytest.mark.parametrize("settings", MODELS, ids=str)
def test_threads_that_only_choose_change_nothing(settings):
    learner, start = trained(settings), threading.Barrier(2)
    before = {name: array.copy() for name, array in learner.arrays().items()}
    rounds = [items(seed) for seed in (10, 11)]
    expected = [learner.choose(X, 5) for X in rounds]
    wrong: list[object] = []

    def ask(X, choice):
        start.wait()
        for _ in range(60):
            try:
                made = learner.choose(X, 5)
            except RuntimeError as refusal:
                if "not thread-safe" not in str(refusal):
                    wrong.append(refusal)
            else:
                if made != choice:
                    wrong.append(made)

    threads = [threading.Thread(target=ask, args=pair) for pair in zip(rounds, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for name, array in learner.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert learner.choose(rounds[0], 5) == expected[0]  # nobody is left inside


def test_a_second_thread_is_told_whatever_it_calls():
    learner, X = make("gnc", dim=3, model="full"), np.eye(3)
    choice = learner.choose(X, 1)
    learner.model.user = threading.get_ident() + 1  # another thread is inside
    calls = [
        lambda: learner.choose(X, 1),
        lambda: learner.learn(X, choice, 1.0),
        lambda: learner.scores(X),
        lambda: learner.choose_and_score(X, 1),
        lambda: learner.model.projected(X),
        lambda: learner.model.update(X, {0: 1.0}, 1.0),
        lambda: simulate(learner, Rounds(np.eye(3), [[0, 1, 2]], [1, 0, -1])),
        lambda: simulate(learner, Rounds(np.eye(3), [[0, 1, 2, 0] * 5], [1, 0, -1])),
    ]
    arrays = [*learner.model.state]
    for call in calls:
        with pytest.raises(RuntimeError, match="another thread is using this learner"):
            call()
    assert learner.fresh
    assert all(now is then for now, then in zip([*learner.model.state], arrays, strict=True))
    learner.model.user = 0
    learner.learn(X, choice, 1.0)


def test_a_refusal_lets_the_next_one_in():
    learner = make("gnc", dim=3, model="full")
    X = np.eye(3)
    choice = learner.choose(X, 1)
    with pytest.raises(ArithmeticError):
        learner.learn(X * 1e30, choice, 1.0)
    assert learner.model.user == 0
    learner.learn(X, choice, 1.0)


class Crowded(Full):
    """A model whose scratch another thread overwrites as soon as it is free."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "user" and value == 0 and hasattr(self, "work"):
            self.work[:] = np.nan


def test_scratch_is_read_before_it_is_anybodys():
    X, results = np.eye(3), []
    for kind in (Full, Crowded):
        model = kind(3, lam=0.1, projection="exact")
        learner = Conquer(model, GNC, eta=1.0)
        for _ in range(4):
            model.update(X, {0: 0.5, 1: -0.5}, 1.0)
        results.append((model.projected(9 * X), *learner.choose_and_score(9 * X, 7)))
    (plain, choice, scores), (shared, same, again) = results
    assert np.abs(9 * plain).max() == pytest.approx(1.0)  # it was projected
    np.testing.assert_array_equal(shared, plain)
    np.testing.assert_array_equal(again, scores)
    assert same == choice


def test_a_run_makes_room_while_it_is_inside():
    learner, inside = make("gnr", dim=3, model="kernel"), []
    make_room = learner.model.make_room

    def watched(rows):
        inside.append(learner.model.user == threading.get_ident())
        make_room(rows)

    learner.model.make_room = watched
    simulate(learner, Rounds(np.eye(3), [[0, 1, 2]] * 40, [1, 0, -1]))
    assert inside
    assert all(inside)
    assert learner.model.user == 0
