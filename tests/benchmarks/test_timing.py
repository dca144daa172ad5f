"""Turns become ratios, and a goal has a verdict only where its ratio is stable."""

import numpy as np
import pytest

from benchmarks.timing import Goal, Race, Ratio, cores, race, running_on


def test_contenders_take_turns():
    order = []

    def contender(name):
        return lambda: order.append(name) or 1.0

    race({name: contender(name) for name in "abc"}, 9)
    turns = ["".join(order[i : i + 3]) for i in range(0, 30, 3)]
    assert {*map(frozenset, turns)} == {frozenset("abc")}
    assert len({*turns}) > 3


def test_a_ratio_is_the_median_over_the_turns():
    one = Race({"a": np.array([2.0, 4.0, 6.0]), "b": np.array([1.0, 2.0, 3.0])})
    assert one.ratio("a", "b") == Ratio(2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("low", "median", "high", "verdict"),
    [
        (5.0, 5.1, 5.3, "reached"),
        (4.9, 5.1, 5.3, "reached, barely"),
        (4.7, 4.9, 5.1, "missed, barely"),
        (4.0, 4.5, 4.9, "missed"),
        (1.0, 4.0, 9.0, "unstable"),
    ],
)
def test_verdicts(low, median, high, verdict):
    assert Goal("x", Ratio(median, low, high), 5.0, True).verdict == verdict
    if verdict != "unstable":
        assert Goal("x", Ratio(10 - median, 10 - high, 10 - low), 5.0, False).verdict == verdict


def test_a_race_stays_on_its_core():
    everywhere = cores()
    if len(everywhere) < 2:
        pytest.skip("one core only, or no affinity")
    with running_on({min(everywhere)}):
        assert cores() == {min(everywhere)}
    with pytest.raises(ZeroDivisionError), running_on({min(everywhere)}):
        1 / 0  # noqa: B018
    assert cores() == everywhere
