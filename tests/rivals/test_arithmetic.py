"""What rounding does to the rivals: large values that items share, and values too large beside lam."""

import itertools

import numpy as np
import pytest
from rivals.driving import world

from conquer.registry import make
from conquer.rivals.estimators.covariance import FullSpread, between
from conquer.rivals.estimators.likelihood import KernelLikelihood
from conquer.rows import as_rows
from conquer.saving import dumps, loads

WIDE = [
    *(("full", name) for name in ("logistic", "probit", "mle", "mle-curved")),
    *(("diagonal", name) for name in ("logistic", "probit")),
]


@pytest.mark.parametrize("shared", [1e7, 1e9])
@pytest.mark.parametrize(("model", "estimator"), WIDE)
def test_a_large_value_that_all_items_share_changes_no_width(model, estimator, shared):
    X, taste = world(40, 5, 3, 0)
    plain, heavy = (make("pairucb", dim=dim, model=model, estimator=estimator, lam=0.5) for dim in (3, 4))
    for x in X:
        wide = np.hstack([x, np.full((5, 1), shared)])
        one, two = plain.choose(x, 1), heavy.choose(wide, 1)
        np.testing.assert_allclose(
            heavy.model.estimator.measure(as_rows(wide, 4))[2],
            plain.model.estimator.measure(as_rows(x, 3))[2],
            rtol=1e-7,
        )
        assert one.shown == two.shown
        answer = float(np.sign(taste @ (x[one.shown[0]] - x[one.shown[1]])))
        plain.learn(x, one, answer)
        heavy.learn(wide, one, answer)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_kernels_widths_come_from_differences(kernel):
    """Moved by 1e7 as a whole the items are as far apart as before, up to the digits that 1e7 leaves them."""
    X = np.round(world(12, 4, 3, 1)[0], 4)
    plain, moved = (KernelLikelihood(3, lam=0.5, kernel=kernel, scale=1.0, degree=2) for _ in range(2))
    for x in X:
        np.testing.assert_allclose(
            moved.measure(as_rows(x + 1e7, 3))[2], plain.measure(as_rows(x, 3))[2], rtol=1e-5, atol=1e-9
        )
        plain.learn(as_rows(x, 3), 0, 1, 1.0)
        moved.learn(as_rows(x + 1e7, 3), 0, 1, 1.0)


def test_two_draws_do_not_see_what_all_items_share():
    X = world(60, 5, 3, 2)[0]
    plain, heavy = (make("twots", dim=dim, model="full") for dim in (3, 4))
    for t, x in enumerate(X):
        assert plain.choose(x, t).shown == heavy.choose(np.hstack([x, np.full((5, 1), 1e9)]), t).shown


def test_differences_of_many_items_are_taken_in_pieces():
    items = np.random.default_rng(0).normal(size=(40, 2000))
    found = between(items, lambda Z: (Z * Z).sum(axis=1))
    for i, j in itertools.product((0, 7, 39), repeat=2):
        assert found[i, j] == pytest.approx(((items[i] - items[j]) ** 2).sum())


@pytest.mark.parametrize("estimator", ["logistic", "mle", "linear"])
def test_what_rounding_would_ruin_is_refused_and_changes_nothing(estimator):
    """Rows so long beside lam that one answer would leave nothing of V^-1 along them."""
    X = np.array([[3e9, 2e9, 1e9], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    forget = {"forget": 0.99} if estimator == "linear" else {}
    learner = make("ndb", dim=3, model="full", estimator=estimator, lam=1e-2, **forget)
    before = {name: array.copy() for name, array in learner.arrays().items()}
    choice = learner.choose(X, 1)
    with pytest.raises(ArithmeticError, match=r"scale"):
        learner.learn(X, type(choice)((0, 1), choice.query, 1, choice.memo), -1.0)
    for name, array in learner.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert loads(dumps(learner))[0].choose(np.eye(3), 2) == learner.choose(np.eye(3), 2)


@pytest.mark.parametrize("power", range(2, 19, 2))
def test_a_spread_that_is_taken_is_positive_definite(power):
    """Whatever norm^2/lam: repeated rows, too, are refused before rounding makes V^-1 indefinite."""
    rng, refused = np.random.default_rng(power), 0
    spread = FullSpread(5, lam=1.0)
    rows = rng.normal(size=(3, 5)) * 10.0 ** (power / 2)
    for k in range(300):
        kept = spread.S
        try:
            spread.add(rows[k % 3], slice(None), 1.0)
        except ArithmeticError:
            refused += spread.S is kept
        assert np.linalg.eigvalsh(spread.S).min() > 0
    assert refused == 0 if power <= 8 else True
    assert refused > 0 if power >= 16 else True
