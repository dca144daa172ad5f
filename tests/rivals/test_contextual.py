"""The contextual rivals against their pseudo-code, slowly and literally, and what their papers promise."""

import math

import numpy as np
import pytest
from literal import normal
from rivals.driving import compare, draw, largest

from conquer.reference import root
from conquer.registry import make


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
    options = learner.model.select.keywords
    assert options["eta"] == options["clip"] == math.sqrt(10 * math.log(2000))
    assert options["scale"] == 10 * math.log(10 * 2000)
    assert (learner.model.warmup, learner.model.per_item) == (0, 10)  # D random rounds per item
