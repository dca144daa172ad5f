"""Off-policy evaluation: estimate policies that never ran from the log of one that did."""

import numpy as np

import conquer
from conquer.offpolicy import compare_targets, evaluate, read_log

DIM, ITEMS, ROUNDS = 5, 4, 6000
rng = np.random.default_rng(0)
taste = np.array([0.9, -0.4, 0.2, 0.0, 0.0])


def a_round():
    X = rng.normal(size=(ITEMS, DIM))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def answer(X, first, second):
    """+1 or -1: the first wins with a chance that is linear in how much better it is."""
    lead = X[first] @ taste - X[second] @ taste
    return 1.0 if rng.random() < (1 + lead / 2) / 2 else -1.0


# 1. The logging policy: in half of the rounds two random items, so that the log covers every pair.
ledger = conquer.MemoryLedger()
session = conquer.Session(conquer.make("gnr", dim=DIM, model="full", explore=0.5), seed=0, ledger=ledger)
for _ in range(ROUNDS):
    X = a_round()
    offer = session.ask(X)
    session.tell(offer, answer(X, *offer.choice.shown))
again = conquer.replay(ledger)
same = all(np.array_equal(again.arrays()[k], v) for k, v in session.learner.arrays().items())
print(f"the ledger of {ROUNDS} rounds replays bit for bit: {same}")

# 2. Two candidate policies: one trained, one fresh.
log = read_log(ledger, explored=True)
trained, fresh = conquer.make("gnr", dim=DIM, model="full"), conquer.make("gnr", dim=DIM, model="full")
for row in log[: len(log) // 2]:
    trained.learn(row.rows, conquer.Choice(row.shown, conquer.Query.DUEL, 0), row.outcome)
log = log[len(log) // 2 :]  # the trained policy is evaluated on rounds it has not seen
for name, target in (("trained", trained), ("fresh", fresh)):
    found = evaluate(log, target)
    tried = []
    for ticket in range(4000):
        X = a_round()
        first, second = target.choose(X, ticket).shown
        tried.append((X[first] - X[second]) @ taste / 2)
    print(f"{name}: {found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f}), truly {np.mean(tried):+.3f}")

# 3. Which is better?
gain = compare_targets(log, trained, fresh)
print(f"trained - fresh: {gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})")
