"""forget=f: the diagonal and the full model forget in the directions they learn."""

from dataclasses import replace

import numpy as np
import pytest

import conquer
from conquer.conformance import CHECKS
from conquer.models.diagonal import UPDATES, Diagonal
from conquer.models.full import Full
from conquer.registry import build_model, find, make
from conquer.rows import Rounds
from conquer.simulation import simulate

KINDS = [("full", {}), *(("diagonal", {"update": update}) for update in UPDATES)]
every_kind = pytest.mark.parametrize(("kind", "settings"), KINDS, ids=["full", *UPDATES])


def forgetful(name, forget):
    """The row of an algorithm with this default."""
    row = find(name)
    changed = (replace(each, default=forget) if each.name == "forget" else each for each in row.parameters)
    return replace(row, parameters=tuple(changed), models=("diagonal", "full"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("model", ["diagonal", "full"])
@pytest.mark.parametrize("name", ["gnc", "gnr"])
def test_every_promise_is_kept(name, model, check):
    check(forgetful(name, 0.9), model)


def test_an_asked_direction_settles_and_the_others_stay():
    model, before = Full(3, forget=0.9), Full(3, forget=0.9)
    for _ in range(500):
        model.update([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], {0: 0.5, 1: -0.5}, 1.0)
    r = model.variances([[0.5, -0.5, 0.0]])[0]
    assert r == pytest.approx(0.1 / 0.9, rel=1e-12)
    others = [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(model.variances(others), before.variances(others), rtol=1e-12)


def test_a_short_direction_is_widened_to_the_same_variance():
    model = Full(2, forget=0.9)
    for _ in range(500):
        model.update([[0.1, 0.0]], {0: 1.0}, 1.0)
    assert model.variances([[0.1, 0.0]])[0] == pytest.approx(0.1 / 0.9, rel=1e-12)
    assert model.inverse[1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("update", UPDATES)
def test_features_that_two_items_share_are_not_forgotten(update):
    model = Diagonal(3, lam=2.0, update=update, forget=0.5)
    for _ in range(9):
        model.update([[0.0, 1.0, 0.0]], {0: 1.0}, 1.0)
    shared = model.precision()[1]
    assert shared == pytest.approx(3.0)  # max(2, A / 2) + 1
    model.update([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], {0: 0.5, 1: -0.5}, 1.0)
    np.testing.assert_allclose(model.precision(), [2.25, shared, 2.0], rtol=1e-15)


@every_kind
def test_one_forgets_nothing(kind, settings):
    rng = np.random.default_rng(0)
    one, two = build_model(kind, 4, **settings), build_model(kind, 4, forget=1.0, **settings)
    for X in rng.normal(size=(50, 2, 4)) / 3:
        for model in (one, two):
            model.update(X, {0: 0.5, 1: -0.5}, 1.0)
    assert all((one.arrays()[name] == two.arrays()[name]).all() for name in one.arrays())


@every_kind
@pytest.mark.parametrize("forget", [1e-300, 1e-20, 1e-3, 0.5, 1.0 - 2.0**-53])
def test_nothing_overflows(kind, settings, forget):
    """Rows of every length, the short ones first: each widens what the full model has of its direction."""
    model, rng = build_model(kind, 3, forget=forget, **{"lam": 30.0, **settings}), np.random.default_rng(1)
    for size in (0.0, 1e-200, 1e-100, 1e-30, 1e-3, 1.0):
        for _ in range(40):
            X = size * rng.normal(size=(2, 3))
            before = {name: array.copy() for name, array in model.arrays().items()}
            try:
                model.update(X, {0: 0.5, 1: -0.5}, 1.0)
            except ArithmeticError:
                assert all((array == model.arrays()[name]).all() for name, array in before.items())
            assert all(np.isfinite(array).all() for array in model.arrays().values())
            if kind == "full":
                inverse = model.inverse
                assert (inverse == inverse.T).all()
                assert (inverse.diagonal() >= 0).all()


def test_a_step_that_fails_forgets_nothing():
    model = Diagonal(2, forget=0.5)
    model.update([[3.0, 0.0]], {0: 1.0}, 1.0)
    model.table[1, 0] = 1e120
    before = model.table.copy()
    with pytest.raises(ArithmeticError, match="diverged"):
        model.update([[1.0, 1.0]], {0: 1.0}, 1.0)
    assert (model.table == before).all()


def test_refusals_give_the_reason():
    for bad in (0.0, -0.5, 1.5, float("nan"), True, "0.9"):
        with pytest.raises(ValueError, match=r"forget must be a finite number in \(0, 1\]"):
            make("gnc", dim=3, forget=bad)
    with pytest.raises(TypeError, match=r"got \['forget'\]; forget is for model='diagonal' or 'full'"):
        make("gnc", dim=3, model="kernel", forget=0.9)
    for eta, projection in (("theory", "exact"), ("tight", None)):
        with pytest.raises(ValueError, match=f"eta='{eta}' needs forget=1, got 0.9: its bound is for answers"):
            make("gnc", dim=3, model="full", eta=eta, projection=projection, forget=0.9)
    with pytest.raises(ValueError, match=r"the challenger of tob needs forget=1, got 0\.9"):
        make("tob", dim=3, forget=0.9)
    with pytest.raises(ValueError, match=r"forget=0\.9 keeps less of the early ones"):
        make("gnc", dim=3, model="full", forget=0.9).board(np.eye(3))
    for one, two in ((0.9, 0.9), (0.9, 1.0), (1.0, 0.9)):
        for kind in (Full, Diagonal):
            with pytest.raises(ValueError, match="late answers weigh more.*cannot be merged"):
                kind(2, forget=one).merge(kind(2, forget=two))


def test_votes_are_learnt_in_their_order():
    """A sum over votes would not know which are the late ones."""
    votes = [("a", "b", "a")] * 30 + [("a", "b", "b")] * 30
    late, never = (conquer.fit(votes, forget=forget, seed=0).learner for forget in (0.9, 1.0))
    assert late.answers == never.answers == 60
    assert late.scores(np.eye(2))[1] > 0.5 > abs(never.scores(np.eye(2))[1]) + 0.4


@pytest.mark.parametrize("model", ["full", "diagonal"])
def test_forgetting_follows_a_taste_that_changes(model):
    """After 1,000 of 1,200 rounds the order of five items is reversed; rewards are 0.8, 0.4, 0, -0.4 and -0.8.

    gnr shows its best item and any other. If that is the new best, the two lose (0 + 1) / 2 on average, and if it is
    still the old one (1.6 + 0.6) / 2. Three standard errors of the mean of 50 rounds are below 0.12.
    """
    rewards = np.linspace(0.8, -0.8, 5)
    sets = np.repeat([np.arange(5), np.arange(5, 10)], [1000, 200], axis=0)
    rounds = Rounds(np.vstack([np.eye(5), np.eye(5)]), sets, np.concatenate([rewards, rewards[::-1]]))
    for forget, lost in ((0.97, 0.5), (1.0, 1.1)):
        trace = simulate("gnr", rounds, model=model, forget=forget, judge="perfect", seed=0)
        assert trace.average_regret[-50:].mean() == pytest.approx(lost, abs=0.12)
