"""A custom rule compared with ours: same worlds, same judge, regrets paired by world."""

import numpy as np

import conquer
from conquer.metrics import compare
from conquer.policies import GREEDY, Policy

DIM, ITEMS, ROUNDS, WORLDS = 10, 8, 800, 8


def widest(model, X, first, eta, ticket):
    """Show second the item whose difference from the best is least certain."""
    return model.contrasts(X, first)


def world(number):
    """Rounds of unit vectors, and a taste that is linear in them."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(400, DIM))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    taste = rng.normal(size=DIM)
    return conquer.Rounds(X, rng.integers(0, 400, (ROUNDS, ITEMS)), X @ (taste / np.linalg.norm(taste)))


LEARNERS = {
    "widest": lambda: conquer.make(Policy(first=GREEDY, second=widest), dim=DIM, model="full"),
    "gnr": lambda: conquer.make("gnr", dim=DIM, model="full"),
    "gnc": lambda: conquer.make("gnc", dim=DIM, model="full"),
    "random": lambda: conquer.make("random", dim=DIM),
}
regret = {
    name: [conquer.simulate(make(), world(k), seed=k).regret.sum() for k in range(WORLDS)]
    for name, make in LEARNERS.items()
}
for name, values in regret.items():
    print(f"{name:7} mean regret {np.mean(values):6.1f}")
for name in ("gnr", "gnc", "random"):
    found = compare(regret["widest"], regret[name])
    print(f"widest - {name}: {found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f})")
