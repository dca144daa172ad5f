"""CONQUER as its paper lists it (Barsky & Crammer, 2015), in plain numpy: the first file to read, the tests' oracle.

w is (D,); A is (D, D), or (D,) for a diagonal one; phi is (K, D), one row per item of the round. Nothing here draws:
chance comes in as arguments. A run, where items are liked for their first feature:

>>> rng = np.random.default_rng(0)
>>> w, A = np.zeros(3), np.eye(3)
>>> for t in range(500):
...     phi = rng.normal(size=(4, 3)) / 3
...     w_t = project(w, A, phi, rng.permutation(4))
...     m, *rest = choose("gnc", w_t, A, phi, eta=3.0, draws=rng.random(2))
...     for n in rest:  # empty when gnc is sure of m: no question, nothing changes
...         u = (phi[m] - phi[n]) / 2
...         y = 1.0 if rng.random() < (1 + u[0]) / 2 else -1.0
...         w, A = update(w_t, A, u, y)
>>> int(w.argmax())
0
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Shown = tuple[int, ...]


def solve(A: Array, x: Array) -> Array:
    """A^-1 x."""
    return x / A if A.ndim == 1 else np.linalg.solve(A, x)


def scores(w: Array, phi: Array) -> Array:
    """s_i = w . phi_i, item by item: equal items then get equal bits, so that a tie stays a tie."""
    return np.array([w @ x for x in phi])


def variances(A: Array, phi: Array) -> Array:
    """v_i = phi_i' A^-1 phi_i."""
    return np.array([x @ solve(A, x) for x in phi])


def contrasts(A: Array, phi: Array, p: int) -> Array:
    """The confusion of every item with item p: c_ip = (phi_i - phi_p)' A^-1 (phi_i - phi_p)."""
    return variances(A, phi - phi[p])


def project(w: Array, A: Array, phi: Array, order: Array, exact: bool = False) -> Array:
    """Line 4: w~ near w in the metric of A with every |w~ . phi_i| <= 1, one slab after the other in this order.

    The paper's way ends at a feasible w~. `exact` (Hildreth) also takes steps back and ends at the nearest one.
    """
    toward, mu = [solve(A, x) for x in phi], np.zeros(len(phi))
    for _ in range(100_000):
        moved = 0.0
        for i in order:
            s, v = w @ phi[i], phi[i] @ toward[i]
            if v > 0:
                step = sorted([-mu[i] if exact else 0.0, (s - 1) / v, (s + 1) / v])[1]  # the median
                mu[i], w, moved = mu[i] + step, w - step * toward[i], max(moved, abs(step) * v)
        if moved <= 1e-12:
            return w
    raise ArithmeticError("the projection did not converge")


def pick(values: Array, draw: float, but: int | None = None) -> int:
    """The place of a largest value, `but` left out; among equals `draw` in [0, 1) decides."""
    rest = [i for i in range(len(values)) if i != but]
    ties = [i for i in rest if values[i] == values[rest].max()]
    return ties[int(draw * len(ties))]


def root(G: Array) -> Array:
    """The lower triangular L with L L' = G; where G is singular, a column of zeros."""
    L = np.zeros_like(G)
    for i, j in zip(*np.tril_indices(len(G)), strict=True):
        left = G[i, j] - L[i, :j] @ L[j, :j]
        if i == j:
            L[i, i] = np.sqrt(left) if left > 1e-12 * G[i, i] else 0.0
        elif L[j, j] > 0:
            L[i, j] = left / L[j, j]
    return L


def noise(A: Array, phi: Array, z: Array) -> Array:
    """What one draw of N(0, A^-1) adds to the scores, from normals z: per feature (diagonal A), else per item.

    Per item it is drawn for the differences from the first one: the choice is the same, and what all items share
    cannot drown the rest. Equal items get equal bits.
    """
    if A.ndim == 1:
        return scores(z / np.sqrt(A), phi)
    gaps = phi - phi[0]
    drawn = root(np.array([[x @ solve(A, other) for other in gaps] for x in gaps])) @ z
    return np.array([drawn[next(j for j, other in enumerate(phi) if (other == x).all())] for x in phi])


def anytime(V: Array, delta: float, tau2: float = 0.25) -> Array:
    """The width of a difference with variance V that holds at every look, with chance 1 - delta: a normal mixture."""
    V = np.maximum(V, 1e-300)
    return np.array(np.sqrt(V * (V + tau2) / tau2 * (2 * np.log(1 / delta) + np.log((V + tau2) / V))))


def separate(s: Array, A: Array, phi: Array, draws: Array) -> Shown:
    """sep's pair, the better score first: the largest sigma exp(-d^2/(2 sigma^2)), sigma^2 = V^2/(4 + V), as a log."""
    V, d = np.array([contrasts(A, phi, p) for p in range(len(phi))]), s[:, None] - s
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(V > 0, np.log(V) - np.log(4 + V) / 2 - (d / V) ** 2 * (4 + V) / 2, -np.inf)
    np.fill_diagonal(gain, -np.inf)
    m = pick(gain.max(axis=1), draws[0])
    n = pick(gain[m], draws[1], but=m)
    return (n, m) if s[n] > s[m] else (m, n)


def choose(
    name: str, w: Array, A: Array, phi: Array, eta: float, draws: Array, z: Array | None = None,
    lam: float = 1.0,
) -> Shown:  # fmt: skip
    """(m, n) to ask about, or (m,) alone when gnc is sure of it. w is w~ where there is a projection.

    s: scores; ucb: s_i + eps_i, the absolute width; eps: the width of each item's difference from m.
    """
    s = scores(w, phi)
    if name == "sep":
        return separate(s, A, phi, draws)
    ucb = s + np.sqrt(eta * variances(A, phi))
    m = pick(ucb if name in ("ttu", "unr") else s, draws[0])
    eps = np.sqrt(eta * contrasts(A, phi, m))
    drawn = s if z is None else s + np.sqrt(eta) * noise(A, phi, z)
    V = contrasts(A, phi, m)
    tob = s + (lam * V + anytime(V, np.exp(-1.0)))
    second = {"ttg": s, "gnr": 0 * s, "gnu": ucb, "gnc": s + eps, "ttu": ucb, "unr": 0 * s, "gnt": drawn, "gnw": -s}
    second["tob"] = tob
    n = pick(second[name], draws[1], but=m)
    return (m,) if name == "gnc" and s[m] - s[n] > eps[n] else (m, n)


def update(w: Array, A: Array, u: Array, y: float, reading: str = "implicit") -> tuple[Array, Array]:
    """(w, A) after the answer y in [-1, 1] to u = (phi_m - phi_n)/2; for a diagonal A the line has three readings."""
    if A.ndim == 2:
        after = A + np.outer(u, u)
        return np.linalg.solve(after, A @ w + y * u), after
    after = A + u * u
    if reading == "coordinate":
        return (A * w + y * u) / after, after
    if reading == "margin":
        return w + (y - u @ w) * u / after, after
    return w + (y - u @ w) * (u / A) / (1 + u @ (u / A)), after  # "implicit"


def bound_eta(kind: str, h: Array, loss: Array, lam: float, U: float, Q: float, delta: float) -> float:
    """eta after some answers: the paper's "theory", or our "tight"; h_s = u_s' A_s^-1 u_s, loss_s = y_s - u_s . w~_s.

    Both are doubled: the paper's lemma bounds half-differences, and the rules compare whole ones.
    """
    theory, tight = 2 * h.sum() + 36 * np.log((len(h) + 5) / delta), (loss**2 * h).sum() / 2 + np.log(1 / delta)
    return float(2 * (lam / 2 * U**2 + 2 * Q + {"theory": theory, "tight": tight}[kind]))


def confidit_shows(w: Array, A: Array, phi: Array, eta: float, draw: float) -> int:
    """m, the largest score + eps: the one item Confidit shows. A_0 is (1 + alpha)^2 I."""
    return pick(scores(w, phi) + np.sqrt(eta * variances(A, phi)), draw)


def confidit_target(best: bool, alpha: float, draw: float) -> float:
    """What Confidit learns of item m: its step is update(w, A, phi_m, target)."""
    return 1.0 if best or draw >= (1 + alpha) / 2 else -1.0


def banditron_shows(w: Array, phi: Array, gamma: float, draws: Array) -> tuple[int, int]:
    """(m, g): the best score, and what Banditron shows: any item with chance gamma, else m."""
    m = pick(scores(w, phi), draws[0])
    return m, int(draws[1] / gamma * len(phi)) if draws[1] < gamma else m


def banditron_update(w: Array, phi: Array, m: int, g: int, best: bool, gamma: float) -> Array:
    """w + [g is the best] phi_g / p - phi_m, where p was the chance to show g."""
    p = (1 - gamma) * (m == g) + gamma / len(phi)
    return np.array(w + best * phi[g] / p - phi[m])
