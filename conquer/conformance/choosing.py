"""Promises about choosing: pure, repeatable, sensible, and the same for every form of the items."""

import json

import numpy as np

from conquer.conformance.rehearsal import (
    COUNT,
    DIM,
    an_answer,
    items,
    refused,
    require,
    require_same,
    state,
    trained,
)
from conquer.learners.algorithm import Algorithm
from conquer.rows import Rounds, SparseRows
from conquer.simulation import simulate
from conquer.types import Query


def choose_is_pure(row: Algorithm, model: str) -> None:
    """Choosing changes nothing, and a ticket gives the same choice again."""
    learner, rng, fresh = trained(row, model)
    X, before = fresh(rng), state(learner)
    choices = [learner.choose(X, ticket) for ticket in range(40)]
    require_same(before, state(learner), "choose changed the learner")
    again = [learner.choose(X, choice.ticket) for choice in choices]
    require(choices == again, "a ticket must give the same choice again")
    generator, same = np.random.default_rng(5), np.random.default_rng(5)
    expected = int(same.integers(0, 2**64, dtype=np.uint64))
    require(learner.choose(X, generator).ticket == expected, "choose takes one ticket from a generator")
    require(generator.bit_generator.state == same.bit_generator.state, "choose takes one ticket and no more")


def choices_make_sense(row: Algorithm, model: str) -> None:
    """Shown items are distinct and there, memos are JSON, chances are chances, and silence cannot be learnt."""
    learner, rng, fresh = trained(row, model, rounds=30)
    for _ in range(40):
        choice = learner.choose(fresh(rng), rng)
        require(len(set(choice.shown)) == len(choice.shown) >= 1, f"shown items must be distinct, got {choice.shown}")
        inside = all(isinstance(k, int) and 0 <= k < COUNT for k in choice.shown)
        require(inside, f"shown items must be whole numbers in [0, {COUNT}), got {choice.shown}")
        json.dumps(dict(choice.memo), allow_nan=False)
        require(choice.query != Query.DUEL or len(choice.shown) >= 2, f"a duel shows two, got {choice.shown}")
        if choice.query == Query.NONE:
            before = state(learner)
            with refused("an answer to nothing", ValueError, saying="NONE"):
                learner.learn(fresh(rng), choice, 1.0)
            require_same(before, state(learner), "a refused answer changed the learner")
        chance = choice.memo.get("chance")
        require("chance" in choice.memo, "the memo must say the chance of this choice, or None")
        require(chance is None or 0 < chance <= 1, f"a chance must be in (0, 1], got {chance}")


def little_is_enough(row: Algorithm, model: str) -> None:
    """Two items, equal items and rows of zeros are rounds as well."""
    learner, rng = row.build(DIM, model), np.random.default_rng(1)
    X = items(rng, 2)
    for Y in (X, np.vstack([X[:1], X[:1]]), np.vstack([X[:1], np.zeros((1, DIM))])):
        for _ in range(4):
            choice = learner.choose(Y, rng)
            if choice.query != Query.NONE:
                learner.learn(Y, choice, an_answer(rng))
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
    """A simulation gives the same numbers compiled and call by call, with late and batched answers as well."""
    rng = np.random.default_rng(3)
    X = items(rng, 40)
    sets = rng.integers(0, 40, (120, COUNT))
    sets[::3, 4:] = -1
    if getattr(row.build(DIM, model), "fixed_arms", False):
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
        require_same(state(runs[0].learner), state(runs[1].learner), "both drivers must learn the same")
