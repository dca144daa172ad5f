"""Every algorithm and model beside `conquer.reference`: the same choice in every round, scores to 1e-9.

1e-9 of scores around 1: both sides are exact but for rounding (1e-16 per step, some hundred steps) and for what a
projection leaves over when it stops (1e-12 per sweep, more where slabs are nearly parallel).
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import Literal, explicit
from scipy.sparse import csr_array
from strategies import histories

from conquer import reference
from conquer.registry import build_model, make

WIDE = ("gnu", "gnc", "ttu", "unr", "gnt")
DUELS = ("ttg", "gnr", "gnw", "tob", "sep", *WIDE)
MODELS = {
    "coordinate": {"model": "diagonal", "update": "coordinate"},
    "margin": {"model": "diagonal", "update": "margin", "lam": 1.0},
    "implicit": {"model": "diagonal", "update": "implicit"},
    "full": {"model": "full"},
    "linear kernel": {"model": "kernel", "kernel": "linear"},
}
PROJECTIONS = (None, "sequential", "exact")
DIM, POOL, ROUNDS, SEEDS = 7, 24, 100, (0, 1)

every_model = pytest.mark.parametrize("model", MODELS)
every_projection = pytest.mark.parametrize("projection", PROJECTIONS)


def fresh_rounds(rng, size):
    """(items, the same items): 2 to 6 new ones per round; some rounds have one twice, or one of zeros."""
    for t in range(ROUNDS):
        X = rng.normal(size=(2 + t % 5, DIM)) * size * (rng.random(DIM) < 0.6)
        if rng.random() < 0.2:
            X[rng.integers(len(X))] = X[0]
        if rng.random() < 0.1:
            X[-1] = 0.0
        yield X, X


def pool_rounds(rng, size, kernel):
    """(items, their explicit features): 2 to 6 of a pool with the origin in it; some rounds have one twice."""
    points = rng.normal(size=(POOL, DIM)) * size
    points[0] = 0.0
    features = explicit(points, **kernel)
    for t in range(ROUNDS):
        rows = rng.choice(POOL, 2 + t % 5, replace=False)
        rows[-1] = rows[0] if rng.random() < 0.1 else rows[-1]
        yield points[rows], features[rows]


def start(name, dim=DIM, **parameters):
    """A learner and its transcription over `dim` features."""
    learner = make(name, dim=DIM, **parameters)
    known = {"lam": 1.0, **learner.parameters}
    known["lam"] = (1 + known["alpha"]) ** 2 if known["lam"] is None else known["lam"]
    plain = known["model"] == "diagonal" or name == "banditron"
    return learner, Literal(name, known["lam"] * (np.ones(dim) if plain else np.eye(dim)), known)


def blurred(slow, phi, ticket):
    """Whether two items are equal but for rounding, so that nothing says which of them is the better one.

    That happens where a projection pulls two scores to 1, and before the first answer where k(x, x) = 1 for every x.
    """
    if slow.parameters.get("kernel") in ("rbf", "poly") and not slow.h:
        return True
    if slow.parameters.get("projection") is None or np.abs(phi @ slow.w).max() <= 1:
        return False
    return bool((np.diff(np.sort(slow.scores(phi, ticket))) < 1e-9).any())


def play(learner, slow, rounds, rng):
    """Both over the same rounds, tickets and answers; returns how often something worth seeing happened."""
    seen = {"silent": 0, "twins": 0, "projected": 0, "blurred": 0}
    taste = rng.normal(size=DIM)
    for X, phi in rounds:
        given = csr_array(X) if rng.random() < 0.5 else X
        ticket = int(rng.integers(0, 2**64, dtype=np.uint64))
        choice = learner.choose(given, ticket)
        ours, memo = slow.choose(phi, ticket)
        if blurred(slow, phi, ticket):
            seen["blurred"] += 1
            if slow.name in ("ttg", "gnr", "gnu", "gnc", "gnt", "gnw", "tob"):
                scores = slow.scores(phi, ticket)
                assert scores[choice.shown[0]] >= scores.max() - 1e-9, (choice.shown, scores)
        else:
            assert choice.shown == ours, (choice.shown, ours, slow.scores(phi, ticket))
        for key, value in memo.items():
            assert choice.memo[key] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(learner.scores(given), slow.scores(phi), rtol=0, atol=1e-9)
        np.testing.assert_allclose(learner.scores(given, ticket), slow.scores(phi, ticket), rtol=0, atol=1e-9)
        assert learner.eta == pytest.approx(slow.eta, rel=1e-9)
        seen["projected"] += bool(np.abs(phi @ slow.w).max() > 1)
        seen["twins"] += len({*map(bytes, X)}) < len(X)
        seen["silent"] += choice.query.name == "NONE"
        if choice.query.name == "NONE":
            continue
        liked = X @ taste
        if choice.query.name == "BEST":
            answer = 1.0 if liked[choice.shown[0]] == liked.max() else -1.0
        else:
            better = np.sign(liked[choice.shown[0]] - liked[choice.shown[1]])
            answer = float(better * rng.choice([1.0, 1.0, 0.4, 0.0, -1.0]))
        learner.learn(given, choice, answer)
        slow.learn(phi, choice.shown, memo, answer, ticket)
    if slow.parameters.get("kernel", "linear") == "linear":
        np.testing.assert_allclose(learner.model.weights(), slow.w, rtol=0, atol=1e-9)
    return seen


def play_fresh(name, projection=None, seeds=SEEDS, **parameters):
    """Runs of fresh items, and what was seen in all of them together."""
    total = {}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        learner, slow = start(name, projection=projection, **parameters)
        seen = play(learner, slow, fresh_rounds(rng, 1.0 if projection else 0.5), rng)
        total = {key: total.get(key, 0) + count for key, count in seen.items()}
    assert total["twins"] > 5 * len(seeds)
    assert total["blurred"] < 0.1 * ROUNDS * len(seeds)
    assert projection is None or total["projected"] > 5 * len(seeds)
    return total


@every_projection
@every_model
@pytest.mark.parametrize("name", DUELS)
def test_duels_equal_the_reference(name, model, projection):
    eta = {"eta": 0.3} if name in WIDE else {}
    seen = play_fresh(name, projection, **{"lam": 0.5, **eta, **MODELS[model]})
    assert (seen["silent"] > 10) == (name == "gnc")


@pytest.mark.parametrize("projection", [None, "exact"])
@pytest.mark.parametrize("model", ["coordinate", "margin", "implicit", "full"])
@pytest.mark.parametrize("name", ["gnr", "gnc", "confidit"])
def test_forgetting_equals_the_reference(name, model, projection):
    eta = {} if name == "gnr" else {"eta": 0.3}
    play_fresh(name, projection, **{"lam": 0.5, "forget": 0.9, **eta, **MODELS[model]})


@every_projection
@every_model
def test_confidit_equals_the_reference(model, projection):
    play_fresh("confidit", projection, **{"lam": 0.5, "eta": 0.3, "alpha": 0.4, **MODELS[model]})


@pytest.mark.parametrize(
    ("eta", "projection"), [("theory", "sequential"), ("theory", "exact"), ("tight", None), ("tight", "exact")]
)
@pytest.mark.parametrize("model", ["full", "linear kernel"])
@pytest.mark.parametrize("name", WIDE)
def test_bounds_equal_the_reference(name, model, eta, projection):
    drift = 0.5 if projection else 0.0  # unprojected scores are not bounded, so no bound with drift is
    play_fresh(name, projection, seeds=(2,), eta=eta, lam=0.5, U=2.0, Q=drift, delta=0.1, **MODELS[model])


@every_projection
@pytest.mark.parametrize(
    ("kernel", "name"), [(kernel, name) for kernel in ("rbf", "poly") for name in (*DUELS, "confidit")]
)
def test_kernels_equal_the_reference_on_explicit_features(kernel, name, projection):
    rng = np.random.default_rng(3)
    shape = {"kernel": kernel, "scale": 0.05, "degree": 3}
    learner, slow = start(name, POOL, model="kernel", projection=projection, lam=0.02, **shape)
    seen = play(learner, slow, pool_rounds(rng, 1.5, shape), rng)
    assert seen["blurred"] < 0.2 * ROUNDS
    assert projection is None or seen["projected"] > 10


@pytest.mark.parametrize("model", ["diagonal", "full", "kernel"])
@pytest.mark.parametrize("name", ["banditron", "random"])
def test_banditron_and_random_equal_the_reference(name, model):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        learner, slow = start(name, model=model)
        play(learner, slow, fresh_rounds(rng, 0.5), rng)


@every_model
@settings(max_examples=20)
@given(history=histories(), lam=st.sampled_from([2.0, 30.0]), pivot=st.integers(0, 1))
def test_w_and_widths_equal_the_reference_whatever_was_taught(model, history, lam, pivot):
    dim, steps = history
    chosen = {**MODELS[model], "lam": lam * (15 if model == "margin" else 1)}
    kind, reading = chosen.pop("model"), chosen.get("update", "")
    fast = build_model(kind, dim, **chosen)
    w, A = np.zeros(dim), chosen["lam"] * (np.ones(dim) if kind == "diagonal" else np.eye(dim))
    for X, first, second, answer in steps:
        fast.update(X, {first: 0.5, second: -0.5}, answer)
        w, A = reference.update(w, A, (X[first] - X[second]) / 2, answer, reading)
    np.testing.assert_allclose(fast.scores(X), reference.scores(w, X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(fast.variances(X), reference.variances(A, X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(fast.contrasts(X, pivot), reference.contrasts(A, X, pivot), rtol=0, atol=1e-9)
