"""Half-widths by hand and by bisection: three intervals and what they would take to narrow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.boards import BoardSettings
from conquer.boards.widths import Width


def width(interval="anytime", **changes):
    constants = {"delta": 0.05, "tau2": 0.25, "lam": 1.0, "gains": ((1.0, 3.0, 1.0),), "answers": 10}
    return Width(interval, **constants | changes)


def half(w, V, B=0.0, pull=0.0, tests=1):
    return w.half(np.array([V]), np.array([B]), np.array([pull]), tests)[0]


def test_anytime_is_robbins_mixture_and_the_pull_of_the_penalty():
    mixture = math.sqrt(0.04 * (0.04 + 0.25) / 0.25 * (2 * math.log(7 / 0.05) + math.log((0.04 + 0.25) / 0.04)))
    assert half(width(lam=2.0), 0.04, 0.09, 0.6, 7) == pytest.approx(2.0 * 0.6 + mixture, rel=1e-14)


def test_proved_is_its_narrowest_form_and_holds_for_all_pairs_at_once():
    w = width("proved", lam=2.0, gains=((2.0, 9.0, 0.1), (32.0, 3.0, 0.5)))
    forms = (0.04 * (9.0 + 2 * math.log(200)), (0.04 + 30.0 * 0.001) * (3.0 + 2 * math.log(40)))
    one, many = (half(w, 0.04, 0.001, 0.1, tests) for tests in (1, 1000))
    assert one == many == pytest.approx(2.0 * 0.1 + math.sqrt(min(forms)), rel=1e-14)
    far = (forms[0], (0.04 + 30.0 * 0.1) * (3.0 + 2 * math.log(40)))
    assert half(w, 0.04, 0.1, 0.1) == pytest.approx(2.0 * 0.1 + math.sqrt(min(far)), rel=1e-14)


def test_fixed_is_the_textbook():
    assert half(width("fixed"), 0.25, tests=10) == pytest.approx(1.959964 / 2, abs=1e-6)


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
def test_infinite_before_the_first_answer_and_nothing_at_no_distance(interval):
    assert half(width(interval, answers=0), 0.0) == math.inf
    assert half(width(interval), 0.0) == 0.0


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
def test_any_chance_has_a_width_and_a_smaller_one_is_wider(interval):
    halves = []
    for delta in (1 - 2**-53, 0.5, 0.05, 1e-9, 1e-15, 1e-16, 1e-17, 1e-300):
        one = width(interval, delta=delta)
        halves.append(half(one, 0.25, tests=10))
        zero = np.zeros(1)
        assert one.more(np.array([0.25]), zero, zero, np.array([0.1]), 10)[0] >= 0.0
        assert one.more(np.array([0.25]), zero, zero, zero, 10)[0] == math.inf
    assert np.isfinite(halves).all()
    assert (np.diff(halves) > 0).all()


def test_two_items_cost_so_many_answers():
    free, zero = width(lam=0.0), np.zeros(1)
    aims = [free.more(np.array([1e9]), zero, zero, np.array([gap]), 1)[0] for gap in (0.5, 0.1)]
    assert [round(n) for n in aims] == [147, 4686]


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
@given(
    V=st.floats(1e-6, 1e4), share=st.floats(0, 1), gap=st.floats(1e-3, 1e2), delta=st.floats(1e-6, 0.999),
    tests=st.integers(1, 10**6),
)  # fmt: skip
def test_more_is_where_bisection_ends(interval, V, share, gap, delta, tests):
    w = width(interval, delta=delta)
    V, B, pull = np.array([V]), np.array([V * share]) ** 2, np.array([2.0 * V * share])
    n = w.more(V, B, pull, np.array([gap]), tests)[0]

    def after(count):
        shrunk = 1 + count * V / 4
        return w.half(V / shrunk, B / shrunk**2, pull / shrunk, tests)[0]

    if after(0) <= gap:
        assert n == pytest.approx(0.0, abs=1e-6 * 4 / V[0])
        return
    low, high = 0.0, 1.0
    while after(high) > gap:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if after(middle) > gap else (low, middle)
    if high > 1e9:
        assert n == math.inf or n == pytest.approx(1e9, rel=1e-6)
        return
    assert n == pytest.approx(high, rel=1e-6, abs=1e-6 * 4 / V[0])


def test_no_number_of_answers_separates_equal_items():
    zero = np.zeros(1)
    assert width().more(np.array([0.1]), zero, zero, zero, 1).tolist() == [math.inf]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interval": "wald"}, "interval must be one of 'proved', 'anytime', 'fixed', got 'wald'"),
        ({"delta": 0.0}, r"delta must be a finite number in \(0, 1\), got 0.0"),
        ({"delta": 1}, "delta must be"),
        ({"delta": math.nan}, "delta must be"),
        ({"tau2": 0.0}, "tau2 must be"),
    ],
)
def test_constants_are_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        width(**changes)


def test_anytime_is_refused_for_pairs_chosen_by_looking_at_answers():
    with pytest.raises(ValueError, match="false in up to 95 % of boards"):
        BoardSettings(interval="anytime")
    assert BoardSettings(interval="anytime", design="fixed").kind == "anytime"
    assert BoardSettings(design="fixed").kind == "anytime"
    assert BoardSettings().kind == "proved"
    with pytest.raises(ValueError, match="design must be one of 'adaptive', 'fixed', got 'random'"):
        BoardSettings(design="random")
    with pytest.raises(ValueError, match="target must be one of 'score', 'mean vote', got 'votes'"):
        BoardSettings(target="votes")
    with pytest.raises(ValueError, match="U must be"):
        BoardSettings(U=-1.0)
