"""Ratings on any scale become stars; which scale it is is seen from the numbers, or said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.data.scales import STARS, USUAL, Scale, read_scale, recognised


@given(st.sampled_from(USUAL), st.floats(0, 1))
def test_ends_are_one_and_five_and_the_rest_is_a_line(scale: Scale, share: float) -> None:
    rating = scale.low + share * (scale.high - scale.low)
    assert scale.stars(scale.low) == 1.0
    assert scale.stars(scale.high) == 5.0
    assert scale.stars(rating) == pytest.approx(1 + 4 * share, abs=1e-9)


@given(st.floats(1, 5))
def test_stars_are_themselves_to_the_bit(rating: float) -> None:
    assert STARS.stars(rating) == rating


@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        ([1, 2, 3, 4, 5], "1:5"),
        ([4, 5, 5], "1:5"),
        ([0, 1, 0.5], "0:1"),
        ([0.5, 4.5, 5], "0:5"),
        ([1, 7, 6], "1:7"),
        ([1, 10, 8], "1:10"),
        ([0, 10, 8], "0:10"),
        ([0, 100, 55], "0:100"),
        ([-1, 1, 0.2], "-1:1"),
        ([1, 5] * 100 + [9], "1:5"),  # one mistake in 201
        ([1, 5] * 40 + [9], "1:10"),  # one in 81 is a rating
        ([-300, 12], "None"),
        ([], "None"),
    ],
)
def test_the_narrowest_usual_scale_is_seen(numbers: list[float], scale: str) -> None:
    assert str(recognised(numbers)) == scale


@pytest.mark.parametrize("text", ["10", "1-10", "10:1", "3:3", "a:b", "1:inf", "nan:5", ""])
def test_what_is_no_scale_says_what_one_is(text: str) -> None:
    with pytest.raises(ValueError, match="such as 1:10; got"):
        read_scale(text)
