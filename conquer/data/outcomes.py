"""The outcome of a vote from what a file says: a side, a place, the item itself, a tie, a skip, or a number."""

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from conquer.checks import is_real
from conquer.data.columns import VoteColumns, plain

SKIP, BOTH_BAD = math.nan, math.inf
"""In place of a value: no answer, or neither item was good. Neither is learnt."""
_TIE_WORDS = """
tie tied ties draw drawn equal equals same both bothgood bothequal equallygood nopreference nodifference inconsistent
undecided toss tossup
"""
_BOTH_BAD = ("bothbad", "tiebothbad", "equallybad", "neither", "none", "noneofthese")
_SKIPS = ("skip", "skipped", "unsure", "notsure", "dontknow", "error", "invalid", "abstain")
_TIE = re.compile(r"(?:tie|tied|draw)\b[^\w]", re.IGNORECASE)
"""The beginning of "tie (inconsistent)" and other ties with a reason; with "bad" in the reason both are bad."""
_FIRST, _SECOND = ("first", "left"), ("second", "right")
_PLACES = {"1": 1.0, "2": -1.0, "a": 1.0, "b": -1.0, "x": 1.0, "y": -1.0}
"""Words for a place that may also be the id of an item."""
_LONGEST_WORD = 40
_NAMES_CACHED = 1 << 17


class Strength(float):
    """A winner that is a number from +1, the first won, to -1."""


class OutcomeReader:
    """Reads the outcomes of one source. A place ("1", "a") is read as one only where it is neither item's own id.

    >>> outcomes = OutcomeReader(VoteColumns("model_a", "model_b", "winner"))
    >>> [outcomes.value(word, "tea", "mug") for word in ("model_b", "Left", "tea", "tie", "1")]
    [-1.0, 1.0, 1.0, 0.0, 1.0]
    """

    def __init__(self, columns: VoteColumns) -> None:
        self.signed = columns.signed
        self.words: dict[Any, float] = {}
        """Words, as they were written, whose meaning does not depend on the items of the row."""
        self._meanings = {
            **dict.fromkeys(_TIE_WORDS.split(), 0.0),
            **dict.fromkeys(_BOTH_BAD, BOTH_BAD),
            **dict.fromkeys(_SKIPS, SKIP),
            **dict.fromkeys((*_FIRST, plain(columns.first)), 1.0),
            **dict.fromkeys((*_SECOND, plain(columns.second)), -1.0),
        }
        self._sides = f"{columns.first}, {columns.second}"
        self._as_id = self._as_place = ""
        """A word like "1" that was read as an id, and one that was read as a place: a source uses one of the two."""
        self._seen: set[Any] = set()
        self._ambiguous: set[str] = set()
        """Plain words that are also the id of an item: their meaning depends on the row."""

    def add_names(self, items: Iterable[Any]) -> None:
        """Take note of ids before their outcomes are read: a word that is also an id has no fixed meaning."""
        fresh = {item for item in {*items} - self._seen if item is not None and len(str(item)) < _LONGEST_WORD}
        if not fresh:
            return
        if len(self._seen) > _NAMES_CACHED:
            self._seen.clear()
        self._seen |= fresh
        names = {plain(str(item)) for item in fresh}
        names = {name for name in names if name in self._meanings or name in _PLACES} - self._ambiguous
        if names:
            self._ambiguous |= names
            self.words = {word: value for word, value in self.words.items() if plain(word) not in names}

    def value(self, said: Any, first: Any, second: Any) -> float:
        """+1 the first, -1 the second, 0 a tie, NaN a skip, infinity both bad. Raises ValueError for anything else."""
        if self.signed or isinstance(said, Strength):
            return _signed(said)
        if isinstance(said, np.ndarray | np.generic):
            said = said.tolist()
        if isinstance(said, bool) or said is None or (isinstance(said, str) and not said.strip()):
            raise ValueError(f"the winner is missing, got {said!r:.60}")
        word: Any = said.strip() if isinstance(said, str) else said
        if is_real(word):
            word = _integral(word)
        named = [_same(word, item) for item in (first, second)]
        if any(named):
            if isinstance(word, str) and word.lower() in _PLACES:
                self._as_id = word
                self._check_one_meaning()
            return 1.0 if named[0] else -1.0
        if isinstance(word, str) and len(word) < _LONGEST_WORD and not _is_number(word):
            meaning = self._meaning(word, first, second)
            if meaning is not None:
                if isinstance(said, str) and plain(word) not in _PLACES and plain(word) not in self._ambiguous:
                    self.words[said] = meaning
                return meaning
        raise ValueError(
            f"the winner must be one of the two items, {self._sides}, tie or skip, got {said!r:.60}"
            + ("; numbers from +1 to -1 belong in a column named answer" if is_real(said) else "")
        )

    def _meaning(self, word: str, first: Any, second: Any) -> float | None:
        """The meaning of a word that is neither item's own id, or None."""
        short = plain(word)
        meaning = self._meanings.get(short)
        if meaning is None:
            meaning = _PLACES.get(short)
        if meaning is None and _TIE.match(word):
            meaning = BOTH_BAD if "bad" in short else 0.0
        items = [item if isinstance(item, str) and len(item) < _LONGEST_WORD else "" for item in (first, second)]
        alike = [plain(item) == short for item in items]
        if meaning is not None and any(alike):
            if meaning != (1.0 if alike[0] else -1.0) or all(alike):
                item = items[0] if alike[0] else items[1]
                raise ValueError(f"the winner {word!r} may mean a side or {item!r}: write the item exactly")
        elif meaning is not None and short in _PLACES:
            self._as_place = word
            self._check_one_meaning()
        return meaning

    def _check_one_meaning(self) -> None:
        if self._as_id and self._as_place:
            raise ValueError(
                f"the winner {self._as_id!r} is an item's own id and {self._as_place!r} a place: "
                "write left and right, or name the winner"
            )


def _integral(number: float) -> str:
    """A number in a winner column as a word: 1.0 is the place 1, as columns with empty cells write it."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)


def _is_number(word: str) -> bool:
    """Whether it is a number that names no side, such as "0" or "-1"; "-1" without punctuation is "1"."""
    if word in _PLACES:
        return False
    try:
        float(word)
    except ValueError:
        return False
    return True


def _same(word: Any, item: Any) -> bool:
    """Whether a winner is the item itself, apart from surrounding spaces; ids are compared as text."""
    if isinstance(word, str) and isinstance(item, str | int):
        return word == str(item).strip()
    return bool(word == item)


def _number(cell: Any) -> float:
    """The number in a cell, NaN where it holds none."""
    try:
        return float(cell) if not isinstance(cell, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _signed(said: Any) -> float:
    value = _number(said)
    if not -1.0 <= value <= 1.0:
        raise ValueError(f"an answer must be a number from 1 (the first won) to -1, got {said!r:.60}")
    return value


def one_hot_value(first: Any, second: Any, tie: Any) -> float:
    """The value of three zeros and ones."""
    cells = [str(cell).strip() for cell in (first, second, tie)]
    if sorted(cells) != ["0", "0", "1"]:
        raise ValueError(f"one of the three winner columns must be 1 and the others 0, got {cells!r:.60}")
    return (1.0, -1.0, 0.0)[cells.index("1")]


def read_share(name: str, cell: Any) -> float:
    """A number in [0, 1], NaN for an empty cell."""
    if _is_empty(cell):
        return math.nan
    value = _number(cell)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"a {name} must be a number in [0, 1], got {cell!r:.60}")
    return value


def read_count(cell: Any) -> int:
    """A whole number from 1 to 2**40, 1 for an empty cell."""
    if _is_empty(cell):
        return 1
    value = _number(cell)
    if not 1 <= value <= 2**40 or value != int(value):
        raise ValueError(f"the number of votes must be a whole number from 1, got {cell!r:.60}")
    return int(value)
