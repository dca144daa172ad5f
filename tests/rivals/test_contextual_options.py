"""The contextual rivals' options, gates and guarantees."""

import math

import numpy as np
import pytest
from rivals.driving import draw, largest, world

from conquer.registry import make
from conquer.saving import dumps, loads


def test_colstim_shares_its_noise_when_the_coin_says_so():
    """With one shared draw the noise is a width bonus; with noise of their own the items differ."""
    X = np.eye(5)
    shared = make("colstim", dim=5, model="full", coupling=0.0)
    free = make("colstim", dim=5, model="full", coupling=1e9)
    # At the start all these items have one width, so a shared draw leaves the first choice to the tie-breaking draw.
    firsts = {t: (shared.choose(X, t).shown[0], free.choose(X, t).shown[0]) for t in range(300)}
    for t, (first, other) in firsts.items():
        noise = [draw(t, 1 + k) for k in range(5)]
        assert other == int(np.argmax(noise))
        assert first == largest([0.0] * 5, t, 0)


@pytest.mark.parametrize("estimator", ["linear", "logistic", "probit", "mle", "mle-curved"])
def test_every_selector_runs_with_every_estimator(estimator):
    X, taste = world(60, 5, 4, 3)
    for name in ("maxinp", "colstim", "pairucb", "vacdb", "twots", "maxminlcb", "ndb", "toptwo"):
        learner = make(name, dim=4, model="full", estimator=estimator)
        for t in range(60):
            choice = learner.choose(X[t], t)
            if choice.query.name == "DUEL":
                lead = (X[t] @ taste)[list(choice.shown)]
                learner.learn(X[t], choice, 1.0 if lead[0] > lead[1] else -1.0)
        regret = np.mean([(X[t] @ taste).max() - (X[t] @ taste)[learner.scores(X[t]).argmax()] for t in range(60)])
        assert regret < 0.1, (name, regret)


def test_maxinp_never_drops_the_best_item_while_the_confidence_event_holds():
    """Its analysis: with widths that cover theta, the best item stays a candidate and the gap is at most 2 eta |z|."""
    X, taste = world(400, 6, 4, 5)
    eta, covered = 12.0, 0
    learner = make("maxinp", dim=4, model="full", estimator="mle", eta=eta)
    rng = np.random.default_rng(0)
    for t in range(400):
        choice = learner.choose(X[t], t)
        estimator = learner.model.estimator
        error = estimator.theta - 2.0 * taste
        if math.sqrt(error @ np.linalg.inv(estimator.spread.S) @ error) <= eta:
            covered += 1
            best = int((X[t] @ taste).argmax())
            if choice.query.name == "NONE":
                assert choice.shown == (best,)
            else:
                widest = max(
                    math.sqrt((X[t][i] - X[t][j]) @ estimator.spread.S @ (X[t][i] - X[t][j]))
                    for i in choice.shown
                    for j in choice.shown
                )
                for i in choice.shown:
                    assert 2.0 * taste @ (X[t][best] - X[t][i]) <= 2 * eta * widest + 1e-9
        if choice.query.name == "DUEL":
            lead = 2.0 * taste @ (X[t][choice.shown[0]] - X[t][choice.shown[1]])
            learner.learn(X[t], choice, 1.0 if rng.random() < 1 / (1 + math.exp(-lead)) else -1.0)
    assert covered > 300


def test_gates_fall_silent_and_aurora_does_whenever_gnc_does():
    X, taste = world(300, 6, 4, 7)
    loud = make("pairucb", dim=4, model="full")
    silent = dict.fromkeys(("aurora", "gnc", "selective"), 0)
    for t in range(300):
        choice = loud.choose(X[t], t)
        loud.learn(X[t], choice, float(np.sign(taste @ (X[t][choice.shown[0]] - X[t][choice.shown[1]]))))
        quiet = {}
        for name in silent:
            gated = make("pairucb", dim=4, model="full", gate=name)
            gated.restore(loud.arrays())
            quiet[name] = gated.choose(X[t], t).query.name == "NONE"
            silent[name] += quiet[name]
        assert quiet["aurora"] or not quiet["gnc"]
    assert silent["aurora"] >= silent["gnc"] > 50
    assert silent["selective"] > 50


def test_robust_weights_limit_what_one_answer_can_do():
    """RCDB: the step of an answer is at most alpha times the inverse root of V's smallest eigenvalue."""
    X, _ = world(50, 5, 4, 11)
    plain, robust = (make("pairucb", dim=4, model="full", robust=r) for r in (None, 0.1))
    for learner in (plain, robust):
        learner.learn(X[0], learner.choose(X[0], 0), 1.0)
    step = np.linalg.norm(robust.model.estimator.inner.theta)
    assert step <= 0.1 * 0.5 + 1e-12 < np.linalg.norm(plain.model.estimator.theta)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("pairucb", {"model": "full", "estimator": "mle"}),
        ("maxinp", {"model": "full", "estimator": "mle-curved", "warmup": 5}),
        ("colstim", {"model": "diagonal", "estimator": "probit", "robust": 0.3}),
        ("toptwo", {"model": "full", "estimator": "linear", "forget": 0.9}),
        ("toptwo", {"model": "diagonal", "estimator": "linear", "forget": 0.9}),
        ("twots", {"model": "kernel", "budget": 10, "gate": "gnc"}),
        ("vacdb", {"model": "full", "estimator": "mle", "alpha": 0.3}),
        ("rank-breaking", {"model": "full", "estimator": "probit", "robust": 0.3}),
        ("maxminlcb", {"model": "kernel", "estimator": "mle", "kernel": "poly", "scale": 2.0}),
        ("ucb-mnl", {"model": "full", "estimator": "mle"}),
    ],
)
def test_options_survive_a_file(name, parameters):
    X, taste = world(60, 5, 4, 13)
    X[:] = X[0] if name == "rucb" else X
    learner = make(name, dim=4, **parameters)
    for t in range(60):
        if t in (0, 3, 30):
            learner = loads(dumps(learner))[0]
        choice = learner.choose(X[t], t)
        twin = loads(dumps(learner))[0]
        assert twin.choose(X[t], t) == choice
        if choice.query.name == "DUEL":
            answer = float(np.sign(taste @ (X[t][choice.shown[0]] - X[t][choice.shown[1]])))
            learner.learn(X[t], choice, answer)
            twin.learn(X[t], choice, answer)
        for one, two in zip(learner.arrays().values(), twin.arrays().values(), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("maxinp", {"estimator": "mle"}, "model='diagonal' takes estimator='linear' or"),
        ("maxinp", {"estimator": "other"}, "estimator must be one of"),
        ("maxinp", {"eta": -1.0}, "eta must be"),
        ("maxinp", {"gate": "door"}, "gate must be one of"),
        ("maxinp", {"warmup": -1}, "warmup must be"),
        ("toptwo", {"forget": 0.9}, "forget=0.9 needs estimator='linear', got 'logistic'"),
        ("vacdb", {"alpha": 0.0}, "alpha must be"),
        ("ucb-mnl", {"show": 1}, "show must be"),
        ("ucb-mnl", {"estimator": "mle"}, "estimator='mle' needs model='full', got 'diagonal'"),
        ("ucb-mnl", {"estimator": "other"}, "estimator must be one of"),
        ("maxminlcb", {"estimator": "logistic"}, "model='kernel' takes estimator='linear' or 'mle', got 'logistic'"),
        ("maxminlcb", {"estimator": "mle", "budget": 3}, "and no budget, got 4 features and budget=3"),
        ("maxminlcb", {"estimator": "mle", "kernel": "cubic"}, "kernel must be one of"),
        ("vacdb", {"robust": 0.0}, "robust must be"),
    ],
)
def test_bad_options_are_refused_by_name(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(name, dim=4, **parameters)
