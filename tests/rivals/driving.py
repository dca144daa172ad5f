"""Run a registered rival beside a literal transcription on the same rounds, tickets and answers."""

import numpy as np
from literal import uniform

from conquer.registry import make
from conquer.rows import as_rows


def world(rounds, count, dim, seed):
    """Unit items (rounds, K, D) and a unit taste."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, count, dim))
    taste = rng.normal(size=dim)
    return X / np.linalg.norm(X, axis=2, keepdims=True), taste / np.linalg.norm(taste)


def covariance(estimator, dim):
    """V^-1 (D, D), from the widths of unit vectors and of their differences."""
    _, own, between = estimator.measure(as_rows(np.eye(dim), dim))
    return 0.5 * (own[:, None] + own[None, :] - between)


def largest(values, ticket, counter, skip=None):
    """A largest value; among equal ones the ticket decides."""
    places = [k for k in range(len(values)) if k != skip]
    best = max(values[k] for k in places)
    ties = [k for k in places if values[k] == best]
    return ties[min(int(uniform(ticket, counter) * len(ties)), len(ties) - 1)] if len(ties) > 1 else ties[0]


def draw(ticket, number):
    """The method's own draw of this number: numbers 0 and 1 of the ticket break ties."""
    return uniform(ticket, 2 + number)


def compare(
    name,
    transcript,
    *,
    rounds=200,
    count=6,
    dim=4,
    seed=0,
    scale=4.0,
    fixed=False,
    least=50,
    uneven=False,
    **parameters,
):
    """Choices equal in every round; the answers are Bradley-Terry for duels, "is it the best" for single items."""
    X, taste = world(rounds, count, dim, seed)
    if fixed:
        X[:] = X[0]
    if uneven:  # unit items all have one width at the start, up to rounding
        X *= np.random.default_rng(seed + 2).uniform(0.5, 1.0, X.shape[:2])[:, :, None]
    learner = make(name, dim=dim, **parameters)
    rng = np.random.default_rng(seed + 1)
    asked = 0
    for t in range(rounds):
        ticket = int(rng.integers(0, 2**64, dtype=np.uint64))
        choice = learner.choose(X[t], ticket)
        expected = transcript.choose(X[t], ticket)
        assert choice.shown == tuple(expected), (t, choice.shown, expected)
        rewards, coin = X[t] @ taste, rng.random()
        if choice.query.name == "NONE":
            assert len(expected) == 1
            continue
        asked += 1
        if choice.query.name == "BEST":
            answer = 1.0 if rewards[choice.shown[0]] == rewards.max() else -1.0
        else:
            lead = rewards[choice.shown[0]] - rewards[choice.shown[1]]
            answer = 1.0 if coin < 1 / (1 + np.exp(-scale * lead)) else -1.0
        learner.learn(X[t], choice, answer)
        transcript.learn(X[t], expected, answer, ticket)
    assert asked >= least
    return learner
