"""Checks of values from outside: each returns the plain value or raises an error with what came and what fits."""

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 1e100
"""The largest parameter; its inverse is the smallest. Squares and quotients of parameters stay finite."""
LARGEST_DIM = 2**31 - 1


def is_real(value: Any) -> bool:
    """Whether it is a Python or numpy number; a boolean is not, since True would count as +1.

    >>> is_real(np.float32(0.5)), is_real(True), is_real(np.True_)
    (True, False, False)
    """
    if type(value) is float:
        return True
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def number(
    name: str,
    value: Any,
    low: float = -LARGEST,
    high: float = LARGEST,
    *,
    above: bool = False,
    below: bool = False,
) -> float:
    """`value` as a finite float in [low, high]; strictly above `low` with `above`, strictly below `high` with `below`.

    >>> number("gamma", 1, 0, 1)
    1.0
    >>> number("delta", 1, 0, 1, above=True, below=True)
    Traceback (most recent call last):
    ValueError: delta must be a finite number in (0, 1), got 1
    """
    try:
        found = float(value) if is_real(value) else math.nan
    except OverflowError:  # a whole number beyond a float's range
        found = math.nan
    fits = math.isfinite(found) and low <= found <= high
    if not fits or (above and found == low) or (below and found == high):
        ends = f"{'(' if above else '['}{low:g}, {high:g}{')' if below else ']'}"
        raise ValueError(f"{name} must be a finite number in {ends}, got {value!r}")
    return found


def positive(name: str, value: Any) -> float:
    """`value` as a float above 0 whose squares and inverse are finite.

    >>> positive("lam", 2)
    2.0
    """
    return number(name, value, 1 / LARGEST, LARGEST)


def whole(name: str, value: Any, low: int, high: int = 2**31) -> int:
    """`value` as an int in [low, high].

    >>> whole("rounds", np.int64(3), 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number in [{low}, {high}], got {value!r}")
    return int(value)


def one_of(name: str, value: Any, choices: Mapping[Any, int]) -> int:
    """The code of `value` among `choices`.

    >>> one_of("gate", None, {None: 0, "aurora": 1})
    0
    """
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return choices[value]


def checked_dim(dim: Any) -> int:
    """`dim` as an int in [1, 2**31)."""
    if isinstance(dim, bool | np.bool_) or int(dim) != dim or not 1 <= dim <= LARGEST_DIM:
        raise ValueError(f"dim must be a whole number in [1, {LARGEST_DIM}], got {dim!r}")
    return int(dim)


def checked_seed(seed: Any) -> int:
    """`seed` as an int, from any whole-number type."""
    if isinstance(seed, bool | np.bool_) or not hasattr(seed, "__index__"):
        raise TypeError(f"seed must be a whole number, got {seed!r}")
    return operator.index(seed)


LONGEST_VOTER = 200
"""The most characters of a voter's name."""


def checked_voter(name: Any) -> str:
    """A voter's name: a string of 1 to 200 characters.

    >>> checked_voter("ann")
    'ann'
    """
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_VOTER:
        shown = f"{name[:20]!r}... of {len(name)}" if isinstance(name, str) and name else repr(name)
        raise ValueError(f"a voter's name must be a string of 1 to {LONGEST_VOTER} characters, got {shown}")
    return name


def checked_answer(answer: Any, *, strengths: bool = True, shown: int = 2) -> float:
    """`answer` as a float in [-1, 1]; without `strengths` only +1 and -1; of more than two `shown` a position or -1.

    >>> checked_answer(-1)
    -1.0
    """
    if shown > 2:
        if not is_real(answer) or answer not in range(-1, shown):
            raise ValueError(f"of {shown} shown items an answer is a position in [0, {shown}) or -1, got {answer!r}")
        return float(answer)
    if not is_real(answer) or not -1.0 <= answer <= 1.0:
        raise ValueError(f"an answer must be in [-1, 1], got {answer!r}")
    if not strengths and abs(answer) != 1.0:
        raise ValueError(f"the answer to BEST must be +1 or -1, got {answer!r}")
    return float(answer)
