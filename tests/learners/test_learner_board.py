"""Boards of learners: what they are made of, which learners have none, and boards of groups."""

import math

import numpy as np
import pytest

import conquer
from conquer.boards import Width, board_of
from conquer.boards.widths import MIXINGS
from conquer.kernels.rounds import settings as st
from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import GNC
from conquer.saving import dumps, loads
from conquer.types import Choice, Query

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
    inverse = learner.model.inverse
    gaps = X[:, None] - X
    V = np.einsum("ijk,kl,ijl->ij", gaps, inverse, gaps)
    moved = gaps @ inverse
    A = np.linalg.inv(inverse)
    G = A - 0.7 * np.eye(5)
    gains = [(rho or 0.7, np.linalg.slogdet(np.eye(5) + G / (rho or 0.7))[1], share) for rho, share in MIXINGS]
    width = Width(interval, 0.1, 0.25, 0.7, tuple(gains), 30)
    expected = board_of(learner.scores(X), V, (moved**2).sum(axis=2), np.abs(moved).sum(axis=2), width)
    found = learner.board(X, interval=interval, delta=0.1, names=list("abcde"), design="fixed")
    for name in ("order", "scores", "low", "high", "better", "best", "more", "upper"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name
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


def bound_of(learner, X):
    """The U that makes the learner's default board, by its wider and narrower ones."""
    default = learner.board(X).high[0]
    at = {U: learner.board(X, U=U).high[0] for U in (0.0, 1.0)}
    return (default - at[0.0]) / (at[1.0] - at[0.0])


def test_the_bound_on_the_weights():
    """Rows of more than one column: U as given, 1 where eta follows a bound, else sqrt(K)."""
    X = np.eye(DIM) + np.eye(DIM)[::-1] / 2
    for parameters, bound in (({"U": 3.0}, 3.0), ({"eta": "tight"}, 1.0), ({}, math.sqrt(5))):
        learner, _ = taught("gnu", **parameters)
        assert bound_of(learner, X) == pytest.approx(bound, rel=1e-9)


def test_ids_are_worth_at_most_one_each():
    learner, X = taught("gnr")
    moved = np.abs((X[:, None] - X) @ learner.model.inverse).sum(axis=2)
    half = learner.board(X, interval="proved").high - learner.board(X, interval="proved", U=0.0).high
    assert half == pytest.approx(moved.mean(axis=1), rel=1e-9)


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


def test_a_projection_has_only_proved_intervals():
    learner, X = taught(projection="exact")
    with pytest.raises(ValueError, match="only interval='proved' holds, got 'fixed'"):
        learner.board(X, interval="fixed")


def test_the_gain_of_a_kernel_is_that_of_its_features():
    linear, _ = taught(model="kernel", kernel="linear", lam=0.5)
    full, _ = taught(lam=0.5)
    for mixing in (0.1, 0.5, 32.0):
        assert linear.model.gain(mixing) == pytest.approx(full.model.gain(mixing), rel=1e-9)


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
    found, expected = learner.board(X, groups=groups, U=2.0), learner.board(means, U=2.0)
    assert found.names == ("x", "y")
    assert found.scores == pytest.approx(expected.scores)
    assert found.high == pytest.approx(expected.high)


def test_groups_of_another_kernel_are_means_of_scores():
    """A linear kernel both ways: by mean rows, and by the pairs of the items."""
    from conquer.learners.learner_board import mean_gaps, shares

    learner, X = taught(model="kernel", kernel="linear")
    names, weights = shares(["x", "y", "x", "y", "y"], 5)
    V, B, _ = learner.model.pairs(X)
    for items, means in zip((V, B), learner.model.pairs(weights @ X)[:2], strict=True):
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
    X = np.eye(4) + np.eye(4)[::-1] / 2
    for learner, bound in ((given, 1.0), (wrapped, 1.0), (silent, 2.0)):
        learner.learn(X, Choice((0, 1), Query.DUEL, 0, {}), 1.0)
        again = loads(dumps(learner))[0]
        for one in (learner, again):
            assert bound_of(one, X) == pytest.approx(bound, rel=1e-9)
        assert dumps(again) == dumps(learner)
    own = Conquer(Full(4), GNC, U=3.0)
    own.learn(X, Choice((0, 1), Query.DUEL, 0, {}), 1.0)
    assert bound_of(own, X) == pytest.approx(3.0, rel=1e-9)
