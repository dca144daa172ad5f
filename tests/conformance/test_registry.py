"""What every registered algorithm promises, with every model it supports; a new row is tested by being there."""

import pytest

from conquer.conformance import CHECKS, COUNT, trained
from conquer.registry import algorithms

ROWS = algorithms()
CASES = [pytest.param(row, model, id=f"{row.name}-{model}") for row in ROWS for model in row.models]


@pytest.mark.parametrize(("row", "model"), CASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_promise_is_kept(row, model, check):
    check(row, model)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_our_own_are_tuned_on_eight_points(row):
    assert len(row.grid) == 8 or not row.parameters


DETERMINISTIC = ("ttg", "gnu", "gnc", "ttu", "gnw", "tob", "sep", "confidit")


@pytest.mark.parametrize(("row", "model"), [case for case in CASES if case.values[0].name in DETERMINISTIC])
def test_permuting_items_permutes_the_choice(row, model):
    learner, rng, fresh = trained(row, model)
    for _ in range(30):
        X, order = fresh(rng), rng.permutation(COUNT)
        straight, mixed = learner.choose(X, 1), learner.choose(X[order], 2)
        assert tuple(int(order[k]) for k in mixed.shown) == straight.shown
        assert mixed.query == straight.query
