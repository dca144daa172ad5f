"""Promises about files, copies and refusals: what is saved goes on bit for bit, and what is refused leaves no trace."""

import copy
import math
import pickle

import numpy as np

from conquer.conformance.rehearsal import DIM, an_answer, question, refused, require, require_same, state, trained
from conquer.learners.algorithm import Algorithm
from conquer.saving import dumps, loads
from conquer.types import Choice, Query

_BOOLEANS = (True, False, np.True_, np.False_, np.array(True))


def a_file_goes_on(row: Algorithm, model: str) -> None:
    """A saved learner, read again, goes on as the first does: same choices, same state, for many rounds."""
    learner, rng, fresh = trained(row, model, rounds=40)
    twin, extra, _ = loads(dumps(learner, {"note": 1}))
    require(extra == {"note": 1}, f"what travels along must come back, got {extra}")
    require(dict(twin.parameters) == dict(learner.parameters), f"parameters must come back, got {twin.parameters}")
    for _ in range(1000 if model != "kernel" or row.name == "gnc" else 150):
        X, ticket = fresh(rng), int(rng.integers(0, 2**64, dtype=np.uint64))
        one, two = learner.choose(X, ticket), twin.choose(X, ticket)
        require(one == two, f"the learner read from a file chooses {two}, the saved one {one}")
        if one.query != Query.NONE:
            answer = an_answer(rng)
            learner.learn(X, one, answer)
            twin.learn(X, two, answer)
    require_same(state(learner), state(twin), "the learner read from a file learns otherwise")


def copies_go_their_own_way(row: Algorithm, model: str) -> None:
    """A deep copy and a pickled one share nothing with the first."""
    learner, _, fresh = trained(row, model, rounds=20)
    for copied in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        before, rng = state(learner), np.random.default_rng(8)
        for _ in range(20):
            X = fresh(rng)
            choice = copied.choose(X, rng)
            if choice.query != Query.NONE:
                copied.learn(X, choice, 1.0)
        require_same(before, state(learner), "a copy that learns changed the first")
        require(copied.answers >= learner.answers, "a copy counts its own answers")


def bad_input_changes_nothing(row: Algorithm, model: str) -> None:
    """Values that are no numbers, wrong shapes and answers out of range are refused, and nothing moves."""
    learner, rng, fresh = trained(row, model, rounds=20)
    X = fresh(rng)
    choice, before = question(learner, X), state(learner)
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
    for boolean in _BOOLEANS:
        with refused(f"the answer {boolean!r}", ValueError, saying="an answer must be"):
            learner.learn(X, choice, boolean)  # type: ignore[arg-type]  # wrong on purpose
    if learner.duels:
        with refused("a duel with one item", ValueError, saying="two items"):
            learner.choose(X[:1], rng)
    with refused("a word for a generator", TypeError, saying="rng"):
        learner.choose(X, "seed")  # type: ignore[arg-type]  # wrong on purpose
    require_same(before, state(learner), "what was refused changed the learner")


def refusals_leave_no_trace(row: Algorithm, model: str) -> None:
    """Choices and memos that somebody has changed are learnt or refused; a refusal moves nothing."""
    learner, rng = row.build(3, model), np.random.default_rng(0)
    X = rng.normal(size=(3, 3))
    for ticket in range(12):
        choice = learner.choose(X, ticket)
        if choice.query is Query.NONE:
            continue
        before, told, count = state(learner), 0, choice.memo
        memos = [{}, {**count, "chance": 7.0}, {**count, "layer": 10**6}, {**count, "notes": {}}, {**count, "p": 0.0},
                 {**count, "weight": math.nan}, {**count, "greedy": 99}]  # fmt: skip
        odd = [Choice(choice.shown, choice.query, choice.ticket, memo) for memo in memos]
        odd += [Choice((0, 9), choice.query, choice.ticket, count), Choice((), choice.query, 0, count)]
        for one, answer in [*((one, 1.0) for one in odd), *((choice, value) for value in (1.5, math.nan, 0.3, 0.77))]:
            twin = loads(dumps(learner))[0]
            try:
                twin.learn(X, one, answer)
            except (ValueError, TypeError, ArithmeticError):
                told += 1
                require_same(before, state(twin), f"it moved before it refused {one.memo}, {answer}")
        require(told > 0, "items that are not there must be refused")
        learner.learn(X, choice, 1.0)


def the_row_is_true(row: Algorithm, model: str) -> None:
    """The row says what it builds: a description, grid points that can be built, unknown names refused."""
    require(bool(row.description), "it needs a description")
    require(bool(row.grid), "it needs a grid, with one empty point where there is nothing to tune")
    for point in row.grid:
        row.build(3, model, **point)
    with refused("an unknown parameter", TypeError, saying="no_such"):
        row.build(3, model, no_such=1)
    with refused("an unknown model", ValueError, saying="model must be one of"):
        row.build(3, "no_such")
