"""Values from outside: what each check takes, and that it names what it does not take."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.checks import LARGEST, checked_answer, checked_dim, checked_seed, number, one_of, positive, whole

NO_NUMBERS = [True, False, "1", None, [1.0], 1j, math.nan, math.inf, -math.inf, np.nan, 10**400]


@given(st.floats(-5, 5), st.booleans(), st.booleans())
def test_a_number_is_within_its_ends_open_or_closed(value, above, below):
    fits = -1 <= value <= 1 and not (above and value == -1) and not (below and value == 1)
    if fits:
        assert number("x", value, -1, 1, above=above, below=below) == value
    else:
        with pytest.raises(ValueError, match=re.escape(f"x must be a finite number in {'(' if above else '['}-1, 1")):
            number("x", value, -1, 1, above=above, below=below)


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_refused_by_name(value):
    for check in (number, positive):
        with pytest.raises(ValueError, match="lam must be"):
            check("lam", value)
    with pytest.raises(ValueError, match="steps must be a whole number"):
        whole("steps", value, 0)


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), np.float64(1)])
def test_numbers_of_any_type_become_floats(value):
    assert number("x", value) == 1.0
    assert type(number("x", value)) is float
    assert positive("x", value) == 1.0


def test_a_positive_number_has_a_finite_square_and_inverse():
    for value in (1 / LARGEST, LARGEST):
        assert math.isfinite(positive("lam", value) ** 2)
        assert math.isfinite(1 / value**2)
    for value in (0, -1.0, 1e-310, 1e200):
        with pytest.raises(ValueError, match="lam"):
            positive("lam", value)


@given(st.integers(-10, 10))
def test_a_whole_number_is_within_its_ends(value):
    if 1 <= value <= 5:
        assert whole("n", np.int64(value), 1, 5) == value
        assert type(whole("n", np.int64(value), 1, 5)) is int
    else:
        with pytest.raises(ValueError, match=rf"n must be a whole number in \[1, 5\], got {value}"):
            whole("n", value, 1, 5)
    with pytest.raises(ValueError, match="n must be"):
        whole("n", float(value), -20, 20)


def test_one_of_gives_the_code_or_the_list():
    choices = {None: 0, "aurora": 1}
    assert [one_of("gate", name, choices) for name in choices] == [0, 1]
    for wrong in ("no", 0, ["aurora"], True):
        with pytest.raises(ValueError, match="gate must be one of None, 'aurora'"):
            one_of("gate", wrong, choices)


@pytest.mark.parametrize("wrong", [0, -1, 2**31, 1.5, True])
def test_dimensions_and_seeds(wrong):
    assert checked_dim(np.int32(7)) == 7
    assert checked_dim(2**31 - 1) == 2**31 - 1
    with pytest.raises(ValueError, match="dim must be"):
        checked_dim(wrong)
    assert checked_seed(np.uint8(3)) == 3
    for no_seed in (True, np.True_, 1.0, "1", None):
        with pytest.raises(TypeError, match="seed must be"):
            checked_seed(no_seed)


@given(st.floats(-3, 3))
def test_an_answer_is_a_strength_or_to_best_a_sign(value):
    if abs(value) <= 1:
        assert checked_answer(value) == value
    else:
        with pytest.raises(ValueError, match=r"\[-1, 1\]"):
            checked_answer(value)
    assert checked_answer(math.copysign(1, value), strengths=False) == math.copysign(1, value)
    if abs(value) != 1:
        with pytest.raises(ValueError, match="answer"):
            checked_answer(value, strengths=False)


@pytest.mark.parametrize("wrong", [True, False, np.True_, np.array(1.0), "1", None, math.nan])
def test_no_answers(wrong):
    with pytest.raises(ValueError, match="answer"):
        checked_answer(wrong)
