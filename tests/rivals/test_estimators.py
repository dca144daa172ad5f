"""The estimators against their definitions: roots of equations, moments by quadrature, and each other."""

import math

import numpy as np
import pytest
from rivals.driving import world
from scipy.special import ndtr

from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.rivals.estimators.estimator import Linear, Robust
from conquer.rivals.estimators.likelihood import KernelLikelihood, Likelihood
from conquer.rivals.estimators.online import Forgetting, Logistic, Probit
from conquer.rivals.several import fit
from conquer.rows import as_rows


def answers(count, dim, seed):
    X, taste = world(count, 2, dim, seed)
    rng = np.random.default_rng(seed)
    return [(as_rows(x, dim), float(np.sign(taste @ (x[0] - x[1]) + rng.normal()))) for x in X]


@pytest.mark.parametrize("curved", [False, True])
def test_the_likelihood_estimate_is_the_root_of_its_equation(curved):
    model, Z, y, w = Likelihood(3, lam=0.7, curved=curved), [], [], []
    for k, (rows, answer) in enumerate(answers(80, 3, 0)):
        weight = 1.0 if k % 3 else 0.4
        model.learn(rows, 0, 1, answer, weight)
        x = rows.dense()
        Z.append(x[0] - x[1]), y.append((1 + answer) / 2), w.append(weight)
    Z, y, w = np.array(Z), np.array(y), np.array(w)
    s = 1 / (1 + np.exp(-Z @ model.theta))
    np.testing.assert_allclose(0.7 * model.theta, Z.T @ (w * (y - s)), atol=1e-8)
    V = 0.7 * np.eye(3) + (Z * (w * (s * (1 - s) if curved else 1.0))[:, None]).T @ Z
    np.testing.assert_allclose(model.spread.S @ V, np.eye(3), atol=1e-8)


def test_the_online_newton_step_minimises_the_expanded_loss():
    """The step is the minimiser of |theta' - theta|_V^2/2 + the second-order expansion of the new answer's loss."""
    model = Logistic(3, lam=1.0, model="full")
    for rows, answer in answers(30, 3, 1):
        x, theta, V = rows.dense(), model.theta.copy(), np.linalg.inv(model.spread.S)
        z, y = x[0] - x[1], (1 + answer) / 2
        s = 1 / (1 + math.exp(-theta @ z))
        model.learn(rows, 0, 1, answer)
        # Stationarity of the quadratic: V (theta' - theta) + (s - y) z + s' z z'(theta' - theta) = 0.
        move = model.theta - theta
        np.testing.assert_allclose(V @ move + (s - y) * z + s * (1 - s) * z * (z @ move), 0, atol=1e-9)
        np.testing.assert_allclose(np.linalg.inv(model.spread.S), V + s * (1 - s) * np.outer(z, z), atol=1e-8)


def test_probit_matches_the_first_two_moments_of_the_posterior():
    """By quadrature in the one direction that an answer moves."""
    model = Probit(2, lam=0.5, model="full")
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    for rows, answer in answers(15, 2, 2):
        x = rows.dense()
        z, mean, S = x[0] - x[1], model.theta.copy(), model.spread.S.copy()
        m, v = z @ mean, z @ S @ z
        f = m + math.sqrt(v) * nodes
        likelihood = weights * ndtr(answer * f)
        first = (likelihood @ f) / likelihood.sum()
        second = (likelihood @ f**2) / likelihood.sum() - first**2
        model.learn(rows, 0, 1, answer)
        gain = S @ z / v
        np.testing.assert_allclose(model.theta, mean + gain * (first - m), atol=1e-9)
        np.testing.assert_allclose(model.spread.S, S - np.outer(gain, gain) * (v - second), atol=1e-9)


def test_linear_is_conquer_in_the_scale_of_z():
    linear, own = Linear(Full(4, lam=0.5)), Full(4, lam=0.5)
    V, b = 2.0 * np.eye(4), np.zeros(4)
    for rows, answer in answers(40, 4, 3):
        linear.learn(rows, 0, 1, answer)
        own.update(rows, {0: 0.5, 1: -0.5}, answer)
        z = rows.dense()[0] - rows.dense()[1]
        V, b = V + np.outer(z, z), b + 2 * answer * z
    X = world(1, 5, 4, 9)[0][0]
    mean, squares, between = linear.measure(as_rows(X, 4))
    np.testing.assert_array_equal(mean, own.scores(X))
    np.testing.assert_allclose(mean, X @ np.linalg.solve(V, b), atol=1e-9)
    np.testing.assert_allclose(squares, (gram := X @ np.linalg.inv(V) @ X.T).diagonal(), atol=1e-9)
    np.testing.assert_allclose(between, squares[:, None] + squares[None, :] - 2 * gram, atol=1e-9)


@pytest.mark.parametrize("link", [Logistic, Probit])
def test_diagonal_is_full_where_every_step_has_one_feature(link):
    rng = np.random.default_rng(0)
    steps = [(rng.integers(3), rng.normal(), float(rng.choice([-1, 1]))) for _ in range(40)]
    whole, diagonal = link(3, lam=1.0, model="full"), link(3, lam=1.0, model="diagonal")
    for feature, value, answer in steps:
        x = np.zeros((2, 3))
        x[0, feature] = value
        whole.learn(as_rows(x, 3), 0, 1, answer)
        diagonal.learn(as_rows(x, 3), 0, 1, answer)
    np.testing.assert_allclose(whole.theta, diagonal.theta, atol=1e-12)
    np.testing.assert_allclose(whole.spread.S.diagonal(), diagonal.spread.S, atol=1e-12)


@pytest.mark.parametrize("model", ["full", "diagonal"])
def test_forgetting_counts_the_past_less_and_a_window_not_at_all(model):
    learnt = answers(30, 3, 4)
    z = np.array([rows.dense()[0] - rows.dense()[1] for rows, _ in learnt])
    y = np.array([answer for _, answer in learnt])
    for shares, made in (
        (0.9 ** np.arange(30)[::-1], Forgetting(3, lam=2.0, model=model, forget=0.9)),
        (np.ones(30), Forgetting(3, lam=2.0, model=model, forget=1.0)),
    ):
        for rows, answer in learnt:
            made.learn(rows, 0, 1, answer)
        V = 2.0 * np.eye(3) + (z * shares[:, None]).T @ z
        V = V if model == "full" else np.diag(V.diagonal())
        np.testing.assert_allclose(made.theta, np.linalg.solve(V, 2 * z.T @ (shares * y)), atol=1e-10)
        gram = (x := learnt[0][0].dense()) @ np.linalg.inv(V) @ x.T
        np.testing.assert_allclose(made.measure(learnt[0][0])[1], gram.diagonal())


def test_variances_never_grow_without_forgetting():
    X = as_rows(world(1, 6, 3, 8)[0][0], 3)
    for model in (Logistic(3, lam=1.0, model="full"), Probit(3, lam=1.0, model="diagonal"), Likelihood(3, lam=1.0)):
        before = model.measure(X)[1]
        for rows, answer in answers(30, 3, 5):
            model.learn(rows, 0, 1, answer)
            after = model.measure(X)[1]
            assert (after <= before + 1e-12).all()
            before = after


def test_a_linear_kernel_is_the_likelihood_over_features():
    dual, primal = KernelLikelihood(3, lam=0.7, kernel="linear", scale=1.0, degree=2), Likelihood(3, lam=0.7)
    X = as_rows(world(1, 5, 3, 9)[0][0], 3)
    for k, (rows, answer) in enumerate(answers(40, 3, 0)):
        for model in (dual, primal):
            model.learn(rows, 0, 1, answer, 1.0 if k % 3 else 0.4)
        for one, two in zip(dual.measure(X), primal.measure(X), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-8)
        np.testing.assert_array_equal(dual.scores(X), dual.measure(X)[0])


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_kernel_estimate_solves_its_equation_with_the_kernel_models_widths(kernel):
    own = {"kernel": kernel, "scale": 1.5, "degree": 3}
    model, widths = KernelLikelihood(3, lam=0.8, **own), Linear(Kernel(3, lam=0.2, **own))
    for rows, answer in answers(30, 3, 1):
        model.learn(rows, 0, 1, answer)
        widths.learn(rows, 0, 1, answer)
    s = 1 / (1 + np.exp(-model.G @ model.a))
    np.testing.assert_allclose(0.8 * model.a, model.targets - s, atol=1e-8)
    X = as_rows(world(1, 5, 3, 9)[0][0], 3)
    for one, two in zip(model.measure(X)[1:], widths.measure(X)[1:], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-8)


def test_an_estimate_that_fails_changes_nothing(monkeypatch):
    model = KernelLikelihood(3, lam=0.8, kernel="rbf", scale=1.0, degree=2)
    learnt = answers(4, 3, 1)
    for rows, answer in learnt[:3]:
        model.learn(rows, 0, 1, answer)
    before = {name: array.copy() for name, array in model.arrays().items()}
    monkeypatch.setattr("conquer.rivals.estimators.likelihood.STEPS", 0)
    with pytest.raises(ArithmeticError, match="converge"):
        model.learn(learnt[3][0], 0, 1, learnt[3][1])
    for name, array in model.arrays().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("build", [lambda: Logistic(3, lam=1.0, model="full"), lambda: Linear(Full(3, lam=0.25))])
def test_robust_weights_are_those_of_the_paper(build):
    robust, plain = Robust(build(), 0.3), build()
    for rows, answer in answers(20, 3, 2):
        x = rows.dense()
        width = math.sqrt(plain.measure(rows)[2][0, 1])
        plain.learn(rows, 0, 1, answer, min(1.0, 0.3 / width))
        robust.learn(rows, 0, 1, answer)
        np.testing.assert_array_equal(robust.scores(as_rows(x, 3)), plain.scores(as_rows(x, 3)))


def test_the_multinomial_estimate_is_the_root_of_its_equation():
    """lam theta = sum (picked - p) x, with none of these as a choice of worth 1, and places left empty."""
    rng = np.random.default_rng(0)
    items, shares = rng.normal(size=(60, 3, 2)), np.zeros((60, 3))
    items[::5, 2] = np.nan
    for n in range(60):
        if (picked := int(rng.integers(4))) < (2 if n % 5 == 0 else 3):
            shares[n, picked] = 1.0
    theta, slope = fit(items, shares, 0.6, np.zeros(2)), np.zeros(2)
    for row, picked in zip(items, shares, strict=True):
        worth = [0.0 if np.isnan(x[0]) else math.exp(theta @ x) for x in row]
        slope += sum(
            (p - v / (1 + sum(worth))) * x for x, p, v in zip(row, picked, worth, strict=True) if not np.isnan(x[0])
        )
    np.testing.assert_allclose(0.6 * theta, slope, atol=1e-8)
