"""V, B and the sum of |A^-1 x| of all pairs against explicit inverses and Gram matrices."""

import numpy as np
import pytest

from conquer.models.diagonal import Diagonal, Perceptron
from conquer.models.full import Full
from conquer.models.kernel import Kernel

DIM, COUNT, ANSWERS = 6, 7, 40


def taught(model, seed=0, answers=ANSWERS):
    """(X, U): items, and the half-differences that the model has learnt."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(COUNT, model.dim))
    X[3] = X[1]
    shown = []
    for _ in range(answers):
        a, b = rng.choice(COUNT, 2, replace=False)
        model.update(X, {a: 0.5, b: -0.5}, rng.choice([-1.0, 0.3, 1.0]))
        shown.append((X[a] - X[b]) / 2)
    return X, np.array(shown).reshape(-1, model.dim)


def expected(X, U, lam):
    inverse = np.linalg.inv(lam * np.eye(X.shape[1]) + U.T @ U)
    gaps = X[:, None] - X
    moved = gaps @ inverse
    return np.einsum("ijr,rs,ijs->ij", gaps, inverse, gaps), (moved**2).sum(axis=2), np.abs(moved).sum(axis=2)


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("answers", [0, 1, ANSWERS])
def test_full_is_the_explicit_inverse(lam, answers):
    model = Full(DIM, lam=lam)
    X, U = taught(model, answers=answers)
    for found, wanted in zip(model.pairs(X), expected(X, U, lam), strict=True):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", [Full, lambda dim, lam: Kernel(dim, lam=lam, kernel="linear")])
@pytest.mark.parametrize("mixing", [0.3, 0.5, 32.0])
def test_the_gain_is_a_determinant(kind, mixing):
    model = kind(DIM, lam=0.5)
    _, U = taught(model)
    expected_ = np.linalg.slogdet(np.eye(DIM) + U.T @ U / mixing)[1]
    assert model.gain(mixing) == pytest.approx(expected_, rel=1e-9)
    assert kind(DIM, lam=0.5).gain(mixing) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("lam", [0.001, 1.0, 30.0])
def test_a_linear_kernel_is_the_full_model(lam):
    full, dual = Full(DIM, lam=lam), Kernel(DIM, lam=lam, kernel="linear")
    X, _ = taught(full)
    taught(dual)
    for one, two in zip(full.pairs(X)[:2], dual.pairs(X)[:2], strict=True):
        assert one * lam == pytest.approx(two * lam, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_other_kernels_are_their_gram_matrices(kernel):
    lam, scale, degree = 0.5, 0.3, 3
    model = Kernel(DIM, lam=lam, kernel=kernel, scale=scale, degree=degree)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(COUNT, DIM))
    shown = [tuple(rng.choice(COUNT, 2, replace=False)) for _ in range(15)]
    for a, b in shown:
        model.update(X, {a: 0.5, b: -0.5}, 1.0)

    def k(x, y):
        if kernel == "rbf":
            return np.exp(-scale * ((x - y) ** 2).sum())
        return ((scale * x @ y + 1) / np.sqrt((scale * x @ x + 1) * (scale * y @ y + 1))) ** degree

    K = np.array([[k(x, y) for y in X] for x in X])
    S = np.zeros((15, COUNT))
    for row, (a, b) in enumerate(shown):
        S[row, a], S[row, b] = 0.5, -0.5
    middle = np.linalg.inv(lam * np.eye(15) + S @ K @ S.T)
    V, B, _ = model.pairs(X)
    for i in range(COUNT):
        for j in range(COUNT):
            d = np.eye(COUNT)[i] - np.eye(COUNT)[j]
            met = S @ K @ d
            s = middle @ met
            v = (d @ K @ d - s @ met) / lam
            assert V[i, j] == pytest.approx(v, rel=1e-9, abs=1e-12)
            # ||A^-1 d||^2 in the kernel's own space, term by term.
            b = (d @ K @ d - 2 * s @ met + s @ (S @ K @ S.T) @ s) / lam**2
            assert B[i, j] == pytest.approx(b, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("model", [Full(DIM), Kernel(DIM, kernel="linear"), Kernel(DIM), Kernel(DIM, kernel="poly")])
def test_equal_items_are_at_no_distance(model):
    X, _ = taught(model)
    V, B, _ = model.pairs(X)
    for matrix in (V, B):
        assert matrix[1, 3] == matrix[3, 1] == 0.0
        assert (matrix.diagonal() == 0.0).all()
        assert (matrix == matrix.T).all()
        assert (matrix >= 0.0).all()
    assert model.pairs(X[:1])[0].tolist() == [[0.0]]


@pytest.mark.parametrize("kind", [Full, lambda dim: Kernel(dim, kernel="linear")])
def test_what_all_items_share_costs_no_digits(kind):
    plain, shifted = kind(DIM), kind(DIM)
    X, _ = taught(plain)
    taught(shifted)
    far = X.copy()
    far[:, 0] = 2.0**40
    near = X.copy()
    near[:, 0] = 0.0
    for one, two in zip(plain.pairs(near)[:2], shifted.pairs(far)[:2], strict=True):
        assert one == pytest.approx(two, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("model", [Diagonal(DIM), Perceptron(DIM)])
def test_a_model_without_the_variance_of_a_difference_says_so(model):
    with pytest.raises(ValueError, match="only the full and the kernel model"):
        model.pairs(np.eye(DIM))
