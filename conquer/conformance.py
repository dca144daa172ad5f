"""The conformance suite: what every algorithm promises, checked with every model it takes.

`check_algorithm("gnc")` runs all checks by name; `conquer check-algorithm` prints them.
"""

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.learners.algorithm import Algorithm
from conquer.registry import find
from conquer.rows import Rounds, SparseRows
from conquer.saving import dumps, loads
from conquer.simulation import simulate
from conquer.types import Choice, Floats, Learner, Query

DIM, COUNT = 8, 5
State = dict[str, NDArray[Any]]
Items = Callable[[np.random.Generator], Floats]
Check = Callable[[Algorithm, str], None]


class BrokenPromiseError(AssertionError):
    """An algorithm breaks a promise; the message says which and how."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of one algorithm with one model; `problem` is empty if the promise is kept."""

    model: str
    promise: str
    problem: str


def check_algorithm(name: str) -> Iterator[Finding]:
    """Run every check with every model of an algorithm.

    Parameters
    ----------
    name : str
        The algorithm's name, one of ours or of an installed package.

    Yields
    ------
    Finding
        One per model and check, also for the checks that fail.

    Raises
    ------
    ValueError
        No algorithm has this name.

    Examples
    --------
    >>> next(check_algorithm("random")).problem
    ''
    """
    row = find(name)
    for model in row.models:
        for check in CHECKS:
            problem = ""
            try:
                check(row, model)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            yield Finding(model, check.__name__.replace("_", " "), problem)


def require(kept: bool, text: str) -> None:
    """Raise a BrokenPromiseError unless the promise is kept."""
    if not kept:
        raise BrokenPromiseError(text)


def require_same(one: State, two: State, text: str) -> None:
    """Both states are equal, bit for bit."""
    require(one.keys() == two.keys(), f"{text}: arrays {sorted(one)} are now {sorted(two)}")
    for name in one:
        require(np.array_equal(one[name], two[name], equal_nan=True), f"{text}: {name} differs")


@contextmanager
def refused(text: str, *kinds: type[Exception], saying: str = "") -> Iterator[None]:
    """The block must raise one of these errors, with `saying` in its message."""
    try:
        yield
    except kinds as error:
        require(saying in str(error), f"{text}: the error must say {saying!r}, got {error}")
    else:
        raise BrokenPromiseError(f"{text}: must be refused, and was accepted")


def items(rng: np.random.Generator, count: int = COUNT) -> Floats:
    """(count, DIM): rows of length 1."""
    X = rng.normal(size=(count, DIM))
    rows: Floats = X / np.linalg.norm(X, axis=1, keepdims=True)
    return rows


def trained(row: Algorithm, model: str, rounds: int = 60) -> tuple[Learner, np.random.Generator, Items]:
    """A learner after some rounds, its generator, and a source of items.

    Items are fresh in each round, or the same for algorithms that know their arms by position.
    """
    rng, learner, fixed = np.random.default_rng(0), row.build(DIM, model), items(np.random.default_rng(99))

    def fresh(rng: np.random.Generator) -> Floats:
        return fixed if learner.fixed_arms else items(rng)

    for _ in range(rounds):
        X = fresh(rng)
        choice = learner.choose(X, rng)
        if choice.query != Query.NONE:
            learner.learn(X, choice, _answer(rng))
    return learner, rng, fresh


def _answer(rng: np.random.Generator) -> float:
    """+1 or -1."""
    return float(rng.choice([-1.0, 1.0]))


def _question(learner: Learner, X: Floats) -> Choice:
    """A choice with a question."""
    choices = (learner.choose(X, ticket) for ticket in range(2000))
    found = next((choice for choice in choices if choice.query != Query.NONE), None)
    if found is None:
        raise BrokenPromiseError("it must ask something in one of 2,000 rounds")
    return found


def _state(learner: Learner) -> State:
    """A copy of everything learnt."""
    return {name: array.copy() for name, array in learner.arrays().items()}


def description_is_right(row: Algorithm, model: str) -> None:
    """It has a description and a grid that can be built; unknown parameters and models are refused."""
    require(bool(row.description), "it needs a description")
    require(bool(row.grid), "it needs a grid, with one empty point if there is nothing to tune")
    for point in row.grid:
        row.build(3, model, **point)
    with refused("an unknown parameter", TypeError, saying="no_such"):
        row.build(3, model, no_such=1)
    with refused("an unknown model", ValueError, saying="model must be one of"):
        row.build(3, "no_such")


def choose_is_pure(row: Algorithm, model: str) -> None:
    """Choosing changes nothing, and a ticket gives the same choice again."""
    learner, rng, fresh = trained(row, model)
    X, before = fresh(rng), _state(learner)
    choices = [learner.choose(X, ticket) for ticket in range(40)]
    require_same(before, _state(learner), "choose changed the learner")
    again = [learner.choose(X, choice.ticket) for choice in choices]
    require(choices == again, "a ticket must give the same choice again")
    generator, same = np.random.default_rng(5), np.random.default_rng(5)
    expected = int(same.integers(0, 2**64, dtype=np.uint64))
    require(learner.choose(X, generator).ticket == expected, "choose takes one ticket from a generator")
    require(generator.bit_generator.state == same.bit_generator.state, "choose takes one ticket and no more")


def choices_are_valid(row: Algorithm, model: str) -> None:
    """Shown items are distinct positions, memos are JSON, chances are chances, and a silent round cannot be learnt."""
    learner, rng, fresh = trained(row, model, rounds=30)
    for _ in range(40):
        choice = learner.choose(fresh(rng), rng)
        require(len(set(choice.shown)) == len(choice.shown) >= 1, f"shown items must be distinct, got {choice.shown}")
        inside = all(isinstance(k, int) and 0 <= k < COUNT for k in choice.shown)
        require(inside, f"shown items must be whole numbers in [0, {COUNT}), got {choice.shown}")
        json.dumps(dict(choice.memo), allow_nan=False)
        require(choice.query != Query.DUEL or len(choice.shown) >= 2, f"a duel shows two, got {choice.shown}")
        if choice.query == Query.NONE:
            before = _state(learner)
            with refused("an answer to nothing", ValueError, saying="NONE"):
                learner.learn(fresh(rng), choice, 1.0)
            require_same(before, _state(learner), "a refused answer changed the learner")
        chance = choice.memo.get("chance")
        require("chance" in choice.memo, "the memo must hold the chance of this choice, or None")
        require(chance is None or 0 < chance <= 1, f"a chance must be in (0, 1], got {chance}")


def small_rounds_work(row: Algorithm, model: str) -> None:
    """Two items, equal items and rows of zeros are valid rounds."""
    learner, rng = row.build(DIM, model), np.random.default_rng(1)
    X = items(rng, 2)
    for Y in (X, np.vstack([X[:1], X[:1]]), np.vstack([X[:1], np.zeros((1, DIM))])):
        for _ in range(4):
            choice = learner.choose(Y, rng)
            if choice.query != Query.NONE:
                learner.learn(Y, choice, _answer(rng))
    require(bool(np.isfinite(learner.scores(X)).all()), "scores must be finite")


def forms_are_equal(row: Algorithm, model: str) -> None:
    """Lists, arrays, scipy's sparse matrices and sparse rows give the same choices."""
    from scipy.sparse import csr_array

    learner, rng, fresh = trained(row, model, rounds=30)
    for _ in range(10):
        X = fresh(rng)
        matrix = csr_array(X)
        forms = (X, matrix, SparseRows(matrix.indptr, matrix.indices, matrix.data, DIM), X.tolist())
        shown = {learner.choose(form, 77).shown for form in forms}
        require(len(shown) == 1, f"one round in four forms must give one choice, got {shown}")


def drivers_agree(row: Algorithm, model: str) -> None:
    """A simulation gives the same numbers compiled and call by call, also with late and batched answers."""
    rng = np.random.default_rng(3)
    X = items(rng, 40)
    sets = rng.integers(0, 40, (120, COUNT))
    sets[::3, 4:] = -1
    if row.build(DIM, model).fixed_arms:
        sets = np.tile(np.arange(COUNT), (120, 1))
    rounds = Rounds(X, sets, np.clip(X @ np.eye(DIM)[0], -1, 1))
    for delay, batch in ((0, 1), (7, 1), (3, 4)):
        runs = [
            simulate(row.build(DIM, model), rounds, seed=4, delay=delay, batch=batch, compiled=compiled)
            for compiled in (True, False)
        ]
        for name in ("shown", "query", "answers", "chance", "regret"):
            same = np.array_equal(getattr(runs[0], name), getattr(runs[1], name), equal_nan=True)
            require(same, f"both drivers must give the same {name} (delay {delay}, batch {batch})")
        require_same(_state(runs[0].learner), _state(runs[1].learner), "both drivers must learn the same")


def files_continue_identically(row: Algorithm, model: str) -> None:
    """A saved learner, loaded again, continues as the original: same choices, same state, for many rounds."""
    learner, rng, fresh = trained(row, model, rounds=40)
    twin, extra, _ = loads(dumps(learner, {"note": 1}))
    require(extra == {"note": 1}, f"extra data must come back, got {extra}")
    require(dict(twin.parameters) == dict(learner.parameters), f"parameters must come back, got {twin.parameters}")
    for _ in range(1000 if model != "kernel" or row.name == "gnc" else 150):
        X, ticket = fresh(rng), int(rng.integers(0, 2**64, dtype=np.uint64))
        one, two = learner.choose(X, ticket), twin.choose(X, ticket)
        require(one == two, f"the loaded learner chooses {two}, the saved one {one}")
        if one.query != Query.NONE:
            answer = _answer(rng)
            learner.learn(X, one, answer)
            twin.learn(X, two, answer)
    require_same(_state(learner), _state(twin), "the loaded learner learns differently")


def copies_share_nothing(row: Algorithm, model: str) -> None:
    """A deep copy and a pickled one share nothing with the original."""
    learner, _, fresh = trained(row, model, rounds=20)
    for copied in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        before, rng = _state(learner), np.random.default_rng(8)
        for _ in range(20):
            X = fresh(rng)
            choice = copied.choose(X, rng)
            if choice.query != Query.NONE:
                copied.learn(X, choice, 1.0)
        require_same(before, _state(learner), "a copy that learns changed the original")
        require(copied.answers >= learner.answers, "a copy counts its own answers")


def bad_input_changes_nothing(row: Algorithm, model: str) -> None:
    """NaN, wrong shapes and answers out of range are refused, and the state stays."""
    learner, rng, fresh = trained(row, model, rounds=20)
    X = fresh(rng)
    choice, before = _question(learner, X), _state(learner)
    broken = X.copy()
    broken[1, 2] = np.nan
    for bad in (broken, np.where(X[0, 0] == X, np.inf, X), X[:, :-1], np.empty((0, DIM)), X[0], "text", [["a"] * DIM]):
        with refused("choosing from bad items", ValueError, TypeError):
            learner.choose(bad, rng)
        with refused("learning from bad items", ValueError, TypeError):
            learner.learn(bad, choice, 1.0)
    for answer in (np.nan, np.inf, 2.0, -1.5):
        with refused(f"the answer {answer}", ValueError, saying="[-1, 1]"):
            learner.learn(X, choice, answer)
    for boolean in (True, False, np.True_, np.False_, np.array(True)):
        with refused(f"the answer {boolean!r}", ValueError, saying="an answer must be"):
            learner.learn(X, choice, boolean)  # type: ignore[arg-type]  # wrong on purpose
    if learner.duels:
        with refused("a duel with one item", ValueError, saying="two items"):
            learner.choose(X[:1], rng)
    with refused("a string as generator", TypeError, saying="rng"):
        learner.choose(X, "seed")  # type: ignore[arg-type]  # wrong on purpose
    require_same(before, _state(learner), "refused input changed the learner")


def refusals_leave_no_trace(row: Algorithm, model: str) -> None:
    """Altered choices and memos are learnt or refused; a refusal changes nothing."""
    learner, rng = row.build(3, model), np.random.default_rng(0)
    X = rng.normal(size=(3, 3))
    for ticket in range(12):
        choice = learner.choose(X, ticket)
        if choice.query is Query.NONE:
            continue
        before, refusals, memo = _state(learner), 0, choice.memo
        changes: tuple[dict[str, Any], ...] = (
            {"chance": 7.0}, {"layer": 10**6}, {"notes": {}}, {"p": 0.0}, {"weight": math.nan}, {"greedy": 99},
        )  # fmt: skip
        memos = [{}, *({**memo, **change} for change in changes)]
        odd = [Choice(choice.shown, choice.query, choice.ticket, altered) for altered in memos]
        odd += [Choice((0, 9), choice.query, choice.ticket, memo), Choice((), choice.query, 0, memo)]
        for one, answer in [*((one, 1.0) for one in odd), *((choice, value) for value in (1.5, math.nan, 0.3, 0.77))]:
            twin = loads(dumps(learner))[0]
            try:
                twin.learn(X, one, answer)
            except (ValueError, TypeError, ArithmeticError):
                refusals += 1
                require_same(before, _state(twin), f"it changed before it refused {one.memo}, {answer}")
        require(refusals > 0, "positions out of range must be refused")
        learner.learn(X, choice, 1.0)


CHECKS: tuple[Check, ...] = (
    description_is_right,
    choose_is_pure,
    choices_are_valid,
    small_rounds_work,
    forms_are_equal,
    drivers_agree,
    files_continue_identically,
    copies_share_nothing,
    bad_input_changes_nothing,
    refusals_leave_no_trace,
)
"""Each takes a row of the table and the name of a model, and raises if a promise is broken."""
