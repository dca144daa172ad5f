"""What two items share cancels before anything is squared: a large shared feature changes no width and no choice."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm

from conquer import Rounds, make, reference, simulate
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel

DIM = 6
MODELS = {
    "diagonal": lambda dim: Diagonal(dim, update="coordinate"),
    "full": Full,
    "linear": lambda dim: Kernel(dim, kernel="linear"),
    "rbf": lambda dim: Kernel(dim, kernel="rbf", scale=0.3),
}
LEARNERS = {
    "diagonal": {"model": "diagonal"},
    "full": {"model": "full"},
    "linear": {"model": "kernel", "kernel": "linear"},
    "rbf": {"model": "kernel", "kernel": "rbf", "scale": 0.3},
}


def with_column(X, value):
    return np.column_stack([X, np.full(len(X), value)])


def taught(model, shared, rng, count=25):
    """The model after some answers on items that all have the shared feature, if there is one; and the last items."""
    for _ in range(count):
        X = rng.normal(size=(4, DIM)) * (rng.random((4, DIM)) < 0.7)
        given = X if shared is None else with_column(X, shared)
        model.update(given, {0: 0.5, 1: -0.5}, float(np.sign(X[0, 0] - X[1, 0])))
    return model, given


@pytest.mark.parametrize("shared", [1.0, 1e7, 1e9])
@pytest.mark.parametrize("name", MODELS)
def test_a_shared_feature_changes_no_contrast(name, shared):
    plain, X = taught(MODELS[name](DIM), None, np.random.default_rng(0))
    large, Y = taught(MODELS[name](DIM + 1), shared, np.random.default_rng(0))
    for pivot in range(4):
        np.testing.assert_allclose(large.contrasts(Y, pivot), plain.contrasts(X, pivot), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(large.scores(Y) - large.scores(Y)[0], plain.scores(X) - plain.scores(X)[0], atol=1e-9)


@pytest.mark.parametrize("rule", ["gnc", "gnt"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_shared_feature_silences_no_rule(name, rule):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, DIM)) / np.sqrt(DIM)
    sets = np.array([rng.choice(200, 5, replace=False) for _ in range(300)])
    rewards = np.clip(X[:, 0], -1, 1)
    for shared in (1e7, 1e9):
        traces = [
            simulate(
                make(rule, dim=items.shape[1], eta=0.3, **LEARNERS[name]), Rounds(items, sets, rewards), judge="perfect"
            )
            for items in (X, with_column(X, shared))
        ]
        # Widths agree to nine digits, so that a choice differs only where two values do not.
        assert (traces[0].shown == traces[1].shown).all(axis=1).mean() > 0.99
        assert abs(traces[0].regret.mean() - traces[1].regret.mean()) < 0.01


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["diagonal", "full", "linear"])
def test_contrasts_of_sparse_rows_are_those_of_dense_ones(name, seed):
    rng = np.random.default_rng(seed)
    dim, count = int(rng.integers(1, 40)), int(rng.integers(2, 7))
    model, w, A = MODELS[name](dim), np.zeros(dim), np.ones(dim) if name == "diagonal" else np.eye(dim)
    for _ in range(10):
        X = rng.normal(size=(count, dim)) * (rng.random((count, dim)) < rng.random())
        X[-1] = X[0] if rng.random() < 0.3 else X[-1]
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
        w, A = reference.update(w, A, (X[0] - X[1]) / 2, 1.0, "coordinate")
    rows = csr_array(X)
    for row in range(count):  # in no order
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        turn = rng.permutation(part.stop - part.start)
        rows.indices[part], rows.data[part] = rows.indices[part][turn], rows.data[part][turn]
    rows.has_sorted_indices = False
    for pivot in range(count):
        contrasts = model.contrasts(rows, pivot)
        np.testing.assert_allclose(contrasts, reference.contrasts(A, X, pivot), rtol=1e-9, atol=1e-13)
        assert all(contrasts[i] == 0.0 for i in range(count) if (X[i] == X[pivot]).all())


@pytest.mark.parametrize("name", ["full", "linear", "rbf"])
def test_a_draw_tells_equal_items_apart_by_the_ticket_alone(name):
    """Equal items get equal bits, so each is shown as often as the other: 600 fair coins, four deviations."""
    rng = np.random.default_rng(4)
    learner = make("gnt", dim=DIM, eta=0.3, **LEARNERS[name])
    for _ in range(30):
        X = rng.normal(size=(4, DIM))
        choice = learner.choose(X, rng)
        learner.learn(X, choice, 1.0)
    X = rng.normal(size=(5, DIM))
    X[3] = X[1] = X[4]
    seen = [learner.choose(X, ticket).shown[1] for ticket in range(4000)]
    counts = np.array([seen.count(k) for k in (1, 3, 4)])
    assert counts.sum() > 600
    assert (np.abs(counts - counts.sum() / 3) < 4 * np.sqrt(counts.sum() * 2 / 9)).all()


@pytest.mark.parametrize("name", ["full", "linear"])
def test_draws_differ_by_what_the_contrasts_say(name):
    """s_n + sqrt(eta) draw_n of two items differ with variance eta c: 4000 draws, four deviations of the variance."""
    rng = np.random.default_rng(5)
    learner = make("gnt", dim=DIM, eta=1.0, **LEARNERS[name])
    for _ in range(20):
        X = rng.normal(size=(2, DIM))
        learner.learn(X, learner.choose(X, rng), 1.0)
    X = rng.normal(size=(3, DIM))
    X[0] = 10 * learner.model.weights() / np.linalg.norm(learner.model.weights())  # the greedy one, ever
    gap = (learner.scores(X) @ [0, 1, -1]) / np.sqrt(learner.model.contrasts(X, 1)[2])
    shown = [learner.choose(X, ticket).shown for ticket in range(4000)]
    assert {first for first, _ in shown} == {0}
    chance = norm.cdf(gap)
    share = np.mean([second == 1 for _, second in shown])
    assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000)
    assert 0.05 < chance < 0.95


@pytest.mark.parametrize("seed", range(6))
def test_rbf_reads_sparse_rows_as_dense_ones(seed):
    """Rows in no order, with stored zeros and features of their own; scratch is left empty."""
    rng = np.random.default_rng(seed)
    dim, scale, lam = 12, 0.3, 0.5
    points = rng.normal(size=(6, dim)) * (rng.random((6, dim)) < rng.choice([0.2, 0.6, 1.0], (6, 1)))
    points[5] = points[2]
    rows = csr_array((6, dim))
    order = [rng.permutation(dim)[: rng.integers(6, dim + 1)] for _ in points]
    order = [np.union1d(one, np.flatnonzero(x))[::-1] for one, x in zip(order, points, strict=True)]
    rows = csr_array(
        (
            np.concatenate([x[one] for one, x in zip(order, points, strict=True)]),
            np.concatenate(order),
            np.cumsum([0, *map(len, order)]),
        ),
        shape=(6, dim),
    )
    gram = np.exp(-scale * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    model, U, y = Kernel(dim, kernel="rbf", scale=scale, lam=lam), [], []
    for turn in range(8):
        a, b = rng.choice(6, 2, replace=False)
        y.append((-1.0) ** turn)
        U.append(0.5 * (np.eye(6)[a] - np.eye(6)[b]))
        model.update(rows, {int(a): 0.5, int(b): -0.5}, y[-1])
    inner, met = np.array(U) @ gram @ np.array(U).T + lam * np.eye(8), gram @ np.array(U).T
    np.testing.assert_allclose(model.scores(rows), met @ np.linalg.solve(inner, y), rtol=0, atol=1e-12)
    cover = (gram - met @ np.linalg.solve(inner, met.T)) / lam
    for pivot in range(6):
        gaps = np.eye(6) - np.eye(6)[pivot]
        expected = np.einsum("ij,jk,ik->i", gaps, cover, gaps)
        np.testing.assert_allclose(model.contrasts(rows, pivot), expected, rtol=0, atol=1e-12)
    assert not model.dense.any()
