"""Single-item rivals against their pseudo-code, slowly and literally, and what their papers promise."""

import math

import numpy as np
import pytest
from rivals.driving import compare, draw, largest, world

from conquer.registry import make
from conquer.types import Choice, Query


def softmax(values):
    top = max(values)
    raised = [math.exp(v - top) for v in values]
    return [r / sum(raised) for r in raised]


class LiteralNewtron:
    alpha, beta, gamma, D = 10.0, 0.05, 0.1, 1.0

    def __init__(self, dim, diagonal):
        self.A, self.b, self.W, self.diagonal = np.eye(dim) / self.D, np.zeros(dim), np.zeros(dim), diagonal

    def choose(self, X, ticket):
        self.p = softmax([self.alpha * self.W @ x for x in X])
        self.q = [(1 - self.gamma) * p + self.gamma / len(X) for p in self.p]
        u, total = draw(ticket, 0), 0.0
        for i, q in enumerate(self.q):
            total += q
            if u < total:
                return (i,)
        return (len(X) - 1,)

    def learn(self, X, shown, answer, ticket):
        y, K = shown[0], len(X)
        p, q = self.p[y], self.q[y]
        e = np.zeros(K)
        e[y] = 1.0
        if answer > 0:
            g, kappa = (1 - p) / q * ((np.ones(K) / K - e) @ X), q
        else:
            g, kappa = p / q * ((e - np.ones(K) / K) @ X), 1.0
        outer = np.diag(g * g) if self.diagonal else np.outer(g, g)
        self.A = self.A + kappa * self.beta * outer
        self.b = self.b + (1 - kappa * self.beta * g @ self.W) * g
        self.W = np.linalg.solve(self.A, -self.b)
        low, high = 0.0, 1e6
        if np.linalg.norm(self.W) > self.D:
            for _ in range(200):  # the multiplier of the ball, by bisection
                mu = (low + high) / 2
                self.W = np.linalg.solve(self.A + mu * np.eye(len(self.b)), -self.b)
                low, high = (mu, high) if np.linalg.norm(self.W) > self.D else (low, mu)


class LiteralSOBA:
    gamma = 0.2

    def __init__(self, dim):
        self.A, self.theta, self.W, self.taken = np.eye(dim), np.zeros(dim), np.zeros(dim), []

    def choose(self, X, ticket):
        best = largest(list(X @ self.W), ticket, 0)
        self.p = [(1 - self.gamma) * (k == best) + self.gamma / len(X) for k in range(len(X))]
        u, total = draw(ticket, 0), 0.0
        for i, p in enumerate(self.p):
            total += p
            if u < total:
                return (i,)
        return (len(X) - 1,)

    def learn(self, X, shown, answer, ticket):
        if answer < 0:
            return
        y = shown[0]
        other = max((k for k in range(len(X)) if k != y), key=lambda k: self.W @ X[k])
        g = (X[other] - X[y]) / self.p[y]
        z = math.sqrt(self.p[y]) * g
        m = ((self.W @ z) ** 2 + 2 * self.W @ g) / (1 + z @ np.linalg.solve(self.A, z))
        if m + sum(self.taken) >= 0:
            self.taken.append(m)
            self.A = self.A + np.outer(z, z)
            self.theta = self.theta - g
            self.W = np.linalg.solve(self.A, self.theta)


class LiteralEpochGreedy:
    def __init__(self, dim):
        self.data, self.left, self.w = [], 0, np.zeros(dim)

    def choose(self, X, ticket):
        self.exploring = self.left == 0
        return (int(draw(ticket, 0) * len(X)),) if self.exploring else (int(np.argmax(X @ self.w)),)

    def learn(self, X, shown, answer, ticket):
        if not self.exploring:
            self.left -= 1
            return
        self.data.append((X[shown[0]], answer, len(X)))  # the importance weight of one in K
        A = np.eye(X.shape[1]) + sum(K * np.outer(x, x) for x, _, K in self.data)
        self.w = np.linalg.solve(A, sum(K * y * x for x, y, K in self.data))
        self.left = math.floor(3.0 * math.sqrt(len(self.data) / len(X)))


class LiteralKwik:
    def __init__(self, dim):
        self.A, self.b = np.eye(dim), np.zeros(dim)

    def choose(self, X, ticket):
        widths = [math.sqrt(x @ np.linalg.solve(self.A, x)) for x in X]
        if max(widths) > 0.25:
            return (widths.index(max(widths)),)
        return (int(np.argmax(X @ np.linalg.solve(self.A, self.b))),)

    def learn(self, X, shown, answer, ticket):
        x = X[shown[0]]
        self.A, self.b = self.A + np.outer(x, x), self.b + answer * x


class LiteralPartialFeedback:
    """The set by trying every prefix, its loss in the paper's own form: a missed right one, c for each wrong one."""

    a, eta = 0.5, 0.5

    def __init__(self, dim, show):
        self.A, self.w, self.show = np.eye(dim), np.zeros(dim), show

    def choose(self, X, ticket):
        s = [self.w @ x + math.sqrt(self.eta * x @ np.linalg.solve(self.A, x)) for x in X]
        p = [(1 + max(min(v, 1.0), -1.0)) / 2 for v in s]
        order = sorted(range(len(X)), key=lambda k: (-p[k], draw(ticket, k)))
        losses = {}
        for size in range(1, self.show + 1):
            inside, outside = order[:size], order[size:]
            wrong = sum((size - j) / size * (1 - p[k]) for j, k in enumerate(inside))
            losses[size] = self.a * sum(p[k] for k in outside) + (1 - self.a) * wrong
        return tuple(order[: min(losses, key=lambda size: round(losses[size], 12))])

    def learn(self, X, shown, answer, ticket):
        right = {1: {1.0: 0}, 2: {1.0: 0, -1.0: 1}}[len(shown)].get(answer)
        for position, k in enumerate(shown):
            x, s = X[k], 1.0 if position == right else -1.0
            margin = s * self.w @ x
            self.A = self.A + np.outer(x, x)
            self.w = self.w + (1 - margin) * s * np.linalg.solve(self.A, x)


@pytest.mark.parametrize("model", ["full", "diagonal"])
def test_newtron_follows_its_pseudo_code(model):
    compare("newtron", LiteralNewtron(4, model == "diagonal"), model=model, alpha=10.0, beta=0.05)


def test_soba_follows_its_pseudo_code():
    compare("soba", LiteralSOBA(4), model="full", gamma=0.2, lam=1.0)


def test_epoch_greedy_follows_its_rule():
    compare("epoch-greedy", LiteralEpochGreedy(4), model="full", pace=3.0)


def test_kwik_follows_its_rule():
    compare("kwik", LiteralKwik(4), model="full", threshold=0.25, least=20, uneven=True)


@pytest.mark.parametrize("show", [1, 2])
def test_partial_feedback_follows_its_pseudo_code(show):
    compare("partial-feedback", LiteralPartialFeedback(4, show), model="full", eta=0.5, show=show)


def test_newtrons_estimate_of_the_slope_is_unbiased():
    """The claim that its analysis rests on: averaged over the draw, g is sum p phi - phi_right."""
    X, _ = world(1, 5, 4, 3)
    X, right, total = X[0], 2, np.zeros(4)
    for k in range(5):
        learner = make("newtron", dim=4, model="full", alpha=2.0, beta=1e-12)
        learner.model.w = np.array([0.3, -0.2, 0.1, 0.4])
        scores = 2.0 * X @ learner.model.w
        p = np.exp(scores) / np.exp(scores).sum()
        chance = 0.9 * p[k] + 0.02
        choice = Choice((k,), Query.BEST, 0, {"p": float(p[k]), "chance": float(chance)})
        learner.learn(X, choice, 1.0 if k == right else -1.0)
        total += chance * learner.model.b
    np.testing.assert_allclose(total, p @ X - X[right], atol=1e-9)


def test_soba_never_takes_a_negative_sum_and_learns_a_separable_world():
    rng, w, wrong = np.random.default_rng(0), np.array([1.0, -1.0, 0.5]), []
    learner = make("soba", dim=3, model="full", gamma=0.2, lam=1.0)
    for _ in range(1500):
        X = rng.normal(size=(3, 3))
        choice = learner.choose(X, rng)
        best = int((X @ w).argmax())
        wrong.append(int(learner.scores(X).argmax()) != best)
        learner.learn(X, choice, 1.0 if choice.shown[0] == best else -1.0)
        assert learner.model.taken >= 0.0
    assert np.mean(wrong[-500:]) < 0.15 < np.mean(wrong[:50])


def test_epoch_greedy_explores_as_t_to_the_two_thirds():
    """n explored rounds pay for about (2/3) pace n^1.5/sqrt(K) greedy ones, hence n <= (1.5 T sqrt(K)/pace)^(2/3)."""
    X, _ = world(1, 4, 3, 0)
    learner = make("epoch-greedy", dim=3, model="full", pace=3.0)
    explored = 0
    for t in range(1, 3001):
        choice = learner.choose(X[0], t)
        explored += choice.memo["explore"]
        learner.learn(X[0], choice, 1.0)
        # floor() loses at most one greedy round an epoch: n epochs last at least that sum minus n.
        assert (2 / 3) * 3.0 * max(explored - 1, 0) ** 1.5 / 2.0 - explored <= t
    assert explored < 400


def test_kwik_asks_a_bounded_number_of_times():
    """Each question has h > threshold^2, and the sum of ln(1 + h) is ln det A/lam <= D ln(1 + n/(lam D))."""
    X, taste = world(3000, 5, 4, 6)
    learner, asked = make("kwik", dim=4, model="full", threshold=0.2), 0
    for t in range(3000):
        choice = learner.choose(X[t], t)
        if choice.query.name == "BEST":
            asked += 1
            rewards = X[t] @ taste
            learner.learn(X[t], choice, 1.0 if rewards[choice.shown[0]] == rewards.max() else -1.0)
        assert asked * math.log(1 + 0.2**2) <= 4 * math.log(1 + asked / 4) + 1e-9
    assert learner.choose(X[0], 0).query.name == "NONE"


def test_the_shown_set_minimises_the_expected_ranking_loss():
    """A prefix of the items sorted by p is never beaten by any other ordered set (the papers' lemma)."""
    from itertools import permutations

    rng = np.random.default_rng(1)
    learner = make("partial-feedback", dim=2, a=0.4, show=4)
    for _ in range(60):
        p = np.sort(rng.random(4))[::-1]
        prefix = min(learner.model.cost(p[:size]) for size in range(1, 5))
        every = min(
            learner.model.cost(p[list(chosen)]) for size in range(1, 5) for chosen in permutations(range(4), size)
        )
        assert prefix <= every + 1e-12


def test_the_curvature_of_partial_feedback_is_that_of_its_losses():
    """The step needs L(m') >= L(m) + L'(m)(m' - m) + curve (m' - m)^2/2 for margins in [-1, 1]: curve = inf L''.

    That is 1 for the square loss (1 - m)^2/2 and e/(1 + e)^2 for the logistic one; 1/4 would be too much.
    """
    m, n = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(-1, 1, 201))

    def slack(curve):
        loss = np.logaddexp(0.0, -m) - (n - m) / (1 + np.exp(m)) + curve * (n - m) ** 2 / 2
        return (np.logaddexp(0.0, -n) - loss).min()

    assert slack(math.e / (1 + math.e) ** 2) >= -1e-12
    assert slack(0.25) < -1e-3
