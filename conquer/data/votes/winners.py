"""Who won, from what a file says: a side, a place, the thing itself, a tie, a skip, or a number."""

import math
from typing import Any

from conquer.checks import is_real
from conquer.data.columns import plain
from conquer.data.votes.columns import Columns

SKIP, BOTH_BAD = math.nan, math.inf
"""In place of a value: nothing was said, or neither was good. Neither is learnt."""
_TIES = ("tie", "tied", "ties", "draw", "drawn", "equal", "same", "both", "bothgood", "nopreference")
_BOTH_BAD = ("bothbad", "tiebothbad", "neither", "none", "noneofthese")
_SKIPS = ("skip", "skipped", "unsure", "dontknow")
_FIRST, _SECOND = ("first", "left"), ("second", "right")
_PLACES = {"1": 1.0, "2": -1.0, "a": 1.0, "b": -1.0, "x": 1.0, "y": -1.0}
"""Words for a place that may also be the name of a thing."""


class Winners:
    """Reads winners of one file. A place ("1", "a") is read as one only where it is neither thing's own name.

    >>> winners = Winners(Columns("model_a", "model_b", "winner"))
    >>> [winners.value(word, "tea", "mug") for word in ("model_b", "Left", "tea", "tie", "1")]
    [-1.0, 1.0, 1.0, 0.0, 1.0]
    """

    def __init__(self, columns: Columns) -> None:
        self.signed = columns.signed
        self.words: dict[Any, float] = {}
        """What words mean whatever the things are called, as they were written."""
        self._meanings = {
            **dict.fromkeys(_TIES, 0.0),
            **dict.fromkeys(_BOTH_BAD, BOTH_BAD),
            **dict.fromkeys(_SKIPS, SKIP),
            **dict.fromkeys((*_FIRST, plain(columns.first)), 1.0),
            **dict.fromkeys((*_SECOND, plain(columns.second)), -1.0),
        }
        self._sides = f"{columns.first}, {columns.second}"
        self._as_thing = self._as_place = ""
        """A word like "1" that was read as a thing's name, and as a place: a file means one of them."""

    def value(self, said: Any, first: Any, second: Any) -> float:
        """+1 the first, -1 the second, 0 a tie, NaN a skip, infinity both bad; a ValueError where it is none."""
        if self.signed or (is_real(said) and not isinstance(said, int)):
            return _signed(said)
        if isinstance(said, bool) or said is None or (isinstance(said, str) and not said.strip()):
            raise ValueError(f"no winner, got {said!r:.60}")
        word = said.strip() if isinstance(said, str) else said
        if isinstance(word, int):
            word = str(word)
        if word in (first, second):
            if isinstance(word, str) and word.lower() in _PLACES:
                self._as_thing = word
                self._check_one_meaning()
            return 1.0 if word == first else -1.0
        if isinstance(word, str) and len(word) < 40:
            short = plain(word)
            meaning = self._meanings.get(short)
            if meaning is not None and short not in _PLACES:
                if isinstance(said, str):
                    self.words[said] = meaning
                return meaning
            if short in _PLACES:
                self._as_place = word
                self._check_one_meaning()
                return _PLACES[short] if meaning is None else meaning
        raise ValueError(f"the winner must be one of the two things, {self._sides}, tie or skip, got {said!r:.60}")

    def _check_one_meaning(self) -> None:
        if self._as_thing and self._as_place:
            raise ValueError(
                f"the winner {self._as_thing!r} is a thing's own name and {self._as_place!r} a place: "
                "say left and right, or name the winner"
            )


def _signed(said: Any) -> float:
    """A number from +1 to -1; an empty cell is no vote."""
    try:
        value = float(said) if not isinstance(said, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not -1.0 <= value <= 1.0:
        raise ValueError(f"an answer must be a number from 1 (the first won) to -1, got {said!r:.60}")
    return value


def one_hot_value(first: Any, second: Any, tie: Any) -> float:
    """The value of three noughts and ones.

    >>> one_hot_value("0", "1", "0"), one_hot_value(0, 0, 1)
    (-1.0, 0.0)
    """
    cells = [str(cell).strip() for cell in (first, second, tie)]
    if sorted(cells) != ["0", "0", "1"]:
        raise ValueError(f"one of the three winner columns must be 1 and the others 0, got {cells!r:.60}")
    return (1.0, -1.0, 0.0)[cells.index("1")]


def part_of_one(name: str, cell: Any) -> float:
    """A number in [0, 1], NaN for an empty cell; a ValueError that names it elsewhere."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return math.nan
    try:
        value = float(cell) if not isinstance(cell, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"a {name} must be a number in [0, 1], got {cell!r:.60}")
    return value


def how_many(cell: Any) -> int:
    """A whole number from 1 to 2**40; a ValueError elsewhere.

    >>> how_many("12")
    12
    """
    try:
        value = float(cell) if not isinstance(cell, bool) else math.nan
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        whole, value = 0, math.nan
    if whole != value or not 1 <= whole <= 2**40:
        raise ValueError(f"the number of votes must be a whole number from 1, got {cell!r:.60}")
    return whole
