"""More than two shown: answers as numbers, and the three learners against slow transcriptions."""

import math

import numpy as np
import pytest
from rivals.driving import draw, largest, world

from conquer.answers import answer_of
from conquer.registry import make
from conquer.session import Session


def run(name, transcript, show, rounds=200, dim=4, outside=False, **parameters):
    """The same rounds through both, picks by Plackett-Luce (with none of these where `outside`)."""
    X, taste = world(rounds, 7, dim, 2)
    learner, rng = make(name, dim=dim, show=show, **parameters), np.random.default_rng(3)
    for t in range(rounds):
        ticket = int(rng.integers(0, 2**64, dtype=np.uint64))
        choice = learner.choose(X[t], ticket)
        assert choice.shown == transcript.choose(X[t], ticket), t
        worth = np.exp(3 * X[t][list(choice.shown)] @ taste)
        worth = np.append(worth, 1.0) if outside else worth
        picked = int(rng.choice(worth.size, p=worth / worth.sum()))
        picked = None if picked == show else picked
        learner.learn(X[t], choice, answer_of(picked, show))
        transcript.learn(X[t], choice.shown, picked)
    late = [(X[t] @ taste).max() - (X[t] @ taste)[learner.scores(X[t]).argmax()] for t in range(rounds)]
    assert np.mean(late) < 0.15
    return learner


def ranked(values, ticket):
    return sorted(range(len(values)), key=lambda k: (-values[k], draw(ticket, k)))


class LiteralRankBreaking:
    def __init__(self, dim, show):
        self.V, self.b, self.show = np.eye(dim), np.zeros(dim), show

    def choose(self, X, ticket):
        theta, S = np.linalg.solve(self.V, self.b), np.linalg.inv(self.V)
        first = largest(list(X @ theta), ticket, 0)
        values = [math.inf if k == first else theta @ x + math.sqrt(x @ S @ x) for k, x in enumerate(X)]
        return tuple(ranked(values, ticket)[: self.show])

    def learn(self, X, shown, picked):
        for position, k in enumerate(shown):
            if position != picked:
                z, weight = X[shown[picked]] - X[k], 1 / (len(shown) - 1)
                self.V, self.b = self.V + weight * np.outer(z, z), self.b + weight * 2 * z


class LiteralUCBMNL:
    def __init__(self, dim, show):
        self.V, self.theta, self.show = np.eye(dim), np.zeros(dim), show

    def choose(self, X, ticket):
        values = [self.theta @ x + 0.5 * math.sqrt(x @ np.linalg.solve(self.V, x)) for x in X]
        return tuple(ranked(values, ticket)[: self.show])

    def learn(self, X, shown, picked):
        total = 1 + sum(math.exp(self.theta @ X[k]) for k in shown)
        slope = np.zeros(len(self.theta))
        for position, k in enumerate(shown):
            slope = slope + ((position == picked) - math.exp(self.theta @ X[k]) / total) * X[k]
        self.V = self.V + sum(np.outer(X[k], X[k]) for k in shown)
        self.theta = self.theta + np.linalg.solve(self.V, slope) / 0.25


class LiteralRefittedMNL(LiteralUCBMNL):
    """The paper's: theta maximises the penalised likelihood of all answers, here by plain Newton steps."""

    def __init__(self, dim, show):
        super().__init__(dim, show)
        self.history = []

    def learn(self, X, shown, picked):
        self.V = self.V + sum(np.outer(X[k], X[k]) for k in shown)
        self.history.append((X[list(shown)], picked))
        for _ in range(5):
            slope, bend = -self.theta, np.eye(len(self.theta))
            for items, picked in self.history:
                worth = np.exp(items @ self.theta)
                p = worth / (1 + worth.sum())
                slope = slope + (0.0 if picked is None else items[picked]) - p @ items
                bend = bend + (items * p[:, None]).T @ items - np.outer(p @ items, p @ items)
            self.theta = self.theta + np.linalg.solve(bend, slope)


class LiteralCPPL:
    """Averages over t as its paper writes them: Sigma = V^-1 S V^-1 / t with V and S means."""

    def __init__(self, dim, show):
        self.theta, self.history, self.show = np.zeros(dim), [], show
        self.V, self.S = [np.eye(dim)], []

    def choose(self, X, ticket):
        t, d = max(len(self.history), 1), X.shape[1]
        mean = np.mean(self.history, axis=0) if self.history else np.zeros(d)
        V, S = sum(self.V) / t, sum(self.S, np.zeros((d, d))) / t
        Sigma = np.linalg.inv(V) @ S @ np.linalg.inv(V) / t
        log = math.log(len(self.history) + 1)
        values = []
        for x in X:
            reach = (2 * log + d + 2 * math.sqrt(d * log)) * math.exp(2 * mean @ x) * (x @ Sigma @ x)
            values.append(math.exp(mean @ x) + 0.1 * math.sqrt(max(reach, 0.0)))
        return tuple(ranked(values, ticket)[: self.show])

    def learn(self, X, shown, picked):
        items = X[list(shown)]
        worth = np.exp(items @ self.theta)
        p = worth / worth.sum()
        slope = items[picked] - p @ items
        self.S.append(np.outer(slope, slope))
        self.V.append(sum(q * np.outer(x, x) for q, x in zip(p, items, strict=True)) - np.outer(p @ items, p @ items))
        self.theta = self.theta + 1.0 / math.sqrt(len(self.history) + 1) * slope
        self.history.append(self.theta)


@pytest.mark.parametrize("show", [3, 5])
def test_rank_breaking_follows_its_rule(show):
    run("rank-breaking", LiteralRankBreaking(4, show), show, model="full", estimator="linear")


def test_ucb_mnl_follows_its_rule():
    run("ucb-mnl", LiteralUCBMNL(4, 3), 3, outside=True, model="full", eta=0.5)


def test_ucb_mnl_refitted_follows_its_rule():
    run("ucb-mnl", LiteralRefittedMNL(4, 3), 3, outside=True, model="full", eta=0.5, estimator="mle")


def test_cppl_follows_its_rule():
    run("cppl", LiteralCPPL(4, 3), 3)


def test_the_mnl_step_climbs_the_likelihood():
    """The slope used is that of ln p(picked), by central differences."""
    X, _ = world(1, 4, 3, 5)
    learner = make("ucb-mnl", dim=3, model="full", show=3, lam=1e9, curve=1e-9)
    learner.model.theta = np.array([0.2, -0.4, 0.1])
    theta, choice = learner.model.theta.copy(), learner.choose(X[0], 1)
    items = X[0][list(choice.shown)]

    def loglik(t, picked):
        u = items @ t
        return (0.0 if picked is None else u[picked]) - math.log(1 + np.exp(u).sum())

    for picked in (None, 1):
        learner.model.theta = theta.copy()
        learner.learn(X[0], choice, answer_of(picked, 3))
        numeric = [(loglik(theta + h, picked) - loglik(theta - h, picked)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(learner.model.theta - theta, numeric, rtol=1e-4, atol=1e-6)


def test_more_shown_items_cost_less_regret():
    """Regret counts the best of the shown, so with the same learner five shown beat two."""
    X, taste = world(300, 10, 5, 8)
    regret = {}
    for show in (2, 5):
        learner, rng, regret[show] = make("rank-breaking", dim=5, model="full", show=show), np.random.default_rng(1), 0
        for t in range(300):
            choice, rewards = learner.choose(X[t], t), X[t] @ taste
            regret[show] += rewards.max() - rewards[list(choice.shown)].max()
            worth = np.exp(4 * rewards[list(choice.shown)])
            learner.learn(X[t], choice, answer_of(int(rng.choice(show, p=worth / worth.sum())), show))
    assert regret[5] < 0.6 * regret[2]


def test_a_session_takes_strengths_for_k_items():
    session = Session(make("rank-breaking", dim=4, model="full", show=3), seed=1)
    offer = session.ask(np.eye(4))
    assert len(offer.shown) == 3
    assert session.tell(offer, winner=offer.shown[2]) == "learnt"
    scores = session.learner.scores(np.eye(4))
    assert scores.argmax() == int(offer.shown[2])


def test_cppls_width_covers_the_worth_to_first_order():
    """Its derivation: theta^ - theta ~ N(0, Sigma) moves e^(theta.x) by e^(theta.x) x'Sigma^(1/2) g to first order.

    That is at most e^(theta.x) |Sigma^(1/2) x| |g| for all x at once, and |g|^2 <= d + 2 sqrt(d ln t) + 2 ln t but with
    chance 1/t.
    """
    rng = np.random.default_rng(0)
    g, n = rng.normal(size=(40_000, 4)), 40_000
    for t in (5, 50):
        reach = 4 + 2 * math.sqrt(4 * math.log(t)) + 2 * math.log(t)
        assert ((g**2).sum(axis=1) > reach).mean() < 1 / t + 4 * math.sqrt(1 / t / n)
        assert ((g**2).sum(axis=1) > reach / 3).mean() > 1 / t
