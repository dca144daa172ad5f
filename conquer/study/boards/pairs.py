"""Who chooses the pairs: a rule of the registry, or a design made before any answer."""

import numpy as np

from conquer.registry import find
from conquer.rows import Rounds
from conquer.simulation import simulate
from conquer.study.boards.spec import DESIGNS
from conquer.study.boards.worlds import BoardWorld
from conquer.tickets import stream, ticket
from conquer.types import Choice, Floats, Ints, Query


def asked(chooser: str, world: BoardWorld, rounds: int, lam: float, seed: int) -> tuple[Ints, Floats]:
    """(T, 2) pairs and (T,) answers; T is `rounds`, less those in which the rule is silent.

    A rule runs on the full model, every item a feature of its own.

    >>> from conquer.study.boards.worlds import world_of
    >>> asked("balanced", world_of("equal", 4, 0, 0), 6, 1.0, 0)[0].shape
    (6, 2)
    """
    count = world.truth.size
    if chooser in DESIGNS:
        pairs = designed(chooser, count, rounds, seed)
        shown = (Choice((int(i), int(j)), Query.DUEL, 0, {}) for i, j in pairs)
        judge = stream("judge", seed)
        told = [world.judge(choice, world.rewards, ticket(judge, t)) for t, choice in enumerate(shown)]
        return pairs, np.array(told, dtype=np.float64)
    row = find(chooser)
    learner = row.build(count, "full" if "full" in row.models else None, lam=lam)
    trace = simulate(
        learner,
        Rounds(np.eye(count), np.tile(np.arange(count), (rounds, 1)), world.rewards),
        judge=world.judge,
        seed=seed,
    )
    duels = trace.query == Query.DUEL
    return trace.shown[duels], trace.answers[duels]


def designed(name: str, count: int, rounds: int, seed: int) -> Ints:
    """(T, 2): any two items each time, or by turns everyone once (with an odd number, all but one).

    >>> designed("balanced", 4, 4, 0).ravel()[:4].tolist() != designed("balanced", 4, 4, 0).ravel()[4:].tolist()
    True
    """
    rng = np.random.default_rng(stream("design", seed))
    if name == "random":
        first = rng.integers(0, count, rounds)
        return np.stack([first, (first + rng.integers(1, count, rounds)) % count], axis=1)
    turns = -(-rounds // (count // 2))
    orders = [rng.permutation(count)[: count // 2 * 2].reshape(-1, 2) for _ in range(turns)]
    return np.concatenate(orders)[:rounds].astype(np.int64)
