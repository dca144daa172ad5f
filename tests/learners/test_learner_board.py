"""Boards of learners: what they are made of, which learners have none, and boards of groups."""

import math

import numpy as np
import pytest

import conquer
from conquer.boards import board_of
from conquer.kernels.rounds import settings as st
from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import GNC
from conquer.saving import dumps, loads

DIM = 5


def taught(name="gnr", answers=30, dim=DIM, **parameters):
    learner = conquer.make(name, dim=dim, **{"model": "full"} | parameters)
    rng, X = np.random.default_rng(0), np.eye(dim)
    for _ in range(answers):
        choice = learner.choose(X, rng)
        if choice.query.name == "DUEL":
            learner.learn(X, choice, 1.0 if choice.shown[0] < choice.shown[1] else -1.0)
    return learner, X


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
def test_a_learners_board_is_its_models_numbers(interval):
    learner, X = taught(lam=0.7)
    V, B = learner.model.pairs(X)
    spread = learner.model.stats[st.SUM_LOSS_H]
    options = {"interval": interval, "delta": 0.1, "names": list("abcde")}
    expected = board_of(learner.scores(X), V, B, lam=0.7, U=math.sqrt(5), spread=spread, answers=30, **options)
    found = learner.board(X, **options)
    for name in ("order", "scores", "low", "high", "better", "best", "more", "upper"):
        assert (getattr(found, name) == getattr(expected, name)).all(), name
    assert found.names == tuple("abcde")


def test_spread_is_the_sum_of_the_design():
    """S = E - Y + b'A^-1 b with p_s = u_s . w_{s-1}, which the models keep as a sum of losses."""
    learner = conquer.make("gnr", dim=DIM, model="full", lam=0.5)
    rng, X = np.random.default_rng(1), np.random.default_rng(2).normal(size=(6, DIM))
    A, b, E, Y = 0.5 * np.eye(DIM), np.zeros(DIM), 0.0, 0.0
    for _ in range(25):
        choice, y = learner.choose(X, rng), rng.uniform(-1, 1)
        u = (X[choice.shown[0]] - X[choice.shown[1]]) / 2
        E, Y = E + (y - u @ np.linalg.solve(A, b)) ** 2, Y + y**2
        A, b = A + np.outer(u, u), b + y * u
        learner.learn(X, choice, y)
    assert learner.model.stats[st.SUM_LOSS_H] == pytest.approx(E - Y + b @ np.linalg.solve(A, b), rel=1e-9)


def test_the_bound_on_the_weights():
    learner, X = taught("gnu", U=3.0)
    assert learner.board(X).width.U == 3.0
    assert learner.board(X, U=0.5).width.U == 0.5
    learner, X = taught("gnu", eta="tight")
    assert learner.board(X).width.U == 1.0
    learner, X = taught("gnu")
    assert math.sqrt(5) == learner.board(X).width.U


def test_exploring_has_the_board_of_its_learner():
    learner, X = taught(explore=0.5)
    assert (learner.board(X, interval="proved").low == learner.learner.board(X, interval="proved").low).all()


def test_before_the_first_answer_anyone_may_be_best():
    learner, X = taught(answers=0)
    board = learner.board(X)
    assert board.best.tolist() == [0, 1, 2, 3, 4]
    assert np.isinf(board.high).all()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("gnr", {"model": "diagonal"}, "model='full' or model='kernel', got diagonal"),
        ("gnr", {"model": "full", "projection": "exact"}, "only interval='proved' holds, got 'anytime'"),
        ("confidit", {"model": "full"}, "confidit asks about one item"),
        ("banditron", {}, "banditron asks about one item"),
        ("random", {}, "random learns nothing"),
        ("maxinp", {"model": "full"}, "maxinp has no board"),
    ],
)
def test_learners_without_a_board_say_why(name, parameters, message):
    learner = conquer.make(name, dim=DIM, **parameters)
    with pytest.raises(ValueError, match=message):
        learner.board(np.eye(DIM))


def test_a_kernel_model_has_a_board_until_it_forgets_an_answer():
    learner, X = taught(model="kernel", budget=3, answers=3)
    free, _ = taught(model="kernel", answers=3)
    assert learner.board(X).low == pytest.approx(free.board(X).low)
    learner, X = taught(model="kernel", budget=3, answers=4)
    with pytest.raises(ValueError, match="with budget=3 the model has forgotten some"):
        learner.board(X)


def test_proved_holds_with_projection():
    learner, X = taught(projection="exact")
    board = learner.board(X, interval="proved")
    assert (np.abs(board.scores) <= 1 + 1e-9).all()


def test_groups_are_means_of_their_items():
    learner, X = taught()
    groups = ["x", "y", "x", "y", "y"]
    means = np.array([X[[0, 2]].mean(axis=0), X[[1, 3, 4]].mean(axis=0)])
    found, expected = learner.board(X, groups=groups), learner.board(means, U=math.sqrt(5))
    assert found.names == ("x", "y")
    assert found.scores == pytest.approx(expected.scores)
    assert found.high == pytest.approx(expected.high)


def test_groups_of_another_kernel_are_means_of_scores():
    """A linear kernel both ways: by mean rows, and by the pairs of the items."""
    from conquer.learners.learner_board import mean_gaps, shares

    learner, X = taught(model="kernel", kernel="linear")
    names, weights = shares(["x", "y", "x", "y", "y"], 5)
    V, B = learner.model.pairs(X)
    for items, means in zip((V, B), learner.model.pairs(weights @ X), strict=True):
        assert mean_gaps(weights, items) == pytest.approx(means, abs=1e-12)
    curved, X = taught(model="kernel")
    board = curved.board(X, groups=["x", "y", "x", "y", "y"])
    assert board.scores == pytest.approx(weights @ curved.scores(X))
    assert board.names == tuple(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["x"]}, "one group per item, got 1 groups for 5 items"),
        ({"groups": ["x", "", "x", "x", "x"]}, "a group must be a non-empty string, got ''"),
        ({"groups": list("abcde"), "names": list("abcde")}, "give groups or names, not both"),
        ({"U": -1.0}, "U must be"),
        ({"interval": "exact"}, "interval must be one of"),
    ],
)
def test_bad_options_are_refused(options, message):
    learner, X = taught()
    with pytest.raises(ValueError, match=message):
        learner.board(X, **options)


def test_a_bound_that_was_given_holds_for_boards_and_files():
    given, silent = (conquer.make("gnc", dim=4, model="full", **extra) for extra in ({"U": 1.0}, {}))
    wrapped = conquer.make("gnc", dim=4, model="full", U=1.0, explore=0.5, believe="voters")
    for learner, bound in ((given, 1.0), (wrapped, 1.0), (silent, 2.0)):
        again = loads(dumps(learner))[0]
        for one in (learner, again):
            assert bound == one.board(np.eye(4)).width.U
        assert dumps(again) == dumps(learner)
    assert Conquer(Full(4), GNC, U=3.0).board(np.eye(4)).width.U == 3.0
