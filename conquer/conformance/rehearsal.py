"""What the checks share: items, a learner that has met some rounds, its state, and how a broken promise is told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from conquer.learners.algorithm import Algorithm
from conquer.types import Choice, Floats, Learner, Query

DIM, COUNT = 8, 5
State = dict[str, Any]
Fresh = Callable[[np.random.Generator], Floats]


class BrokenPromiseError(AssertionError):
    """What an algorithm does not keep."""


def require(kept: bool, text: str) -> None:
    """A BrokenPromiseError unless the promise is kept.

    >>> require(True, "never said")
    """
    if not kept:
        raise BrokenPromiseError(text)


@contextmanager
def refused(text: str, *kinds: type[Exception], saying: str = "") -> Iterator[None]:
    """What is done inside must be refused with one of these errors, whose message says so much.

    >>> with refused("a word is no number", ValueError):
    ...     _ = float("word")
    """
    try:
        yield
    except kinds as error:
        require(saying in str(error), f"{text}: the error must say {saying!r}, got {error}")
    else:
        raise BrokenPromiseError(f"{text}: must be refused, and was taken")


def items(rng: np.random.Generator, count: int = COUNT, dim: int = DIM) -> Floats:
    """(count, dim): rows of length 1.

    >>> items(np.random.default_rng(0)).shape
    (5, 8)
    """
    X = rng.normal(size=(count, dim))
    rows: Floats = X / np.linalg.norm(X, axis=1, keepdims=True)
    return rows


def source_of(learner: Learner) -> Fresh:
    """Fresh items for each round; the same ones for algorithms that know their arms by position."""
    fixed = items(np.random.default_rng(99))
    return lambda rng: fixed if getattr(learner, "fixed_arms", False) else items(rng)


def an_answer(rng: np.random.Generator) -> float:
    """+1 or -1."""
    return float(rng.choice([-1.0, 1.0]))


def trained(row: Algorithm, model: str, rounds: int = 60) -> tuple[Learner, np.random.Generator, Fresh]:
    """A learner after some rounds, the generator as it is then, and where its items come from."""
    rng = np.random.default_rng(0)
    learner = row.build(DIM, model)
    fresh = source_of(learner)
    for _ in range(rounds):
        X = fresh(rng)
        choice = learner.choose(X, rng)
        if choice.query != Query.NONE:
            learner.learn(X, choice, an_answer(rng))
    return learner, rng, fresh


def question(learner: Learner, X: Floats) -> Choice:
    """A choice that asks something."""
    choices = (learner.choose(X, ticket) for ticket in range(2000))
    found = next((choice for choice in choices if choice.query != Query.NONE), None)
    require(found is not None, "it must ask something in one of 2,000 rounds")
    assert found is not None
    return found


def state(learner: Learner) -> State:
    """A copy of everything learnt."""
    return {name: array.copy() for name, array in learner.arrays().items()}


def require_same(one: State, two: State, text: str) -> None:
    """Both states are equal, bit for bit.

    >>> require_same({"w": np.zeros(2)}, {"w": np.zeros(2)}, "equal")
    """
    require(one.keys() == two.keys(), f"{text}: arrays {sorted(one)} are now {sorted(two)}")
    for name in one:
        require(np.array_equal(one[name], two[name], equal_nan=True), f"{text}: {name} differs")
