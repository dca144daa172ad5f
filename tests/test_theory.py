"""The bounds where they bite, and the confidence that they rest on, including that it fails when it should."""

import math
import re

import numpy as np
import pytest

from conquer.kernels.rounds import settings as st
from conquer.metrics import log_slope
from conquer.registry import make
from conquer.rows import Rounds
from conquer.simulation import simulate
from conquer.theory import lemma1, questions, theorem1, theorem2
from conquer.types import Query


def linear_world(seed, dim, count, rounds):
    """Fresh unit-norm Gaussian items each round and a unit true vector."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds * count, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    truth = rng.normal(size=dim)
    truth /= np.linalg.norm(truth)
    return Rounds(X, np.arange(rounds * count).reshape(rounds, count), X @ truth), truth


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ttg", {}),
        ("gnr", {}),
        ("gnu", {}),
        ("gnc", {"eta": 10.0}),
        ("gnt", {"eta": 0.3}),
    ],
)
def test_regret_in_linear_worlds_is_sublinear(name, parameters):
    slopes = []
    for seed in range(20):
        rounds, _ = linear_world(seed, 20, 10, 20_000)
        slopes.append(log_slope(simulate(name, rounds, model="full", seed=seed, **parameters).regret))
    assert np.median(slopes) <= 0.4, slopes
    assert max(slopes) <= 0.6, slopes


def failures(mode, divide, runs=40, rounds=150, delta=0.1):
    """The number of runs in which a width once failed to cover the true difference of two shown scores."""
    projection = "exact" if mode == "theory" else None
    failed = 0
    for seed in range(runs):
        data, _ = linear_world(1000 + seed, 4, 5, rounds)
        learner = make("gnr", dim=4, model="full", projection=projection)
        bounded = make("gnc", dim=4, model="full", eta=mode, delta=delta, projection=projection)
        rng = np.random.default_rng(seed)
        bad = False
        for t, here in enumerate(data):
            eta = 2.0 * bound(mode, learner, delta) / divide
            assert divide != 1 or t > 0 or eta == pytest.approx(bounded.eta)
            scores, contrasts = learner.scores(here.items), learner.model.contrasts(here.items, 0)
            gaps = np.abs((scores - scores[0]) - (here.rewards - here.rewards[0]))
            bad = bad or bool((gaps > np.sqrt(eta * contrasts) + 1e-12).any())
            choice = learner.choose(here.items, rng)
            m, n = choice.shown
            answer = 1.0 if rng.random() < (1 + (here.rewards[m] - here.rewards[n]) / 2) / 2 else -1.0
            learner.learn(here.items, choice, answer)
        failed += bad
    return failed


def bound(mode, learner, delta, lam=1.0, U=1.0):
    """eta_t written out again from its definition."""
    answers, sum_h, sum_loss = learner.model.stats[[st.LEARNT, st.SUM_H, st.SUM_LOSS_H]]
    if mode == "theory":
        return lam / 2 * U**2 + 2 * sum_h + 36 * np.log((1 + answers + 4) / delta)
    return lam / 2 * U**2 + 0.5 * sum_loss + np.log(1 / delta)


@pytest.mark.parametrize("mode", ["theory", "tight"])
def test_confidence_holds_and_fails_when_divided_by_a_thousand(mode):
    runs, delta = 40, 0.1
    assert failures(mode, 1) <= runs * delta
    assert failures(mode, 1000) > runs * delta


def test_running_sums_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    learner = make("gnr", dim=3, model="full")
    A, w, sum_h, sum_loss = np.eye(3), np.zeros(3), 0.0, 0.0
    for _ in range(50):
        X = rng.normal(size=(4, 3))
        choice = learner.choose(X, rng)
        m, n = choice.shown
        learner.learn(X, choice, 1.0)
        u = (X[m] - X[n]) / 2
        loss = 1.0 - u @ w
        A += np.outer(u, u)
        h = u @ np.linalg.solve(A, u)
        w = w + loss * np.linalg.solve(A, u)
        sum_h, sum_loss = sum_h + h, sum_loss + loss**2 * h
    np.testing.assert_allclose(learner.model.stats[:3], [50, sum_h, sum_loss], rtol=1e-9)


@pytest.mark.parametrize("model", ["full", "kernel"])
@pytest.mark.parametrize("mode", ["theory", "tight"])
def test_eta_follows_its_definition_after_every_answer(mode, model):
    rng = np.random.default_rng(0)
    kernel = {"kernel": "linear"} if model == "kernel" else {}
    learner = make("gnc", dim=3, model=model, eta=mode, projection="exact", delta=0.1, U=2.0, Q=0.5, lam=1.5, **kernel)
    A, learnt = 1.5 * np.eye(3), []
    for _ in range(60):
        X = rng.normal(size=(4, 3)) * 0.4
        choice = learner.choose(X, rng)
        if choice.query == Query.NONE:
            continue
        m, n = choice.shown
        u, answer = (X[m] - X[n]) / 2, float(rng.choice([-1.0, 1.0]))
        before = learner.scores(X)
        learner.learn(X, choice, answer)
        A += np.outer(u, u)
        learnt.append((answer - (before[m] - before[n]) / 2, u @ np.linalg.solve(A, u)))
        losses, h = np.array(learnt).T
        start = 1.5 / 2 * 2.0**2 + 2 * 0.5
        theory = start + 2 * h.sum() + 36 * np.log((1 + len(h) + 4) / 0.1)
        tight = start + 0.5 * (losses**2 * h).sum() + np.log(1 / 0.1)
        assert learner.eta == pytest.approx(2 * (theory if mode == "theory" else tight), rel=1e-9)
    assert len(learnt) > 20


@pytest.mark.parametrize("mode", ["theory", "tight"])
def test_lemma_1_round_by_round(mode):
    for seed in range(5):
        data, _ = linear_world(seed, 3, 6, 400)
        learner = make("gnc", dim=3, model="full", eta=mode, projection="exact", delta=0.1)
        rng = np.random.default_rng(seed)
        for here in data:
            scores, eta = learner.scores(here.items), learner.eta
            covered = True
            for pivot in range(6):
                gaps = np.abs((scores - scores[pivot]) - (here.rewards - here.rewards[pivot]))
                covered &= bool((gaps <= np.sqrt(eta * learner.model.contrasts(here.items, pivot)) + 1e-12).all())
            choice = learner.choose(here.items, rng)
            shown = list(choice.shown)
            regret = here.rewards.max() - here.rewards[shown].max()
            silent = choice.query == Query.NONE
            confusion = 0.0 if silent else learner.model.contrasts(here.items, shown[0])[shown[1]]
            if covered:
                assert regret <= lemma1(confusion, eta, silent=silent) + 1e-9
            if not silent:
                chance = (1 + (here.rewards[shown[0]] - here.rewards[shown[1]]) / 2) / 2
                learner.learn(here.items, choice, 1.0 if rng.random() < chance else -1.0)


def test_theorem_1_where_it_bites():
    T = 1_000_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rounds = Rounds(X, rng.integers(0, 4000, (T, 4)), X @ [0.6, -0.8])
    trace = simulate("gnc", rounds, model="full", eta="theory", projection="exact", seed=1)
    regret = np.cumsum(trace.regret)
    assert theorem1(T, 2) < 0.7 * T
    assert theorem1(T, 2, paper=True) < 0.35 * T
    for t in (1_000, 10_000, 100_000, T):
        assert regret[t - 1] <= theorem1(t, 2)


def test_the_bounds_are_their_formulae():
    T, D, lam, U, Q, delta = 5000, 3, 2.0, 1.5, 0.7, 0.1
    a = lam / 2 * U**2 + 36 * np.log((T + 4) / delta)
    b = 2 * D * np.log(1 + T / (lam * D))
    right = 2 * Q + 2 * np.sqrt(2 * T) * (np.sqrt((2 * Q + a) * b) + b)
    printed = 2 * Q + np.sqrt(2 * T) * (np.sqrt((2 * Q + a) * b) + b)
    settings = {"lam": lam, "U": U, "Q": Q, "delta": delta}
    assert theorem1(T, D, **settings) == pytest.approx(right)
    assert theorem1(T, D, paper=True, **settings) == pytest.approx(printed)
    assert theorem1(20_000, 20) > 2 * 20_000
    assert theorem2(T, D, 7, **settings) > theorem1(T, D, **settings)


NO_NUMBERS = (math.nan, math.inf, -math.inf, True, "1")


@pytest.mark.parametrize(
    ("call", "name", "values"),
    [
        (lambda **bad: theorem1(**{"T": 10, "D": 2, **bad}), "T", (0, 1.5)),
        (lambda **bad: theorem1(**{"T": 10, "D": 2, **bad}), "D", (0, 1.5)),
        (lambda **bad: theorem1(10, 2, **bad), "lam", (0.5, -1)),
        (lambda **bad: theorem1(10, 2, **bad), "U", (-1,)),
        (lambda **bad: theorem1(10, 2, **bad), "Q", (-0.1,)),
        (lambda **bad: theorem1(10, 2, **bad), "delta", (0, 1, -1)),
        (lambda **bad: theorem2(10, 2, **bad), "S", (0, 2.5)),
        (lambda **bad: theorem2(10, 2, 3, **bad), "Q", (-1,)),
        (lambda **bad: lemma1(**{"confusion": 1, "eta": 1, **bad}), "confusion", (-1,)),
        (lambda **bad: lemma1(**{"confusion": 1, "eta": 1, **bad}), "eta", (-1,)),
        (lambda **bad: lemma1(1, 1, **bad), "drift", (-1,)),
        (lambda **bad: questions(**{"gap": 1, "D": 2, **bad}), "gap", (0, -1, 2.1)),
        (lambda **bad: questions(**{"gap": 1, "D": 2, **bad}), "D", (0, 1.5)),
        (lambda **bad: questions(1, 2, **bad), "eta", (0, -1)),
        (lambda **bad: questions(1, 2, **bad), "asked", (-1, 1.5)),
        (lambda **bad: questions(1, 2, **bad), "lam", (0, -1)),
        (lambda **bad: questions(1, 2, **bad), "U", (-1,)),
        (lambda **bad: questions(1, 2, **bad), "delta", (0, 1)),
    ],
)  # fmt: skip
def test_values_outside_a_bound_are_refused_by_name(call, name, values):
    for value in (*values, *NO_NUMBERS):
        with pytest.raises(ValueError, match=rf"^{name} must be .*got {re.escape(repr(value))}$"):
            call(**{name: value})
