"""What is true of the models whatever they are taught."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import histories, matrices

from conquer.models.diagonal import Diagonal, Perceptron
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.registry import make

lams = st.sampled_from([1e-3, 0.1, 1.0, 30.0])


def teach(model, steps):
    for X, first, second, answer in steps:
        model.update(X, {first: 0.5, second: -0.5}, answer)
    return model


def statistics(dim, steps, lam):
    A, b = lam * np.eye(dim), np.zeros(dim)
    for X, first, second, answer in steps:
        u = (X[first] - X[second]) / 2
        A += np.outer(u, u)
        b += answer * u
    return A, b


@given(histories(), lams)
def test_full_is_the_additive_statistics(history, lam):
    dim, steps = history
    model = teach(Full(dim, lam=lam), steps)
    A, b = statistics(dim, steps, lam)
    np.testing.assert_allclose(A @ model.inverse, np.eye(dim), atol=1e-8 * max(1.0, 1 / lam))
    np.testing.assert_allclose(model.weights(), np.linalg.solve(A, b), atol=1e-8 * max(1.0, 1 / lam))


@given(histories(), lams, matrices(dim=(6, 6)))
def test_linear_kernel_equals_full(history, lam, X):
    dim, steps = history
    full, kernel = teach(Full(dim, lam=lam), steps), teach(Kernel(dim, lam=lam, kernel="linear"), steps)
    X = X[:, :dim]
    for measure in (lambda m: m.scores(X), lambda m: m.variances(X), lambda m: m.contrasts(X, 0)):
        expected = measure(full)
        assert np.abs(measure(kernel) - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())


@given(histories(), lams)
def test_diagonal_equals_full_when_updates_have_one_coordinate(history, lam):
    dim, steps = history
    full = Full(dim, lam=lam)
    others = [Diagonal(dim, lam=lam, update=update) for update in ("implicit", "margin", "coordinate")]
    for X, first, _, answer in steps:
        row = np.zeros((1, dim))
        row[0, first % dim] = X[first, 0]
        for model in (full, *others):
            model.update(row, {0: 1.0}, answer)
    for model in others:
        np.testing.assert_allclose(model.weights(), full.weights(), rtol=1e-9, atol=1e-12)


@given(histories(), lams)
def test_learning_never_makes_the_answer_less_expected(history, lam):
    dim, steps = history
    contracting = [Full(dim, lam=lam), Kernel(dim, lam=lam, kernel="rbf"), Diagonal(dim, lam=lam, update="implicit")]
    for X, first, second, answer in steps:
        for model in contracting:
            before = model.scores(X)
            model.update(X, {first: 0.5, second: -0.5}, answer)
            after = model.scores(X)
            errors = [abs(answer - (s[first] - s[second]) / 2) for s in (before, after)]
            assert errors[1] <= errors[0] + 1e-9


@given(histories(), st.sampled_from([0.5, 1.0, 30.0]))
def test_margin_contracts_for_unit_rows_and_lam_from_a_half(history, lam):
    dim, steps = history
    model = Diagonal(dim, lam=lam, update="margin")
    for X, first, second, answer in steps:
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        unit = X / np.where(norms == 0, 1, norms)
        before = model.scores(unit)
        model.update(unit, {first: 0.5, second: -0.5}, answer)
        after = model.scores(unit)
        errors = [abs(answer - (s[first] - s[second]) / 2) for s in (before, after)]
        assert errors[1] <= errors[0] + 1e-9


@given(histories(), lams)
def test_coordinate_contracts_per_coordinate(history, lam):
    dim, steps = history
    model = Diagonal(dim, lam=lam, update="coordinate")
    for X, first, second, answer in steps:
        u = (X[first] - X[second]) / 2
        before = np.abs(answer - u * model.weights())
        model.update(X, {first: 0.5, second: -0.5}, answer)
        assert (np.abs(answer - u * model.weights()) <= before + 1e-9).all()


@given(histories(), lams, matrices(dim=(6, 6)))
def test_variances_never_grow(history, lam, X):
    dim, steps = history
    X = X[:, :dim]
    models = [Full(dim, lam=lam), Diagonal(dim, lam=lam), Kernel(dim, lam=lam)]
    known = [model.variances(X) for model in models]
    for step in steps:
        for i, model in enumerate(models):
            now = teach(model, [step]).variances(X)
            assert (now <= known[i] + 1e-9 / lam).all()
            known[i] = now


@given(histories(), matrices(dim=(6, 6)))
def test_contrasts_are_distances(history, X):
    dim, steps = history
    X = X[:, :dim]
    for model in (Full(dim), Diagonal(dim), Kernel(dim, kernel="linear")):
        teach(model, steps)
        A = np.linalg.inv(np.diag(model.precision())) if isinstance(model, Diagonal) else None
        A = np.linalg.inv(statistics(dim, steps, 1.0)[0]) if A is None else A
        for pivot in range(len(X)):
            Z = X - X[pivot]
            np.testing.assert_allclose(model.contrasts(X, pivot), np.einsum("ij,jk,ik->i", Z, A, Z), atol=1e-9)
            assert model.contrasts(X, pivot)[pivot] == 0


@given(matrices(dim=(2, 8)))
def test_unsorted_and_repeated_indices_give_the_dense_row(X):
    rng = np.random.default_rng(0)
    csr = csr_array(X)
    indices, data, indptr = [], [], [0]
    for i in range(len(X)):
        ids = csr.indices[csr.indptr[i] : csr.indptr[i + 1]]
        values = csr.data[csr.indptr[i] : csr.indptr[i + 1]]
        order = rng.permutation(ids.size)
        indices += [*ids[order], *ids[order]]
        data += [*(values[order] * 0.25), *(values[order] * 0.75)]
        indptr.append(len(indices))
    messy = csr_array((data, indices, indptr), shape=X.shape)
    for model in (Diagonal(X.shape[1]), Full(X.shape[1]), Kernel(X.shape[1])):
        twin = type(model)(X.shape[1])
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
        twin.update(messy, {0: 0.5, 1: -0.5}, 1.0)
        for measure in ("scores", "variances"):
            np.testing.assert_allclose(getattr(twin, measure)(messy), getattr(model, measure)(X), atol=1e-12)


@pytest.mark.parametrize("kind", [lambda: Full(5), lambda: Kernel(5), lambda: Diagonal(5, update="coordinate")])
def test_merge_adds_what_two_machines_learnt(kind):
    rng = np.random.default_rng(0)
    steps = [(rng.normal(size=(4, 5)), 0, 2, float(rng.choice([-1, 1]))) for _ in range(40)]
    whole, left, right = teach(kind(), steps), teach(kind(), steps[:15]), teach(kind(), steps[15:])
    X = rng.normal(size=(6, 5))
    left.merge(right)
    np.testing.assert_allclose(left.scores(X), whole.scores(X), atol=1e-9)
    np.testing.assert_allclose(left.variances(X), whole.variances(X), atol=1e-9)
    assert left.stats[0] == whole.stats[0]


def test_merge_refuses_what_does_not_add():
    with pytest.raises(ValueError, match="coordinate"):
        Diagonal(3).merge(Diagonal(3))
    with pytest.raises(ValueError, match="projection"):
        Full(3, projection="exact").merge(Full(3))
    with pytest.raises(ValueError, match="lam"):
        Full(3, lam=2.0).merge(Full(3))
    with pytest.raises(TypeError, match="one kind"):
        Full(3).merge(Diagonal(3))
    with pytest.raises(ValueError, match="budget"):
        Kernel(3, budget=4).merge(Kernel(3, budget=4))


def test_a_budget_keeps_the_factor_of_what_is_left():
    rng = np.random.default_rng(1)
    model = Kernel(4, kernel="rbf", budget=7, lam=0.3)
    for _ in range(60):
        X = rng.normal(size=(3, 4))
        model.update(X, {0: 0.5, 1: -0.5}, float(rng.choice([-1, 1])))
        items, pairs, entries = model.counts
        assert pairs <= 7
    stored = csr_array((model.data[:entries], model.indices[:entries], model.indptr[: items + 1]), shape=(items, 4))
    Z = stored.toarray()
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    U = np.zeros((items, pairs))
    U[np.arange(items), model.owner[:items]] = model.item[:items, 0]
    M = 0.3 * np.eye(pairs) + U.T @ K @ U
    L = np.tril(model.factor[:pairs, :pairs])
    np.testing.assert_allclose(L @ L.T, M, atol=1e-10)
    np.testing.assert_allclose(M @ model.pair[1, :pairs], model.pair[0, :pairs], atol=1e-9)


def test_a_budget_drops_the_weakest_but_never_the_newest():
    model = Kernel(3, kernel="linear", budget=2)
    for row, size in ((0, 1.0), (1, 0.01), (2, 0.001)):
        X = np.zeros((1, 3))
        X[0, row] = size
        model.update(X, {0: 1.0}, 1.0)
    assert model.weights()[1] == 0
    assert model.weights()[0] > 0
    assert model.weights()[2] > 0


def test_sherman_morrison_does_not_drift():
    rng = np.random.default_rng(0)
    model, A = Full(6), np.eye(6)
    for _ in range(20_000):
        X = rng.normal(size=(2, 6))
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
        u = (X[0] - X[1]) / 2
        A += np.outer(u, u)
    np.testing.assert_allclose(A @ model.inverse, np.eye(6), atol=1e-10)


def test_a_diverging_step_is_refused_and_changes_nothing():
    model = Diagonal(2, update="margin", lam=1e-3)
    X = np.array([[1.0, 1.0], [-1.0, -1.0]])
    model.table[0, 0] = 1e200
    before = model.table.copy()
    with pytest.raises(ArithmeticError, match="diverged"):
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
    np.testing.assert_array_equal(model.table, before)


@pytest.mark.parametrize("kind", [Diagonal, Full, Kernel, lambda d: Full(d, projection="exact"), Perceptron])
def test_values_too_large_are_refused_and_change_nothing(kind):
    model = kind(2)
    model.update([[1.0, 0.0], [0.0, 1.0]], {0: 5.0, 1: -5.0}, 1.0)
    before = {name: array.copy() for name, array in model.arrays().items()}
    for X, weight in (([[1e200, 0.0], [0.0, 1.0]], 0.5), ([[1.0, 0.0], [0.0, 1.0]], 1e200)):
        with pytest.raises(ArithmeticError, match="too large"):
            model.update(X, {0: weight, 1: -0.5}, 1.0)
    for name, array in model.arrays().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("update", ["implicit", "margin", "coordinate"])
def test_every_update_refuses_them(update):
    learner = make("gnr", dim=2, update=update)
    X = np.array([[1e200, 0.0], [0.0, 1.0]])
    choice = learner.choose(X, 1)
    with pytest.raises(ArithmeticError, match="too large"):
        learner.learn(X, choice, 1.0)
    assert learner.fresh


def test_the_perceptron_only_adds():
    model = Perceptron(3)
    model.update([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]], {0: 2.0, 1: -1.0}, -1.0)
    np.testing.assert_array_equal(model.weights(), [2.0, -1.0, 4.0])
