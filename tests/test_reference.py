"""The reference itself, where something outside can check it: a quadratic program, and the factor of a Gram matrix."""

import cvxopt
import numpy as np
import pytest
from hypothesis import given
from strategies import matrices

from conquer import reference

cvxopt.solvers.options.update(show_progress=False, abstol=1e-12, reltol=1e-12, feastol=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("diagonal", [False, True])
def test_exact_projection_is_the_nearest_and_the_papers_is_feasible(seed, diagonal):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(5, 5))
    full = np.diag(rng.uniform(0.5, 3.0, 5)) if diagonal else half @ half.T + np.eye(5)
    A, w, phi = (full.diagonal() if diagonal else full), rng.normal(size=5) * 3, rng.normal(size=(6, 5))
    bounds = cvxopt.matrix(np.vstack([phi, -phi])), cvxopt.matrix(np.ones(12))
    nearest = np.array(cvxopt.solvers.qp(cvxopt.matrix(full), cvxopt.matrix(-full @ w), *bounds)["x"]).ravel()
    exact = reference.project(w, A, phi, rng.permutation(6), exact=True)
    np.testing.assert_allclose(exact, nearest, atol=1e-7)
    near = reference.project(w, A, phi, rng.permutation(6))
    assert np.abs(phi @ near).max() <= 1 + 1e-11
    assert (near - w) @ full @ (near - w) >= (exact - w) @ full @ (exact - w) - 1e-9

    inside = w / (1 + np.abs(phi @ w).max())
    for mode in (False, True):
        np.testing.assert_array_equal(reference.project(inside, A, phi, rng.permutation(6), exact=mode), inside)


@given(matrices())
def test_the_root_is_one_also_where_the_matrix_is_singular(X):
    G = X @ X.T
    L = reference.root(G)
    assert (np.triu(L, 1) == 0).all()
    np.testing.assert_allclose(L @ L.T, G, rtol=0, atol=1e-6 * (1 + np.abs(G).max()))
