"""Who won, from what a file says: a side, a place, the thing itself, a tie, a skip, or a number."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

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
_LONGEST = 40
"""Characters of a word that says who won; what is longer is a thing itself."""
_MET = 1 << 17


class Answer(float):
    """A number that is known to go from +1, the first won, to -1."""


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
        self._met: set[str] = set()
        self._names: set[str] = set()
        """Words that are also the name of a thing, without case and punctuation: what they mean depends on the row."""

    def meet(self, things: Iterable[str | None]) -> None:
        """Learn the names of things before their winners are read: a word that is one of them has no fixed meaning."""
        fresh = {thing for thing in {*things} - self._met if thing is not None and len(thing) < _LONGEST}
        if not fresh:
            return
        if len(self._met) > _MET:
            self._met.clear()
        self._met |= fresh
        names = {name for name in map(plain, fresh) if name in self._meanings or name in _PLACES} - self._names
        if names:
            self._names |= names
            self.words = {word: value for word, value in self.words.items() if plain(word) not in names}

    def value(self, said: Any, first: Any, second: Any) -> float:
        """+1 the first, -1 the second, 0 a tie, NaN a skip, infinity both bad; a ValueError where it is none."""
        if self.signed or isinstance(said, Answer):
            return _signed(said)
        if isinstance(said, np.ndarray | np.generic):
            said = said.tolist()
        if isinstance(said, bool) or said is None or (isinstance(said, str) and not said.strip()):
            raise ValueError(f"no winner, got {said!r:.60}")
        word: Any = said.strip() if isinstance(said, str) else said
        if is_real(word):
            word = _whole(word)
        mine = [_same(word, thing) for thing in (first, second)]
        if any(mine):
            if isinstance(word, str) and word.lower() in _PLACES:
                self._as_thing = word
                self._check_one_meaning()
            return 1.0 if mine[0] else -1.0
        if isinstance(word, str) and len(word) < _LONGEST and not _is_number(word):
            meaning = self._meaning(word, first, second)
            if meaning is not None:
                if isinstance(said, str) and plain(word) not in _PLACES and plain(word) not in self._names:
                    self.words[said] = meaning
                return meaning
        raise ValueError(
            f"the winner must be one of the two things, {self._sides}, tie or skip, got {said!r:.60}"
            + ("; numbers from +1 to -1 belong in a column named answer" if is_real(said) else "")
        )

    def _meaning(self, word: str, first: Any, second: Any) -> float | None:
        """What a word says that is neither thing's own name; None where it says nothing."""
        short = plain(word)
        meaning = self._meanings.get(short)
        if meaning is None:
            meaning = _PLACES.get(short)
        things = [thing if isinstance(thing, str) and len(thing) < _LONGEST else "" for thing in (first, second)]
        alike = [plain(thing) == short for thing in things]
        if meaning is not None and any(alike):
            if meaning != (1.0 if alike[0] else -1.0) or all(alike):
                thing = things[0] if alike[0] else things[1]
                raise ValueError(f"the winner {word!r} may mean a side or {thing!r}: write the thing as it is called")
        elif meaning is not None and short in _PLACES:
            self._as_place = word
            self._check_one_meaning()
        return meaning

    def _check_one_meaning(self) -> None:
        if self._as_thing and self._as_place:
            raise ValueError(
                f"the winner {self._as_thing!r} is a thing's own name and {self._as_place!r} a place: "
                "say left and right, or name the winner"
            )


def _whole(number: float) -> str:
    """A number in a winner column as a word: 1.0 is the place 1, as tables write it that have empty cells."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)


def _is_number(word: str) -> bool:
    """Whether it is a number that is no place: neither "0" nor "-1" says who won, and "-1" is not "1"."""
    if word in _PLACES:
        return False
    try:
        float(word)
    except ValueError:
        return False
    return True


def _same(word: Any, thing: Any) -> bool:
    """Whether a winner is the thing itself; space around a text is no difference."""
    if isinstance(word, str) and isinstance(thing, str):
        return word == thing.strip()
    return bool(word == thing)


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
    """A whole number from 1 to 2**40, 1 for an empty cell; a ValueError elsewhere.

    >>> how_many("12"), how_many(None)
    (12, 1)
    """
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return 1
    try:
        value = float(cell) if not isinstance(cell, bool) else math.nan
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        whole, value = 0, math.nan
    if whole != value or not 1 <= whole <= 2**40:
        raise ValueError(f"the number of votes must be a whole number from 1, got {cell!r:.60}")
    return whole
