"""The worlds of the study of boards: what K items are worth, which pairs are compared, and how they are answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.boards.spec import DESIGNS
from conquer.data import votes
from conquer.judges import LawJudge
from conquer.registry import find
from conquer.rows import Rounds
from conquer.simulation import simulate
from conquer.tickets import Draws, draw_ticket, stream, ticket
from conquer.types import Choice, Floats, Ints, Judge, Query

PENALTIES = {"linear": 1.0, "bradley-terry": 0.3, "narrow": 1.0, "equal": 1.0, "votes": 1.0}
"""lam where answers are counted: 1, but where pairs drawn at random do better with less."""
SPREAD = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class BoardWorld:
    """K items: `truth` (K,) orders them, `rewards` (K,) in [-1, 1] is what the judge answers by."""

    truth: Floats
    rewards: Floats
    judge: Judge


@dataclass(frozen=True, slots=True)
class Resampled:
    """Answers drawn from real ones: `votes` has, for positions i < j, answers from i's side."""

    votes: Mapping[tuple[int, int], tuple[float, ...]]

    def __call__(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
        if len(choice.shown) != 2:
            return None
        first, second = choice.shown
        given = self.votes[min(first, second), max(first, second)]
        answer = given[Draws(draw_ticket(rng)).below(0, len(given))]
        return answer if first < second else -answer


def world_of(name: str, count: int, seed: int, run: int, data: str | None = None) -> BoardWorld:
    """A world of `count` items.

    linear: rewards uniform on [-1, 1], a law linear in their difference. bradley-terry: utilities normal with standard
    deviation 3, the logistic law. narrow: the same law, utilities uniform over a range of 3. equal: all rewards 0.
    votes: items of a file of votes that were all compared with each other; their worth is their mean vote.

    >>> world_of("equal", 3, 0, 0).truth.tolist()
    [0.0, 0.0, 0.0]
    """
    rng = np.random.default_rng(stream("boards", seed, name, count, run))
    if name == "votes":
        return _of_votes(str(data), count)
    if name in ("linear", "equal"):
        truth = rng.uniform(-1.0, 1.0, count) if name == "linear" else np.zeros(count)
        return BoardWorld(truth, truth, LawJudge("linear"))
    truth = SPREAD * (rng.normal(size=count) if name == "bradley-terry" else rng.random(count) - 0.5)
    scale = float(np.abs(truth).max())
    return BoardWorld(truth, truth / scale, LawJudge("logistic", scale))


@cache
def _of_votes(path: str, count: int) -> BoardWorld:
    found = read_votes(path)
    chosen = compared(found, count)
    given = {
        (i, j): (*found.get((one, two), ()), *(-vote for vote in found.get((two, one), ())))
        for i, one in enumerate(chosen)
        for j, two in enumerate(chosen)
        if i < j
    }
    means = np.zeros((count, count))
    for (i, j), answers in given.items():
        means[i, j] = np.mean(answers)
        means[j, i] = -means[i, j]
    truth = means.sum(axis=1) / count
    return BoardWorld(truth, np.clip(truth, -1.0, 1.0), Resampled(given))


def read_votes(path: str) -> dict[tuple[str, str], list[float]]:
    """{(left, right): answers, +1 for left}, from a file of votes between ids, as `conquer fit` reads it."""
    found: dict[tuple[str, str], list[float]] = {}
    for vote in votes.read_votes(path, content="ids"):
        found.setdefault((vote.first, vote.second), []).extend([vote.value] * vote.count)
    return found


def compared(found: Mapping[tuple[str, str], list[float]], count: int) -> list[str]:
    """`count` items with votes between any two of them, most votes first; a ValueError if there are not as many."""
    number: dict[str, int] = {}
    for pair, answers in found.items():
        for item in pair:
            number[item] = number.get(item, 0) + len(answers)
    order = sorted(number, key=lambda item: (-number[item], item))
    most: list[str] = []
    for start in order:
        chosen = [start]
        for item in order:
            if item not in chosen and all((item, other) in found or (other, item) in found for other in chosen):
                chosen.append(item)
        if len(chosen) >= count:
            return chosen[:count]
        most = max(most, chosen, key=len)
    raise ValueError(f"no {count} items were all compared with each other; {len(most)} were")


def duels_of(chooser: str, world: BoardWorld, rounds: int, lam: float, seed: int) -> tuple[Ints, Floats]:
    """(T, 2) pairs and (T,) answers; T is `rounds`, less those in which the rule is silent.

    A rule runs on the full model with one feature per item.

    >>> duels_of("balanced", world_of("equal", 4, 0, 0), 6, 1.0, 0)[0].shape
    (6, 2)
    """
    count = world.truth.size
    if chooser in DESIGNS:
        pairs = designed(chooser, count, rounds, seed)
        shown = (Choice((int(i), int(j)), Query.DUEL, 0, {}) for i, j in pairs)
        judge = stream("judge", seed)
        answers = [world.judge(choice, world.rewards, ticket(judge, t)) for t, choice in enumerate(shown)]
        return pairs, np.array(answers, dtype=np.float64)
    row = find(chooser)
    learner = row.build(count, "full" if "full" in row.models else None, lam=lam)
    sets = np.tile(np.arange(count), (rounds, 1))
    trace = simulate(learner, Rounds(np.eye(count), sets, world.rewards), judge=world.judge, seed=seed)
    duels = trace.query == Query.DUEL
    return trace.shown[duels], trace.answers[duels]


def designed(name: str, count: int, rounds: int, seed: int) -> Ints:
    """(T, 2): any two items each time, or every item once per turn (with an odd number, all but one).

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
