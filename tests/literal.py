"""Learners of the table played by `conquer.reference`: a ticket's draws in plain Python, handed to the listing."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from conquer import reference

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


def order_of(ticket, count):
    """The order of a projection's slabs: a shuffle by the ticket."""
    order = [0] * count
    for i in range(count):
        j = min(int(uniform(ticket, 2**63 + 1 + i) * (i + 1)), i)
        order[i] = order[j]
        order[j] = i
    return order


def explicit(points, kernel, scale=1.0, degree=2):
    """(N, N): a row of features per point whose inner products are the kernel's values, so that no dual is needed."""
    if kernel == "linear":
        return points
    if kernel == "rbf":
        K = np.exp(-scale * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    else:
        raw = (scale * points @ points.T + 1) ** degree
        K = raw / np.sqrt(np.outer(raw.diagonal(), raw.diagonal()))
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def forgetful_update(w, A, u, y, parameters):
    """(w, A) after an answer by a model with `forget` = f: the reference's update, and A forgets along u alone."""
    f, reading = parameters.get("forget", 1.0), parameters.get("update", "")
    if f < 1.0 and A.ndim == 1:
        A = np.where(u != 0, np.maximum(parameters["lam"], f * A), A)
    after = reference.update(w, A, u, y, reading)
    r = u @ reference.solve(A, u)
    if f < 1.0 and A.ndim == 2 and r > 0:
        return after[0], A + (f - (1 - f) / r) * np.outer(u, u)
    return after


@dataclass
class Literal:
    """One algorithm by the reference. `A` starts as lam I, a matrix or a diagonal; `parameters` are the learner's."""

    name: str
    A: Any
    parameters: dict[str, Any]
    h: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def __post_init__(self):
        self.w = np.zeros(len(self.A))

    @property
    def eta(self):
        p = self.parameters
        if not isinstance(p.get("eta"), str):
            return p.get("eta", 0.0)
        return reference.bound_eta(
            p["eta"], np.array(self.h), np.array(self.losses), p["lam"], p["U"], p["Q"], p["delta"]
        )

    def projected(self, phi, ticket):
        mode = self.parameters.get("projection")
        if mode is None or np.abs(phi @ self.w).max() < 1:
            return self.w  # projecting would change nothing and cost most of the tests' time
        return reference.project(self.w, self.A, phi, order_of(ticket, len(phi)), exact=mode == "exact")

    def scores(self, phi, ticket=0):
        return reference.scores(self.projected(phi, ticket), phi)

    def choose(self, phi, ticket):
        """(shown, what to remember until the answer: Banditron's best item and the chance of what it shows)."""
        draws = [uniform(ticket, 0), uniform(ticket, 1)]
        if self.name == "random":
            m = reference.pick(np.zeros(len(phi)), draws[0])
            return (m, reference.pick(np.zeros(len(phi)), draws[1], but=m)), {}
        w = self.projected(phi, ticket)
        if self.name == "confidit":
            return (reference.confidit_shows(w, self.A, phi, self.eta, draws[0]),), {}
        if self.name == "banditron":
            gamma, s = self.parameters["gamma"], reference.scores(w, phi)
            m, g = reference.banditron_shows(w, phi, gamma, draws)
            chance = (1 - gamma) * (s[g] == s.max()) / (s == s.max()).sum() + gamma / len(phi)
            return (g,), {"greedy": m, "chance": chance}
        count = phi.shape[1] if self.A.ndim == 1 else len(phi)
        z = np.array([normal(ticket, 2 + i) for i in range(count)]) if self.name == "gnt" else None
        lam = self.parameters.get("lam", 1.0)
        return reference.choose(self.name, w, self.A, phi, self.eta, draws, z, lam), {}

    def learn(self, phi, shown, memo, answer, ticket):
        if self.name == "random":
            return
        if self.name == "banditron":
            m, gamma = memo["greedy"], self.parameters["gamma"]
            self.w = reference.banditron_update(self.w, phi, m, shown[0], answer > 0, gamma)
            return
        if self.name == "confidit":
            u, y = phi[shown[0]], reference.confidit_target(answer > 0, self.parameters["alpha"], uniform(ticket, 1))
        else:
            u, y = (phi[shown[0]] - phi[shown[1]]) / 2, answer
        w = self.projected(phi, ticket)
        self.losses.append(y - u @ w)
        self.w, self.A = forgetful_update(w, self.A, u, y, self.parameters)
        self.h.append(u @ reference.solve(self.A, u))
