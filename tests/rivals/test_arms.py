"""Fixed-arm rivals against their pseudo-code, slowly and literally, and what their papers promise."""

import math

import numpy as np
import pytest
from rivals.driving import compare, draw, largest
from scipy.special import betaincinv


class Wins:
    def __init__(self, K):
        self.K, self.w, self.t = K, [[0.0] * K for _ in range(K)], 1

    def n(self, i, j):
        return self.w[i][j] + self.w[j][i]

    def learn(self, X, shown, answer, ticket):
        i, j = shown
        self.w[i][j] += (1 + answer) / 2
        self.w[j][i] += (1 - answer) / 2
        self.t += 1


class LiteralRUCB(Wins):
    alpha, B = 0.51, None

    def u(self, i, j, t):
        if i == j:
            return 0.5
        n = self.n(i, j)
        return self.w[i][j] / n + math.sqrt(self.alpha * math.log(t) / n) if n else 1.0 + 1.0

    def choose(self, X, ticket):
        K, coin = self.K, draw(ticket, 0)
        C = [c for c in range(K) if all(self.u(c, j, self.t) >= 0.5 for j in range(K))]
        self.next_B = self.B if self.B in C else None
        if len(C) == 1:
            self.next_B = C[0]
        if not C:
            c = int(coin * K)
        elif self.next_B is not None and (coin < 0.5 or len(C) == 1):
            c = self.next_B
        else:
            rest = [x for x in C if x != self.next_B]
            c = rest[int((2 * coin - 1 if self.next_B is not None else coin) * len(rest))]
        t = self.t
        while max(self.u(j, c, t) for j in range(K) if j != c) < 0.5:
            t += 1  # the rounds in which the champion would play itself
        self.wake = t
        if t > self.t and draw(ticket, 1) >= 1 / (t - self.t):
            return (c,)
        return c, largest([self.u(j, c, t) for j in range(K)], ticket, 1, skip=c)

    def learn(self, X, shown, answer, ticket):
        self.t = self.wake
        super().learn(X, shown, answer, ticket)
        self.B = self.next_B


class LiteralDoubleThompson(Wins):
    alpha = 0.51

    def bound(self, i, j, sign):
        if i == j:
            return 0.5
        n = self.n(i, j)
        return self.w[i][j] / n + sign * math.sqrt(self.alpha * math.log(self.t) / n) if n else 1.0 + sign

    def choose(self, X, ticket):
        K = self.K
        zeta = [sum(self.bound(i, j, 1) > 0.5 for j in range(K) if j != i) for i in range(K)]
        theta, c = np.full((K, K), 0.5), 0
        for i in range(K):
            for j in range(i + 1, K):
                theta[i, j] = betaincinv(self.w[i][j] + 1, self.w[j][i] + 1, draw(ticket, c))
                theta[j, i] = 1 - theta[i, j]
                c += 1
        score = [sum(theta[i, j] > 0.5 for j in range(K) if j != i) if zeta[i] == max(zeta) else -1.0 for i in range(K)]
        first = largest(score, ticket, 0)
        column = [
            0.5 if i == first else betaincinv(self.w[i][first] + 1, self.w[first][i] + 1, draw(ticket, c + i))
            for i in range(K)
        ]
        allowed = [column[i] if self.bound(i, first, -1) <= 0.5 else -1.0 for i in range(K)]
        second = largest(allowed, ticket, 1)
        return (first,) if first == second else (first, second)


class LiteralRMED1(Wins):
    def __init__(self, K):
        super().__init__(K)
        self.LC, self.LR, self.LN = list(range(K)), list(range(K)), []

    def mu(self, i, j):
        return self.w[i][j] / self.n(i, j)

    def divergence(self, i):
        total = 0.0
        for j in range(self.K):
            if j != i and self.mu(i, j) <= 0.5:
                p = self.mu(i, j)
                kl = sum(x * math.log(2 * x) for x in (p, 1 - p) if x > 0)
                total += self.n(i, j) * kl
        return total

    def choose(self, X, ticket):
        K = self.K
        for i in range(K):
            for j in range(i + 1, K):
                if self.n(i, j) == 0:
                    self.after = None
                    return i, j
        divergence = [self.divergence(i) for i in range(K)]
        star = divergence.index(min(divergence))
        LR, LN, t, silent = list(self.LR), list(self.LN), self.t, 0
        while True:
            arm = LR[0]
            losing = [j for j in range(K) if j != arm and self.mu(arm, j) <= 0.5]
            if star in losing or not losing:
                other = star
            else:
                other = min((j for j in range(K) if j != arm), key=lambda j: self.mu(arm, j))
            LR = LR[1:]
            for j in range(K):
                fits = divergence[j] - divergence[star] <= math.log(t) + 0.3 * K**1.01
                if j not in LR and j not in LN and fits:
                    LN = LN + [j]
            if not LR:
                LR, LN = sorted(LN), []
            if other != arm:
                break
            t, silent = t + 1, silent + 1
        self.after = (LR, LN, t)
        if silent and draw(ticket, 0) >= 1 / (silent + 1):
            return (star,)
        return arm, other

    def learn(self, X, shown, answer, ticket):
        if self.after is not None:
            self.LR, self.LN, self.t = self.after
        super().learn(X, shown, answer, ticket)


class LiteralInterleavedFilter:
    def __init__(self, K, T):
        self.K, self.T, self.b = K, T, None
        self.delta = 1 / (T * K**2)

    def choose(self, X, ticket):
        if self.b is None:
            self.b = int(draw(ticket, 0) * self.K)
            self.W = [k for k in range(self.K) if k != self.b]
            self.turn, self.wins, self.n = 0, dict.fromkeys(self.W, 0), 0
        return (self.b, self.W[self.turn]) if self.W else (self.b,)

    def learn(self, X, shown, answer, ticket):
        self.wins[self.W[self.turn]] += answer > 0
        self.turn += 1
        if self.turn < len(self.W):
            return
        self.turn, self.n = 0, self.n + 1
        P = {k: self.wins[k] / self.n for k in self.W}
        c = math.sqrt(4 * math.log(1 / self.delta) / self.n)
        self.W = [k for k in self.W if not P[k] - c > 0.5]
        better = [k for k in self.W if P[k] + c < 0.5]
        if better:
            self.W = [k for k in self.W if not P[k] > 0.5 and k != better[0]]
            self.b, self.n, self.wins = better[0], 0, dict.fromkeys(self.W, 0)


class LiteralBeatTheMean:
    def __init__(self, K, T, gamma):
        self.W, self.delta, self.gamma, self.duels = list(range(K)), 1 / (2 * T * K), gamma, []

    def choose(self, X, ticket):
        if len(self.W) == 1:
            return (self.W[0],)
        n = [sum(b == k for b, _, _ in self.duels) for k in self.W]
        first = self.W[largest([-x for x in n], ticket, 0)]
        rest = [k for k in self.W if k != first]
        return first, rest[int(draw(ticket, 0) * len(rest))]

    def learn(self, X, shown, answer, ticket):
        self.duels.append((*shown, answer > 0))
        n = {k: sum(b == k for b, _, _ in self.duels) for k in self.W}
        if min(n.values()) == 0:
            return
        mean = {k: sum(won for b, _, won in self.duels if b == k) / n[k] for k in self.W}
        c = 3 * self.gamma**2 * math.sqrt(math.log(1 / self.delta) / min(n.values()))
        worst = min(self.W, key=lambda k: mean[k])
        if mean[worst] + c <= max(mean.values()) - c:
            self.W = [k for k in self.W if k != worst]
            self.duels = [d for d in self.duels if worst not in d[:2]]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "build", "parameters"),
    [
        ("rucb", lambda: LiteralRUCB(5), {}),
        ("double-thompson", lambda: LiteralDoubleThompson(5), {}),
        ("rmed1", lambda: LiteralRMED1(5), {}),
        ("interleaved-filter", lambda: LiteralInterleavedFilter(5, 1), {"horizon": 1}),
        ("beat-the-mean", lambda: LiteralBeatTheMean(5, 10, 0.3), {"horizon": 10, "gamma": 0.3}),
    ],
)
def test_choices_follow_the_pseudo_code(name, build, parameters, seed):
    compare(name, build(), rounds=400, count=5, fixed=True, seed=seed, scale=1.5, least=40, **parameters)
