"""Gradient descent on duels, the preference perceptron and feel-good sampling, against their pseudo-code."""

import math

import numpy as np
from literal import normal
from rivals.driving import compare, draw, largest, world

from conquer.registry import make


class LiteralDBGD:
    def __init__(self, dim):
        self.w = np.zeros(dim)

    def step(self, ticket):
        e = np.array([normal(ticket, 2 + r) for r in range(self.w.size)])
        return e / math.sqrt(sum(e * e))

    def choose(self, X, ticket):
        w = self.w + 0.5 * self.step(ticket)
        first, second = largest(list(X @ self.w), ticket, 0), largest(list(X @ w), ticket, 1)
        return (first,) if first == second else (first, second)

    def learn(self, X, shown, answer, ticket):
        if answer < 0:
            self.w = self.w + 0.1 * self.step(ticket)


class LiteralPerceptron:
    def __init__(self, dim):
        self.w = np.zeros(dim)

    def choose(self, X, ticket):
        first = largest(list(X @ self.w), ticket, 0)
        return first, largest(list(X @ self.w), ticket, 1, skip=first)

    def learn(self, X, shown, answer, ticket):
        better = shown[0] if answer > 0 else shown[1]
        self.w = self.w + X[better] - X[shown[0]]


class LiteralFGTS:
    """Every round's slope written out."""

    eta, mu, lam, pace, steps, batch = 0.25, 0.05, 1.0, 0.5, 2, 4

    def __init__(self, dim):
        self.theta, self.rounds = [np.zeros(dim), np.zeros(dim)], []

    def choose(self, X, ticket):
        first, second = (largest(list(X @ theta), ticket, j) for j, theta in enumerate(self.theta))
        return (first,) if first == second else (first, second)

    def slope(self, j, theta, X, shown, y):
        """Of eta ln(1 + exp(-y theta.z)) - mu max_a theta.(x_a - x_other)."""
        z = X[shown[0]] - X[shown[1]]
        feel = X[int(np.argmax(X @ theta))] - X[shown[1 - j]]
        return -self.eta * y * z / (1 + math.exp(y * theta @ z)) - self.mu * feel

    def learn(self, X, shown, answer, ticket):
        self.rounds.append((X, shown, answer))
        n, dim = len(self.rounds), X.shape[1]
        pace, batch = self.pace / (self.lam + self.eta * n), min(self.batch, n)
        for step in range(self.steps):
            chosen = [self.rounds[int(draw(ticket, step * batch + k) * n)] for k in range(batch)]
            for j in range(2):
                slope = self.lam * self.theta[j]
                for one in chosen:
                    slope = slope + (n / batch) * self.slope(j, self.theta[j], *one)
                noise = [normal(ticket, 2 + 2**20 + (2 * step + j) * dim + r) for r in range(dim)]
                self.theta[j] = self.theta[j] - pace * slope + math.sqrt(2 * pace) * np.array(noise)


def test_dbgd_follows_its_pseudo_code():
    compare("dbgd", LiteralDBGD(4), delta=0.5, gamma=0.1)


def test_preference_perceptron_follows_its_pseudo_code():
    compare("preference-perceptron", LiteralPerceptron(4))


def test_fgts_follows_its_pseudo_code():
    compare("fgts", LiteralFGTS(4), mu=0.05, steps=2, batch=4, history=500)


def test_the_perceptron_keeps_its_bound():
    """Shivaswamy & Joachims: with answers never wrong, sum of u*.(better - shown) <= |u*| sqrt(sum |update|^2)."""
    X, taste = world(300, 5, 4, 2)
    learner, gained, moved = make("preference-perceptron", dim=4), 0.0, 0.0
    for t in range(300):
        choice = learner.choose(X[t], t)
        first, second = choice.shown
        answer = 1.0 if taste @ (X[t][first] - X[t][second]) > 0 else -1.0
        if answer < 0:
            gained += taste @ (X[t][second] - X[t][first])
            moved += np.sum((X[t][second] - X[t][first]) ** 2)
        learner.learn(X[t], choice, answer)
    assert 0 < gained <= math.sqrt(moved) + 1e-9


def test_dbgd_moves_uphill_on_average():
    """From a w without an opinion on the taste, exactly the steps towards it win: their mean points to it."""
    X, taste = world(1, 400, 4, 4)
    start = 0.5 * np.linalg.svd(taste[None])[2][1]
    total = np.zeros(4)
    for ticket in range(800):
        learner = make("dbgd", dim=4, delta=1.0, gamma=1.0)
        learner.model.w[:] = start
        choice = learner.choose(X[0], ticket)
        if choice.query.name == "DUEL":
            lead = taste @ (X[0][choice.shown[0]] - X[0][choice.shown[1]])
            learner.learn(X[0], choice, 1.0 if lead > 0 else -1.0)
            total += learner.model.w - start
    assert total @ taste / np.linalg.norm(total) > 0.9


def test_the_chains_have_the_posteriors_variance():
    """Langevin sampling: from the prior alone the chains spread as N(0, I/lam)."""
    X = np.eye(2)
    ends = []
    for ticket in range(60):
        fresh = make("fgts", dim=2, eta=0.0, mu=0.0, lam=4.0, pace=0.2, steps=80, batch=1)
        choice = next(c for k in range(100) if (c := fresh.choose(X, ticket * 100 + k)).query.name == "DUEL")
        fresh.learn(X, choice, 1.0)
        ends.append(fresh.model.chains.ravel())
    variance = np.var(np.concatenate(ends))
    # 240 draws of variance 1/lam/(1 - pace/2), the discretised chain's: five standard errors.
    assert abs(variance * 4.0 * (1 - 0.2 / 2) - 1) < 5 * math.sqrt(2 / 240)
