"""The paper's listing in plain numpy, slowly and literally, sharing no code with the package."""

import numpy as np
from scipy.special import ndtri

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(ticket, c):
    return (mix((mix(ticket) + c * GAMMA) & MASK) >> 11) / 2**53


def normal(ticket, c):
    return float(ndtri(((mix((mix(ticket) + c * GAMMA) & MASK) >> 11) + 0.5) / 2**53))


def factor(G):
    """L with L L' = G, leaving out directions in which G is null."""
    L = np.zeros_like(G)
    for i in range(len(G)):
        for j in range(i):
            L[i, j] = (G[i, j] - L[i, :j] @ L[j, :j]) / L[j, j] if L[j, j] > 0 else 0.0
        rest = G[i, i] - L[i, :i] @ L[i, :i]
        L[i, i] = np.sqrt(rest) if rest > 1e-12 * abs(G[i, i]) else 0.0
    return L


class LiteralFull:
    """w and A as they stand in the paper."""

    def __init__(self, dim, lam):
        self.w, self.A, self.lam = np.zeros(dim), lam * np.eye(dim), lam

    def scores(self, X, w):
        return X @ w

    def weights(self):
        return self.w

    def gram(self, X):
        return X @ np.linalg.solve(self.A, X.T)

    def pull(self, w, X, mu):
        return w - np.linalg.solve(self.A, X.T @ mu)

    def update(self, w, X, weights, y):
        u = sum(c * X[k] for k, c in weights.items())
        before = self.A.copy()
        self.A = self.A + np.outer(u, u)
        self.w = np.linalg.solve(self.A, before @ w + y * u)

    def noise(self, X, ticket):
        return factor(self.gram(X)) @ np.array([normal(ticket, 2 + i) for i in range(len(X))])


class LiteralDiagonal(LiteralFull):
    def __init__(self, dim, lam, update):
        super().__init__(dim, lam)
        self.rule = update

    def update(self, w, X, weights, y):
        u = sum(c * X[k] for k, c in weights.items())
        before = np.diag(self.A).copy()
        after = before + u * u
        if self.rule == "coordinate":
            self.w = (before * w + y * u) / after
        elif self.rule == "margin":
            self.w = w + (y - u @ w) * u / after
        else:
            self.w = w + (y - u @ w) * (u / before) / (1 + u @ (u / before))
        self.A = np.diag(after)

    def noise(self, X, ticket):
        d = np.array([normal(ticket, 2 + r) for r in range(X.shape[1])]) / np.sqrt(np.diag(self.A))
        return X @ d


class LiteralKernel:
    """The dual with explicit matrices: w = A^-1 b, b = sum of y u over pairs plus what projections took away."""

    def __init__(self, lam, kernel, scale, degree):
        self.lam, self.kind, self.scale, self.degree = lam, kernel, scale, degree
        self.items, self.pairs, self.y, self.p = np.empty((0, 0)), [], [], {}
        self.M = np.empty((0, 0))
        self.w = None

    def k(self, X, Z):
        """The matrix of kernel values of two sets of rows."""
        if self.kind == "linear":
            return X @ Z.T
        if self.kind == "rbf":
            return np.exp(-self.scale * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))
        raw = (self.scale * (X @ Z.T) + 1) ** self.degree
        own = [(self.scale * (V * V).sum(axis=1) + 1) ** self.degree for V in (X, Z)]
        return raw / np.sqrt(np.outer(*own))

    def inverse(self, X, Z, left, right):
        """left' A^-1 right where the columns of left and right are expansions over the rows of X and Z."""
        direct = left.T @ self.k(X, Z) @ right
        if not self.pairs:
            return direct / self.lam
        one, two = self.U.T @ (self.k(self.items, X) @ left), self.U.T @ (self.k(self.items, Z) @ right)
        return (direct - one.T @ self.M_inverse @ two) / self.lam

    def scores(self, X, extra):
        b = np.zeros((len(self.items), 1))
        for pair, y in zip(self.pairs, self.y, strict=True):
            for q, c in pair.items():
                b[q] += y * c
        for q, c in self.p.items():
            b[q] += c
        own = np.eye(len(X))
        total = self.inverse(X, self.items, own, b)[:, 0] if len(self.items) else np.zeros(len(X))
        if extra:
            rows, mu = extra
            total = total - self.inverse(X, rows, own, mu[:, None])[:, 0]
        return total

    def gram(self, X):
        return self.inverse(X, X, np.eye(len(X)), np.eye(len(X)))

    def pull(self, w, X, mu):
        return (X, mu) if mu.any() else None

    def store(self, x):
        self.items = np.vstack([self.items.reshape(-1, x.size), x])
        return len(self.items) - 1

    def update(self, extra, X, weights, y):
        for x, m in zip(*extra, strict=True) if extra else ():
            self.p[self.store(x)] = -m
        self.pairs.append({self.store(X[k]): c for k, c in weights.items()})
        self.y.append(y)
        self.U = np.zeros((len(self.items), len(self.pairs)))
        for s, pair in enumerate(self.pairs):
            for q, c in pair.items():
                self.U[q, s] = c
        u = self.U[:, -1]
        column = self.U.T @ (self.k(self.items, self.items[u != 0]) @ u[u != 0])
        M = np.zeros((len(self.pairs), len(self.pairs)))
        M[:-1, :-1], M[-1], M[:, -1] = self.M, column, column
        M[-1, -1] += self.lam
        self.M, self.M_inverse = M, np.linalg.inv(M)

    def noise(self, X, ticket):
        return factor(self.gram(X)) @ np.array([normal(ticket, 2 + i) for i in range(len(X))])


def order_of(ticket, count):
    order = [0] * count
    for i in range(count):
        j = min(int(uniform(ticket, 2**63 + 1 + i) * (i + 1)), i)
        order[i] = order[j]
        order[j] = i
    return order


def project(model, X, mode, ticket):
    """(w~, its scores, mu) by projections on one slab after the other."""
    s, mu = model.scores(X, model.w), np.zeros(len(X))
    if mode is None or np.abs(s).max() <= 1:
        return model.w, s, mu
    G = model.gram(X)
    for _ in range(100_000):
        moved = 0.0
        for i in order_of(ticket, len(X)):
            if G[i, i] == 0:
                continue
            low, high = (s[i] - 1) / G[i, i], (s[i] + 1) / G[i, i]
            delta = sorted([-mu[i] if mode == "exact" else 0.0, low, high])[1]
            mu[i] += delta
            s = s - G[:, i] * delta
            moved = max(moved, abs(delta) * G[i, i])
        if moved < 1e-12 and np.abs(s).max() <= 1 + 1e-12:
            break
    return model.pull(model.w, X, mu), s, mu


def best(values, skip, ticket, c):
    order = [i for i in range(len(values)) if i != skip]
    top = max(values[i] for i in order)
    ties = [i for i in order if values[i] == top]
    return ties[min(int(uniform(ticket, c) * len(ties)), len(ties) - 1)]


class Literal:
    """An algorithm of the table; eta constant."""

    def __init__(self, name, model, eta=None, projection=None, gamma=None, alpha=None):
        self.name, self.model, self.eta, self.mode, self.gamma, self.alpha = name, model, eta, projection, gamma, alpha

    def choose(self, X, ticket):
        """(shown, greedy or None, chance or None)."""
        count = len(X)
        if self.name == "random":
            m = min(int(uniform(ticket, 0) * count), count - 1)
            rest = [i for i in range(count) if i != m]
            return (m, rest[min(int(uniform(ticket, 1) * (count - 1)), count - 2)]), None, None
        _, s, _ = project(self.model, X, self.mode, ticket)
        width = np.zeros(count)
        if self.name in ("gnu", "ttu", "unr", "confidit"):
            width = np.sqrt(self.eta * np.diag(self.model.gram(X)))
        m = best(s + width if self.name in ("ttu", "unr", "confidit") else s, None, ticket, 0)
        if self.name == "confidit":
            return (m,), None, None
        if self.name == "banditron":
            draw = uniform(ticket, 1)
            g = min(int(draw / self.gamma * count), count - 1) if draw < self.gamma else m
            tied = [i for i in range(count) if s[i] == s.max()]
            return (g,), m, (1 - self.gamma) * (g in tied) / len(tied) + self.gamma / count
        if self.name in ("gnr", "unr"):
            return (m, best(np.zeros(count), m, ticket, 1)), None, None
        if self.name == "gnc":
            G = self.model.gram(X)
            eps = np.sqrt(self.eta * np.maximum(0, np.diag(G) + G[m, m] - 2 * G[m]))
            n = best(s + eps, m, ticket, 1)
            return ((m,) if s[m] - s[n] > eps[n] else (m, n)), None, None
        if self.name == "gnt":
            values = s + np.sqrt(self.eta) * self.model.noise(X, ticket)
        elif self.name == "gnw":
            values = -s
        else:
            values = s + width
        return (m, best(values, m, ticket, 1)), None, None

    def learn(self, X, shown, greedy, answer, ticket):
        if self.name == "random":
            return
        if self.name == "banditron":
            if answer > 0:
                p = (1 - self.gamma) * (shown[0] == greedy) + self.gamma / len(X)
                self.model.w = self.model.w + X[shown[0]] / p
            self.model.w = self.model.w - X[greedy]
            return
        w, _, _ = project(self.model, X, self.mode, ticket)
        if self.name == "confidit":
            wrong = uniform(ticket, 1) < (1 + self.alpha) / 2
            target = 1.0 if answer > 0 or not wrong else -1.0
            self.model.update(w, X, {shown[0]: 1.0}, target)
        else:
            self.model.update(w, X, {shown[0]: 0.5, shown[1]: -0.5}, answer)
