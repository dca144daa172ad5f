"""What each field of a row of an uploaded file is: its id, its text, its prompt, a list of items, a pair of answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conquer.data.columns import ID, PROMPT, TEXT, column

_LISTS = ("items", "responses")
PAIR = ("chosen", "rejected")
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Roles:
    """The names of fields by what they are, None or empty where there is none."""

    id: str | None
    text: str | None
    prompts: tuple[str, ...]
    lists: tuple[str, ...]
    pair: tuple[str, ...]

    def prompt(self, row: Mapping[str, Any]) -> str | None:
        """The field whose prompt counts."""
        return next((name for name in self.prompts if row[name] is not None), None)

    def listed(self, row: Mapping[str, Any]) -> Any:
        """The items of a row that is a whole group; None where it is an item."""
        return next((row[name] for name in self.lists if row[name]), None)


def roles_of(names: Iterable[str], text: str | None = None) -> Roles:
    """By the usual names in any case, or the name of the text.

    >>> roles_of(["ID", "Review", "Question"])
    Roles(id='ID', text='Review', prompts=('Question',), lists=(), pair=())
    """
    known = tuple(names)
    # What is remembered is bounded in letters too: files come from anyone.
    return (_remembered if sum(map(len, known)) <= _LONGEST else _roles)(known, text)


def _roles(names: tuple[str, ...], text: str | None) -> Roles:
    def some(usual: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for each in usual if (name := column(names, (each,))) is not None)

    pair = some(PAIR)
    # An item that says what it is by features may have a comment beside them; beside a vector it is for people to read.
    body = column(names, TEXT, text) if text is not None or "features" not in names or "vector" in names else None
    if text is None and "text" in names:
        body = "text"
    return Roles(column(names, ID), body, some(PROMPT), some(_LISTS), pair if len(pair) == len(PAIR) else ())


_remembered = lru_cache(maxsize=256)(_roles)
