"""The contextual rivals against their pseudo-code, slowly and literally, and what their papers promise."""

import math

import numpy as np
import pytest
from literal import normal
from rivals.driving import compare, draw, largest, world

from conquer.reference import root
from conquer.registry import make
from conquer.saving import dumps, loads


def sigma(x):
    return 1 / (1 + math.exp(-x))


class Literal:
    """V, theta and the history as in the papers; `fit` is the estimator."""

    def __init__(self, dim, lam=1.0, kind="logistic"):
        self.lam, self.kind = lam, kind
        self.V, self.theta = lam * np.eye(dim), np.zeros(dim)
        self.pairs = []
        self.t = 0

    def norm(self, z):
        return math.sqrt(max(z @ np.linalg.inv(self.V) @ z, 0.0))

    def learn(self, X, shown, answer, ticket):
        self.t += 1
        self.update(X[shown[0]] - X[shown[1]], answer, 1.0)

    def update(self, z, answer, weight):
        y = (1 + answer) / 2
        if self.kind == "logistic":
            s = sigma(self.theta @ z)
            self.V = self.V + weight * s * (1 - s) * np.outer(z, z)
            self.theta = self.theta + weight * (y - s) * np.linalg.solve(self.V, z)
        elif self.kind == "linear":
            self.V = self.V + weight * np.outer(z, z)
            self.pairs.append((z, answer, weight))
            self.theta = np.linalg.solve(self.V, sum(2 * a * w * z for z, a, w in self.pairs))
        else:
            self.V = self.V + weight * np.outer(z, z)
            self.pairs.append((z, y, weight))
            self.theta = np.zeros_like(self.theta)
            for _ in range(30):
                slope = self.lam * self.theta - sum(w * (y - sigma(self.theta @ z)) * z for z, y, w in self.pairs)
                bend = self.lam * np.eye(z.size) + sum(
                    w * sigma(self.theta @ z) * sigma(-self.theta @ z) * np.outer(z, z) for z, y, w in self.pairs
                )
                self.theta = self.theta - np.linalg.solve(bend, slope)


def ordered(theta, X, i, j):
    return (i, j) if theta @ X[i] >= theta @ X[j] else (j, i)


class LiteralMaxInP(Literal):
    eta, t0 = 1.0, 20

    def choose(self, X, ticket):
        K = len(X)
        if self.t < self.t0:
            first, second = int(draw(ticket, 0) * K), int(draw(ticket, 1) * (K - 1))
            return first, second + (second >= first)
        C = [
            i
            for i in range(K)
            if all(self.theta @ (X[i] - X[j]) + self.eta * self.norm(X[i] - X[j]) > 0 for j in range(K) if j != i)
        ]
        if len(C) == 1:
            return (C[0],)
        _, i, j = max((self.norm(X[i] - X[j]), i, j) for i in C for j in C if i < j)
        return ordered(self.theta, X, i, j)


class LiteralCoLSTIM(Literal):
    c1, C, scale = 1.0, 2.0, 3.0

    def choose(self, X, ticket):
        B = draw(ticket, 0) < min(1.0, self.scale / math.sqrt(self.t + 1))
        values = []
        for i in range(len(X)):
            noise = -math.log(-math.log(draw(ticket, 1 + i if B else 1)))
            values.append(self.theta @ X[i] + min(max(noise, -self.C), self.C) * self.norm(X[i]))
        first = largest(values, ticket, 0)
        rest = [self.theta @ (x - X[first]) + self.c1 * self.norm(x - X[first]) for x in X]
        return first, largest(rest, ticket, 1, skip=first)


class LiteralPairUCB(Literal):
    eta = 1.0

    def choose(self, X, ticket):
        K = len(X)
        _, i, j = max(
            (self.theta @ (X[i] + X[j]) + self.eta * self.norm(X[i] - X[j]), i, j)
            for i in range(K)
            for j in range(i + 1, K)
        )
        return ordered(self.theta, X, i, j)


class LiteralNDB(Literal):
    eta = 1.0

    def choose(self, X, ticket):
        first = largest([self.theta @ x for x in X], ticket, 0)
        values = [self.theta @ x + self.eta * self.norm(x - X[first]) for x in X]
        return first, largest(values, ticket, 1, skip=first)


class LiteralMaxMinLCB(Literal):
    beta = 1.0

    def choose(self, X, ticket):
        def lower(i, j):
            return sigma(self.theta @ (X[i] - X[j]) - self.beta * self.norm(X[i] - X[j]))

        def upper(i, j):
            return sigma(self.theta @ (X[i] - X[j]) + self.beta * self.norm(X[i] - X[j]))

        M = [i for i in range(len(X)) if all(upper(i, j) > 0.5 for j in range(len(X)) if j != i)]
        if len(M) == 1:
            return (M[0],)
        first = max(M, key=lambda i: min(lower(i, j) for j in M if j != i))
        return first, min((j for j in M if j != first), key=lambda j: lower(first, j))


class LiteralTwoTS(Literal):
    eta = 1.0

    def choose(self, X, ticket):
        K, S = len(X), np.linalg.inv(self.V)
        G = (X - X[0]) @ S @ (X - X[0]).T
        F = root(G)
        draws = [
            X @ self.theta + math.sqrt(self.eta) * F @ [normal(ticket, 2 + K * j + k) for k in range(K)]
            for j in range(2)
        ]
        first, second = int(np.argmax(draws[0])), int(np.argmax(draws[1]))
        return (first,) if first == second else (first, second)


class LiteralVACDB:
    alpha, beta = 0.3, 1.0

    def __init__(self, dim):
        self.layers = {1: Literal(dim, 2.0**-2, "mle"), 2: Literal(dim, 2.0**-4, "mle")}
        self.last = None

    def radius(self, level):
        return self.beta

    def choose(self, X, ticket):
        A, level = list(range(len(X))), 1
        while True:
            layer = self.layers[level]
            widths = {(i, j): layer.norm(X[i] - X[j]) for i in A for j in A if i < j}
            most = max(widths.values(), default=0.0)
            if most <= self.alpha:
                _, i, j = max(
                    (layer.theta @ (X[i] + X[j]) + self.radius(level) * layer.norm(X[i] - X[j]), i, j)
                    for i in A
                    for j in A
                )
                self.last = None
                return (i,) if i == j else ordered(layer.theta, X, i, j)
            if most > 2.0**-level:
                i, j = max(widths, key=widths.get)
                self.last = (level, 2.0**-level / most)
                return ordered(layer.theta, X, i, j)
            bar = max(layer.theta @ X[i] for i in A) - 2.0**-level * self.radius(level)
            A, level = [i for i in A if layer.theta @ X[i] >= bar], level + 1

    def learn(self, X, shown, answer, ticket):
        if self.last is not None:
            level, omega = self.last
            self.layers[level].update(X[shown[0]] - X[shown[1]], answer, omega**2)


@pytest.mark.parametrize("kind", ["logistic", "linear", "mle"])
@pytest.mark.parametrize(
    ("name", "rule", "parameters"),
    [
        ("maxinp", LiteralMaxInP, {"eta": 1.0, "warmup": 20}),
        ("colstim", LiteralCoLSTIM, {"eta": 1.0, "clip": 2.0, "coupling": 3.0}),
        ("pairucb", LiteralPairUCB, {"eta": 1.0}),
        ("ndb", LiteralNDB, {"eta": 1.0}),
        ("maxminlcb", LiteralMaxMinLCB, {"eta": 1.0}),
        ("twots", LiteralTwoTS, {"eta": 1.0}),
    ],
)
def test_choices_follow_the_pseudo_code(name, rule, parameters, kind):
    rounds = 200 if kind != "mle" or name == "maxinp" else 60
    compare(name, rule(4, 1.0, kind), model="full", estimator=kind, rounds=rounds, least=10, **parameters)


def test_vacdb_follows_its_layers():
    compare("vacdb", LiteralVACDB(4), model="full", estimator="mle", alpha=0.3, beta=1.0, rounds=200)


def test_practice_is_the_papers_choice():
    learner = make("colstim", dim=10, model="full", eta="practice", warmup="practice")
    assert learner.model.select.eta == learner.model.select.clip == math.sqrt(10 * math.log(2000))
    assert learner.model.select.scale == 10 * math.log(10 * 2000)
    assert learner.model.warmup(30) == 300


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
    eta, held = 12.0, 0
    learner = make("maxinp", dim=4, model="full", estimator="mle", eta=eta)
    rng = np.random.default_rng(0)
    for t in range(400):
        choice = learner.choose(X[t], t)
        estimator = learner.model.estimator
        error = estimator.theta - 2.0 * taste
        if math.sqrt(error @ np.linalg.inv(estimator.spread.S) @ error) <= eta:
            held += 1
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
    assert held > 300


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
        ("toptwo", {"model": "diagonal", "estimator": "linear", "window": 7}),
        ("twots", {"model": "kernel", "budget": 10, "gate": "gnc"}),
        ("vacdb", {"model": "full", "estimator": "mle", "alpha": 0.3}),
        ("rank-breaking", {"model": "full", "estimator": "probit", "robust": 0.3}),
        ("maxminlcb", {"model": "kernel", "estimator": "mle", "kernel": "poly", "scale": 2.0}),
        ("ucb-mnl", {"model": "full", "estimator": "mle"}),
        ("rucb", {"arms": "features"}),
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
        ("maxinp", {"estimator": "mle"}, "does not go with"),
        ("maxinp", {"estimator": "other"}, "estimator must be one of"),
        ("maxinp", {"eta": -1.0}, "eta must be"),
        ("maxinp", {"gate": "door"}, "gate must be one of"),
        ("maxinp", {"warmup": -1}, "warmup must be"),
        ("toptwo", {"forget": 0.9}, "only estimator='linear' forgets"),
        ("toptwo", {"estimator": "linear", "forget": 0.9, "window": 3}, "choose forget or window"),
        ("vacdb", {"alpha": 0.0}, "alpha must be"),
        ("rucb", {"arms": "colour"}, "arms must be one of"),
        ("ucb-mnl", {"show": 1}, "show must be"),
        ("ucb-mnl", {"estimator": "mle"}, "does not go with"),
        ("ucb-mnl", {"estimator": "other"}, "estimator must be one of"),
        ("maxminlcb", {"estimator": "logistic"}, "does not go with"),
        ("maxminlcb", {"estimator": "mle", "budget": 3}, "takes no budget"),
        ("maxminlcb", {"estimator": "mle", "kernel": "cubic"}, "kernel must be one of"),
        ("vacdb", {"robust": 0.0}, "robust must be"),
    ],
)
def test_bad_options_are_refused_by_name(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(name, dim=4, **parameters)
