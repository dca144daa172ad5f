"""Projection: exact equals a quadratic program; sequential is feasible and nears every feasible point."""

import cvxopt
import numpy as np
import pytest

from conquer.kernels.rounds import settings as st
from conquer.models.full import Full
from conquer.models.kernel import Kernel

cvxopt.solvers.options.update(show_progress=False, abstol=1e-12, reltol=1e-12, feastol=1e-12)


def bent(projection, seed, dim=5, answers=30):
    """A model whose scores of large items exceed 1."""
    rng = np.random.default_rng(seed)
    model = Full(dim, projection=projection, lam=0.3)
    truth = rng.normal(size=dim)
    for _ in range(answers):
        X = rng.normal(size=(2, dim)) * 0.3
        model.update(X, {0: 0.5, 1: -0.5}, float(np.sign((X[0] - X[1]) @ truth)))
    return model, rng


def quadratic_program(A, w, X):
    P, q = cvxopt.matrix(A), cvxopt.matrix(-A @ w)
    G, h = cvxopt.matrix(np.vstack([X, -X])), cvxopt.matrix(np.ones(2 * len(X)))
    return np.array(cvxopt.solvers.qp(P, q, G, h)["x"]).ravel()


@pytest.mark.parametrize("seed", range(12))
def test_exact_projection_is_the_quadratic_programs(seed):
    model, rng = bent("exact", seed)
    X = rng.normal(size=(6, 5)) * 3
    raw = X @ model.w
    assert np.abs(raw).max() > 1
    best = quadratic_program(np.linalg.inv(model.inverse), model.w, X)
    np.testing.assert_allclose(model.scores(X), X @ best, atol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_sequential_projection_is_feasible_and_nears_every_feasible_point(seed):
    model, rng = bent("sequential", seed)
    X = rng.normal(size=(4, 5)) * 3
    assert np.abs(X @ model.w).max() > 1
    projected = model.scores(X)
    assert np.abs(projected).max() <= 1 + 1e-11
    A = np.linalg.inv(model.inverse)
    # With four items in five dimensions the scores and w's part outside their span determine w~.
    mu = np.linalg.lstsq(X @ model.inverse @ X.T, X @ model.w - projected, rcond=None)[0]
    w = model.w - model.inverse @ X.T @ mu
    for _ in range(50):
        feasible = rng.normal(size=5)
        feasible /= max(1.0, np.abs(X @ feasible).max())
        before, after = model.w - feasible, w - feasible
        assert after @ A @ after <= before @ A @ before + 1e-9


@pytest.mark.parametrize("projection", ["sequential", "exact"])
def test_the_kernel_model_projects_like_the_full_one(projection):
    rng = np.random.default_rng(3)
    full = Full(4, projection=projection, lam=0.5)
    kernel = Kernel(4, kernel="linear", projection=projection, lam=0.5)
    for _ in range(60):
        X = rng.normal(size=(5, 4)) * 2
        for model in (full, kernel):
            model.update(X, {0: 0.5, 1: -0.5}, 1.0, ticket=9)
    X = rng.normal(size=(5, 4)) * 3
    np.testing.assert_allclose(kernel.scores(X), full.scores(X), atol=1e-9)
    np.testing.assert_allclose(kernel.contrasts(X, 1), full.contrasts(X, 1), atol=1e-9)


def test_items_without_variance_are_left_alone():
    model = Full(3, projection="exact")
    model.w[:] = [5.0, 0.0, 0.0]
    X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(model.scores(X), [0.0, 1.0, 1.0])


def test_no_convergence_is_an_error_and_changes_nothing():
    model = Full(2, projection="exact")
    model.w[:] = [300.0, 1.0]
    model.knobs[st.SWEEPS] = 1
    X = np.array([[1.0, 0.001], [1.0, 0.0], [1.0, -0.001]]) * 5
    before = model.w.copy()
    with pytest.raises(ArithmeticError, match="1 sweeps"):
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
    np.testing.assert_array_equal(model.w, before)
