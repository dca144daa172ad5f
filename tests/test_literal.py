"""Choices and weights equal the literal transcription: every algorithm and model, dense and sparse, with projection."""

import numpy as np
import pytest
from literal import Literal, LiteralDiagonal, LiteralFull, LiteralKernel
from scipy.sparse import csr_array

from conquer.registry import find, make

OURS = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit", "banditron", "random")
DIM, COUNT = 12, 5


def literal_of(name, learner, kind, update):
    p = learner.parameters
    if kind == "kernel":
        model = LiteralKernel(p["lam"], p["kernel"], p["scale"], p["degree"])
    elif kind == "full":
        model = LiteralFull(DIM, p.get("lam", 1.0))
    else:
        model = LiteralDiagonal(DIM, p.get("lam", 1.0), update)
    return Literal(name, model, p.get("eta"), p.get("projection"), p.get("gamma"), p.get("alpha"))


def play(name, kind, rounds, sparse=False, update="implicit", seed=0, size=1.0, **parameters):
    """Run both over the same rounds, tickets and answers, comparing every choice and the final scores."""
    rng = np.random.default_rng(seed)
    row = find(name)
    if kind == "diagonal" and "update" in {p.name for p in row.parameters}:
        parameters["update"] = update
    learner = make(name, dim=DIM, model=kind, **parameters)
    slow = literal_of(name, learner, kind, update)
    asked = 0
    for _ in range(rounds):
        X = rng.normal(size=(COUNT, DIM)) * size
        if sparse:
            X *= rng.random(X.shape) < 0.4
        given = csr_array(X) if sparse else X
        ticket = int(rng.integers(0, 2**64, dtype=np.uint64))
        choice = learner.choose(given, ticket)
        shown, greedy, chance = slow.choose(X, ticket)
        assert choice.shown == shown
        if greedy is not None:
            assert choice.memo["greedy"] == greedy
            assert choice.memo["chance"] == pytest.approx(chance, rel=1e-12)
        if choice.query.name != "NONE":
            answer = float(rng.choice([-1.0, 1.0]))
            learner.learn(given, choice, answer)
            slow.learn(X, shown, greedy, answer, ticket)
            asked += 1
    X = rng.normal(size=(COUNT, DIM)) * 0.01
    expected = slow.model.scores(X, slow.model.w) if name != "random" else np.zeros(COUNT)
    np.testing.assert_allclose(learner.scores(X), expected, rtol=1e-8, atol=1e-11)
    assert asked > 0
    return learner, slow


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", OURS)
def test_diagonal_and_full_equal_the_listing(name, sparse):
    for kind in find(name).models:
        if kind == "kernel":
            continue
        learner, slow = play(name, kind, 200, sparse)
        if name != "random":
            np.testing.assert_allclose(learner.model.weights(), slow.model.w, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("update", ["implicit", "margin", "coordinate"])
@pytest.mark.parametrize("name", ["ttg", "gnc", "gnt", "confidit"])
def test_all_three_diagonal_updates(name, update):
    play(name, "diagonal", 200, update=update, lam=30.0)


DUELS = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit")
both = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


@pytest.mark.parametrize("projection", ["sequential", "exact"])
@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("name", DUELS)
def test_with_projection(name, kind, projection):
    for sparse in (False, True):
        learner, _ = play(name, kind, 200, sparse, size=2.0, projection=projection, lam=0.5)
        assert np.abs(learner.model.weights()).max() > 0


@pytest.mark.parametrize("name", DUELS)
def test_kernel_equals_the_explicit_dual(name):
    play(name, "kernel", 200, kernel="rbf", scale=0.05, lam=0.5)
    play(name, "kernel", 200, sparse=True, kernel="rbf", scale=0.05, lam=0.5)


@both
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_other_kernels(kernel, sparse):
    for name in ("gnc", "gnt"):
        play(name, "kernel", 200, sparse, kernel=kernel, scale=0.05, lam=0.5)


@both
@pytest.mark.parametrize("projection", ["sequential", "exact"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kernel_with_projection(kernel, projection, sparse):
    for name in ("gnc", "gnt", "ttu"):
        play(name, "kernel", 200, sparse, kernel=kernel, scale=0.05, projection=projection, lam=0.2)
