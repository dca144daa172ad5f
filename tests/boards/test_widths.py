"""Half-widths by hand and by bisection: three intervals and what they would take to narrow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.boards.widths import Width


def width(interval="anytime", **changes):
    constants = {"delta": 0.05, "tau2": 0.25, "lam": 1.0, "U": 2.0, "spread": 3.0, "answers": 10}
    return Width(interval, **constants | changes)


def test_anytime_is_robbins_mixture_and_the_pull_of_the_penalty():
    V, B, tests = 0.04, 0.09, 7
    mixture = math.sqrt(V * (V + 0.25) / 0.25 * (2 * math.log(7 / 0.05) + math.log((V + 0.25) / V)))
    assert width().half(np.array([V]), np.array([B]), tests)[0] == pytest.approx(1.0 * 2.0 * 0.3 + mixture, rel=1e-14)


def test_proved_is_an_ellipsoid_for_all_pairs_at_once():
    radius = math.sqrt(1.0 * 4.0 + 3.0 + 2 * math.log(20))
    one, many = (width("proved").half(np.array([0.04]), np.array([9.0]), tests)[0] for tests in (1, 1000))
    assert one == many == pytest.approx(0.2 * radius, rel=1e-14)


def test_fixed_is_the_textbook():
    assert width("fixed").half(np.array([0.25]), np.zeros(1), 10)[0] == pytest.approx(1.959964 / 2, abs=1e-6)


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
def test_infinite_before_the_first_answer_and_nothing_at_no_distance(interval):
    assert width(interval, answers=0).half(np.zeros(2), np.zeros(2), 1).tolist() == [math.inf] * 2
    assert width(interval).half(np.zeros(2), np.zeros(2), 1).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
def test_any_chance_has_a_width_and_a_smaller_one_is_wider(interval):
    halves = []
    for delta in (1 - 2**-53, 0.5, 0.05, 1e-9, 1e-15, 1e-16, 1e-17, 1e-300):
        one = width(interval, delta=delta)
        halves.append(float(one.half(np.array([0.25]), np.zeros(1), 10)[0]))
        assert one.more(np.array([0.25]), np.zeros(1), np.array([0.1]), 10)[0] >= 0.0
        assert one.more(np.array([0.25]), np.zeros(1), np.zeros(1), 10)[0] == math.inf
    assert np.isfinite(halves).all()
    assert (np.diff(halves) > 0).all()


def test_two_items_cost_so_many_answers():
    free = width(lam=0.0)
    aims = [free.more(np.array([1e9]), np.zeros(1), np.array([gap]), 1)[0] for gap in (0.5, 0.1)]
    assert [round(n) for n in aims] == [147, 4686]


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
@given(
    V=st.floats(1e-6, 1e4), share=st.floats(0, 1), gap=st.floats(1e-3, 1e2), delta=st.floats(1e-6, 0.999),
    tests=st.integers(1, 10**6),
)  # fmt: skip
def test_more_is_where_bisection_ends(interval, V, share, gap, delta, tests):
    w = width(interval, delta=delta)
    V, B = np.array([V]), np.array([V * share]) ** 2
    n = w.more(V, B, np.array([gap]), tests)[0]

    def half(count):
        shrunk = 1 + count * V / 4
        return w.half(V / shrunk, B / shrunk**2, tests)[0]

    if half(0) <= gap:
        assert n == pytest.approx(0.0, abs=1e-6 * 4 / V[0])
        return
    low, high = 0.0, 1.0
    while half(high) > gap:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if half(middle) > gap else (low, middle)
    assert n == pytest.approx(high, rel=1e-6, abs=1e-6 * 4 / V[0])


def test_no_number_of_answers_separates_equal_items():
    assert width().more(np.array([0.1]), np.zeros(1), np.zeros(1), 1).tolist() == [math.inf]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interval": "wald"}, "interval must be one of 'anytime', 'proved', 'fixed', got 'wald'"),
        ({"delta": 0.0}, r"delta must be a finite number in \(0, 1\), got 0.0"),
        ({"delta": 1}, "delta must be"),
        ({"delta": math.nan}, "delta must be"),
        ({"tau2": 0.0}, "tau2 must be"),
        ({"U": -1.0}, "U must be"),
        ({"U": math.inf}, "U must be"),
    ],
)
def test_constants_are_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        width(**changes)
