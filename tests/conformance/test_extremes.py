"""Any parameters that are accepted, on any values that are let in: every learner works, or refuses and stays sound."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conquer.registry import algorithms, make
from conquer.saving import dumps, loads
from conquer.types import Choice, Query

CASES = [pytest.param(row, model, id=f"{row.name}-{model}") for row in algorithms() for model in row.models]
DIM, COUNT, LARGEST = 3, 3, 1e15
ODD = [1e-100, 1e-15, 0.0, 0.5, 1, 2, 20, 1000, 1e15, 2**31, 2**62, 1e99, 1e100, 1e300, -1, 10**400]
ODD += [None, True, "x", "theory", math.nan, math.inf, [1], {}]
entries = st.sampled_from([0.0, 1.0, -1.0, 0.3, LARGEST, -LARGEST, 1e-15, 1e-300, 5e-324])
rounds = st.lists(st.lists(entries, min_size=DIM, max_size=DIM), min_size=COUNT, max_size=COUNT)


def same(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)


def state(learner: Any) -> dict[str, Any]:
    return {name: array.copy() for name, array in learner.arrays().items()}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("row", "model"), CASES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_accepted_parameters_and_values_keep_a_learner_sound(row: Any, model: str, data: Any) -> None:
    names = [one.name for one in row.parameters if model in one.models]
    chosen = data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
    given_ = {name: data.draw(st.sampled_from(ODD)) for name in chosen}
    try:
        learner = make(row.name, dim=DIM, model=model, **given_)
    except (ValueError, TypeError):
        return
    for ticket, X in enumerate(data.draw(st.lists(rounds, min_size=3, max_size=8))):
        try:
            choice = learner.choose(np.array(X), ticket)
        except (ValueError, ArithmeticError):
            continue
        json.dumps(dict(choice.memo))
        if choice.query is Query.NONE:
            continue
        before = state(learner)
        try:
            learner.learn(np.array(X), choice, data.draw(st.sampled_from([1.0, -1.0])))
        except ValueError:
            assert same(before, state(learner)), "it moved before it refused"
            continue
        except ArithmeticError:
            assert row.policy is not None or same(before, state(learner)), "it moved before it refused"
            continue
        after = state(learner)
        assert all(np.isfinite(array).all() for array in after.values())
        assert same(after, state(loads(dumps(learner))[0])), "what is saved must be what is read"
    sound = np.eye(DIM)
    choice = learner.choose(sound, 99)
    if choice.query is not Query.NONE:
        before = state(learner)
        try:
            learner.learn(sound, choice, 1.0)
        except ArithmeticError:
            # Unit rows are long beside a lam of 1e-100 or a beta of 1e15; with the usual ones nobody refuses them.
            assert given_, "it refused unit rows"
            assert same(before, state(learner)), "it moved before it refused"


@pytest.mark.parametrize("size", [1e76, 1e100, 1e155, 1e200, 1e300, 1.7e308])
@pytest.mark.parametrize(("row", "model"), [case for case in CASES if case.values[0].policy is None])
def test_values_beyond_counting_are_refused_by_name_and_change_nothing(row: Any, model: str, size: float) -> None:
    """Rows whose squares or products overflow: learnt with finite numbers, or refused with the state untouched."""
    learner, rng = make(row.name, dim=DIM, model=model), np.random.default_rng(0)
    for ticket in range(12):
        X = rng.normal(size=(COUNT, DIM))
        X = np.clip(X, -1.0, 1.0) * (size if ticket % 2 else 1.0)
        before = state(learner)
        told = ""
        try:
            choice = learner.choose(X, ticket)
        except ArithmeticError as error:
            told = str(error)
            choice = Choice((0, 1), Query.DUEL, ticket, {"chance": None}) if learner.duels else None
        assert not told or "scale" in told
        if choice is None or choice.query is Query.NONE:
            continue
        refused = False
        try:
            learner.learn(X, choice, 1.0)
        except (ArithmeticError, ValueError):
            refused = True
        assert not refused or (ticket % 2 and same(before, state(learner))), "it moved before it refused"
        assert all(np.isfinite(array).all() for array in learner.arrays().values())
    assert same(state(learner), state(loads(dumps(learner))[0]))


def test_a_pace_that_no_file_holds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pace must be a finite number in \[1e-100, 1e\+100\], got 1e\+300"):
        make("epoch-greedy", dim=2, pace=1e300)
    learner, X = make("epoch-greedy", dim=2, pace=1e100), np.eye(2)
    learner.learn(X, learner.choose(X, 0), 1.0)
    assert same(state(learner), state(loads(dumps(learner))[0]))
