"""Regrets, errors and paired comparisons against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.metrics import compare, log_slope, regrets, sign_test, star_error

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
