"""Scales of ratings, given or recognised from the numbers, and their conversion to stars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SHARE = 0.99
"""The share of ratings a scale must contain to be recognised."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Ratings from `low`, 1 star, to `high`, 5 stars, linear between.

    >>> Scale(1, 10).stars(10), Scale(0, 1).stars(0.5), str(Scale(1, 10))
    (5.0, 3.0, '1:10')
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"a scale must run from a number to a larger one, got {self.low}:{self.high}")

    def __str__(self) -> str:
        return f"{self.low:g}:{self.high:g}"

    def __contains__(self, rating: float) -> bool:
        return self.low <= rating <= self.high

    def stars(self, rating: float) -> float:
        """The rating in [1, 5]; on a scale of 1 to 5 it is itself, to the bit."""
        if self == STARS:
            return rating
        return 1.0 + 4.0 * (rating - self.low) / (self.high - self.low)

    def steps(self, stars: Any) -> Any:
        """The rating of some stars above the lowest; a whole number where the rating was one."""
        return (stars - 1.0) * (self.high - self.low) / 4.0


STARS = Scale(1.0, 5.0)
_ENDS = ((0, 1), (-1, 1), (0, 5), (1, 7), (1, 10), (0, 10), (-3, 3), (-4, 4), (-5, 5), (0, 100))
USUAL = (STARS, *(Scale(*ends) for ends in _ENDS))
"""Narrow before wide: the first one that contains nearly all numbers is recognised."""


def read_scale(text: str) -> Scale:
    """A scale from its text.

    >>> read_scale("1:10")
    Scale(low=1.0, high=10.0)
    """
    low, colon, high = text.partition(":")
    try:
        return Scale(float(low), float(high))
    except ValueError:
        wrong = "" if colon else " (no colon)"
        raise ValueError(f"a scale is two numbers, the lower first, such as 1:10; got {text!r}{wrong}") from None


def recognised(numbers: Sequence[float]) -> Scale | None:
    """The first usual scale that contains at least 99 of 100 numbers, or None.

    >>> str(recognised([1, 5, 3, 2])), str(recognised([1, 9, 3, 10])), recognised([-300, 12])
    ('1:5', '1:10', None)
    """
    if not numbers:
        return None
    return next((scale for scale in USUAL if sum(each in scale for each in numbers) >= _SHARE * len(numbers)), None)
