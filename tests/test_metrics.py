"""Regrets, errors and paired comparisons against their definitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.metrics import compare, half_width, log_slope, regrets, sign_test, star_error, t_test, unique_best

rewards = st.floats(-1, 1)


@given(st.lists(rewards, min_size=2, max_size=6), st.data())
def test_regrets_follow_their_definitions(values, data):
    m = data.draw(st.integers(0, len(values) - 1))
    n = data.draw(st.integers(0, len(values) - 1))
    top = max(values)
    r = regrets([top], [values[m]], [values[n]])
    assert r["weak"][0] == top - max(values[m], values[n])
    assert r["strong"][0] == pytest.approx((top - values[m]) + (top - values[n]))
    assert r["average"][0] == pytest.approx(r["strong"][0] / 2)
    alone = regrets([top], [values[m]], [np.nan])
    assert alone["weak"][0] == alone["average"][0] == top - values[m]
    assert star_error([top], [values[m]])[0] == pytest.approx(((2 * top + 3) - (2 * values[m] + 3)) / 4)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any), st.data())
def test_a_unique_best_is_as_likely_as_enumeration_says(counts, data):
    pool = [worth for worth, count in enumerate(counts) for _ in range(count)]
    items = data.draw(st.integers(1, len(pool)))
    sets = list(itertools.combinations(pool, items))
    single = sum(drawn.count(max(drawn)) == 1 for drawn in sets)
    assert unique_best(counts, items) == pytest.approx(single / len(sets))


def test_a_unique_best_among_balanced_stars():
    """With as many of each star as one likes the draws are independent: enumerated for K = 5, the formula beyond."""
    every = itertools.product(range(5), repeat=5)
    single = sum(drawn.count(max(drawn)) == 1 for drawn in every)
    assert unique_best([10**9] * 5, 5) == pytest.approx(single / 5**5, abs=1e-8)
    for items, share in ((5, 0.566), (10, 0.289), (15, 0.134), (20, 0.058)):
        law = items / 5 * sum((below / 5) ** (items - 1) for below in range(1, 5))
        assert unique_best([10**9] * 5, items) == pytest.approx(law, abs=1e-6)
        assert law == pytest.approx(share, abs=1e-3)
    for counts, items in (([2, 1], 4), ([2, 1], 0), ([-1, 3], 2), ([], 1)):
        with pytest.raises(ValueError, match="items must be in"):
            unique_best(counts, items)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_the_binomial_test(wins, losses):
    n = wins + losses
    below = sum(math.comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n
    assert sign_test(wins, losses) == pytest.approx(min(1.0, 2.0 * below))


def test_compare_covers_the_true_difference():
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        noise = rng.normal(size=60)
        result = compare(noise + rng.normal(size=60) + 0.3, noise, resamples=400, seed=seed)
        hits += result.low <= 0.3 <= result.high
    assert hits >= 200 * 0.95 - 4 * np.sqrt(200 * 0.95 * 0.05)
    with pytest.raises(ValueError, match="shape"):
        compare([1.0], [1.0, 2.0])


def test_slopes_of_known_curves():
    t = np.arange(1, 5001)
    assert log_slope(np.full(5000, 0.2)) == pytest.approx(1.0)
    assert log_slope(np.diff(np.sqrt(np.arange(5001)))) == pytest.approx(0.5, abs=1e-3)
    assert log_slope(1 / t) < 0.2
    with pytest.raises(ValueError, match="slope"):
        log_slope([0.0, 0.0])


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=12))
def test_the_t_test_is_the_interval(values):
    units = np.array(values)
    p = t_test(units)
    assert 0.0 <= p <= 1.0
    if len(units) > 1 and units.std() > 1e-9:
        half = float(half_width(units))
        assert (p < 0.05) == (abs(units.mean()) > half) or math.isclose(abs(units.mean()), half)
    if len(units) == 1:
        assert p == 1.0
