"""Projection: exact equals a quadratic program; sequential is feasible and nears every feasible point."""

import cvxopt
import numpy as np
import pytest
from literal import order_of

from conquer import make, reference
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.registry import build_model

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
    model.constants = model.constants._replace(sweeps=0)
    model._bind()
    X = np.array([[1.0, 0.001], [1.0, 0.0], [1.0, -0.001]]) * 5
    before = model.w.copy()
    with pytest.raises(ArithmeticError, match="0 sweeps"):
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
    np.testing.assert_array_equal(model.w, before)


def near_dependent(lam, gap, count=100_000):
    """A, w after so many consistent answers on two of three items that are nearly dependent, and the three."""
    X = np.array([[1.0, gap], [1.0, 0.0], [1.0, -gap]])
    X /= np.linalg.norm(X, axis=1)[:, None]
    u = (X[0] - X[1]) / 2
    A = lam * np.eye(2) + count * np.outer(u, u)
    return A, np.linalg.solve(A, count * u), X


@pytest.mark.parametrize("projection", ["sequential", "exact"])
@pytest.mark.parametrize(("lam", "gap"), [(1.0, 0.1), (0.01, 0.1), (0.01, 0.01), (1e-4, 0.01)])
def test_nearly_dependent_items_are_projected(projection, lam, gap):
    A, w, X = near_dependent(lam, gap)
    model = Full(2, lam=lam, projection=projection)
    model.w[:], model.inverse[:] = w, np.linalg.inv(A)
    model.inverse[:] = (model.inverse + model.inverse.T) / 2
    assert np.abs(X @ w).max() > 1
    scores = model.scores(X)
    # The sums have terms of up to 1e8, whose last digits are 1e-8.
    assert np.abs(scores).max() <= 1 + 1e-7
    np.testing.assert_allclose(X @ model.projected(X), scores, atol=1e-6)
    if projection == "exact":
        best = quadratic_program(A, w, X)
        ours, theirs = (point - w for point in (model.projected(X), best))
        assert ours @ A @ ours <= theirs @ A @ theirs * (1 + 1e-6)


@pytest.mark.parametrize("projection", ["sequential", "exact"])
@pytest.mark.parametrize("model", ["full", "diagonal", "kernel"])
def test_rounds_go_on_after_many_consistent_answers(model, projection):
    kernel = {"kernel": "linear"} if model == "kernel" else {}
    learner = make("gnc", dim=2, model=model, projection=projection, lam=0.01, eta=3.0, **kernel)
    X = np.array([[1.0, 0.01], [1.0, 0.0], [1.0, -0.01]])
    X /= np.linalg.norm(X, axis=1)[:, None]
    for _ in range(40 if model == "kernel" else 5000):
        learner.model.update(X[:2], {0: 0.5, 1: -0.5}, 1.0)
    for ticket in range(50):
        choice = learner.choose(X, ticket)
        assert np.abs(learner.scores(X, ticket)).max() <= 1 + 1e-9
        if choice.query.name == "DUEL":
            learner.learn(X, choice, 1.0 if choice.shown[0] < choice.shown[1] else -1.0)


@pytest.mark.parametrize("projection", ["sequential", "exact"])
def test_whatever_was_learnt_can_be_projected(projection):
    """Items nearly equal, of many sizes, doubled, opposed; every round has a feasible point, since 0 is one."""
    rng = np.random.default_rng(8)
    for case in range(150):
        dim, count = int(rng.integers(1, 7)), int(rng.integers(2, 12))
        model = Full(dim, lam=10.0 ** rng.uniform(-3, 1), projection=projection)
        for _ in range(4):
            X = rng.normal(size=(count, dim))
            if case % 4 == 1:
                X = X[:1] + 10.0 ** -rng.uniform(0, 8) * X
            if case % 4 == 2:
                X *= 10.0 ** rng.uniform(-2, 2, size=(count, 1))
            if case % 4 == 3:
                X[1:] = X[0] * rng.choice([1, -1, 0.5]) + 10.0 ** -rng.uniform(1, 10) * X[1:]
            for _ in range(20):
                i, j = rng.choice(count, 2, replace=False)
                model.update(X, {int(i): 0.5, int(j): -0.5}, float(rng.choice([-1, 1])), ticket=case)
            scores = model.scores(X * 3, ticket=case)
            assert np.abs(scores).max() <= 1 + 1e-8, case


def test_scores_follow_the_tickets_order():
    model, rng = bent("sequential", 0)
    X = rng.normal(size=(5, 5)) * 3
    A = np.linalg.inv(model.inverse)
    for ticket in range(20):
        w = reference.project(model.w, A, X, order_of(ticket, 5))
        np.testing.assert_allclose(model.scores(X, ticket), X @ w, atol=1e-9)
        np.testing.assert_allclose(model.projected(X, ticket), w, atol=1e-9)
    assert len({tuple(model.scores(X, ticket).round(6)) for ticket in range(20)}) > 1


@pytest.mark.parametrize("projection", [None, "sequential", "exact"])
@pytest.mark.parametrize("kind", ["full", "diagonal", "kernel"])
def test_the_projected_w_is_the_references(kind, projection):
    rng = np.random.default_rng(6)
    models = {
        "full": lambda: Full(4, lam=0.5, projection=projection),
        "diagonal": lambda: Diagonal(4, lam=0.5, projection=projection, update="coordinate"),
        "kernel": lambda: Kernel(4, lam=0.5, projection=projection, kernel="linear"),
    }
    model, w, A = models[kind](), np.zeros(4), 0.5 * (np.ones(4) if kind == "diagonal" else np.eye(4))
    pulled = 0
    for ticket in range(40):
        X = rng.normal(size=(3, 4)) * 2
        order = order_of(ticket, 3)
        near = reference.project(w, A, X, order, exact=projection == "exact") if projection else w
        np.testing.assert_allclose(model.weights(), w, atol=1e-9)
        np.testing.assert_allclose(model.projected(X, ticket), near, atol=1e-9)
        pulled += not np.allclose(near, w)
        model.update(X, {0: 0.5, 1: -0.5}, 1.0, ticket=ticket)
        w, A = reference.update(near, A, (X[0] - X[1]) / 2, 1.0, "coordinate")
    assert (pulled > 5) == (projection is not None)


@pytest.mark.parametrize("kind", ["full", "diagonal", "kernel"])
def test_a_step_that_diverges_leaves_w_where_it_was(kind):
    kernel = {"kernel": "linear"} if kind == "kernel" else {}
    model = build_model(kind, 3, lam=0.1, projection="exact", **kernel)
    X = np.array([[1.0, 0.0, 0.5], [-1.0, 0.2, 0.0], [0.3, 1.0, 0.0]])
    for _ in range(5):
        model.update(X[:2] * 0.5, {0: 0.5, 1: -0.5}, 1.0)
    assert np.abs(X * 9 @ model.weights()).max() > 1
    before = {name: array.copy() for name, array in model.arrays().items()}
    with pytest.raises(ArithmeticError, match="diverged"):
        model.update(X * 9, {0: 0.5, 1: -0.5}, 1e101)
    after = model.arrays()
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_a_refused_step_puts_back_what_a_projection_stored_before_any_pair():
    """Items of p and no pair: the counts of items and of their entries are two numbers."""
    model = Kernel(3, kernel="linear", projection="exact")
    arrays = dict(model.arrays())
    arrays |= {"indptr": np.array([0, 2]), "indices": np.array([0, 1], np.int32), "data": np.ones(2)}
    arrays |= {"owner": np.array([-1]), "item": np.array([[5.0, 2.0]])}
    model.restore(arrays)
    before = {name: array.copy() for name, array in model.arrays().items()}
    X = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert model.scores(X) == pytest.approx([1.0, 0.0])  # 10 without the projection
    with pytest.raises(ArithmeticError, match="diverged"):
        model.update(X, {0: 1.0}, 1e150)
    for name, array in model.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    model.update(X, {0: 1.0}, 1.0)
