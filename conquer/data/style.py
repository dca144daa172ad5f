"""What may make an answer win besides its worth: its length, its lists, its side, or any number the caller names.

Each is a number of a vote in [-1, 1], how much more of it the first item has: (a - b)/(|a| + |b|), or a column that
holds the difference itself.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from conquer.data.columns import SIDES, TEXT_WORDS, by_plain_name, plain
from conquer.data.tables import Chunk
from conquer.types import Floats

SIDE, LENGTH, LISTS = "side", "length", "lists"
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
_OF_TEXTS: dict[str, Callable[[str], float]] = {
    LENGTH: lambda text: float(len(text)),
    LISTS: lambda text: float(len(_ITEM.findall(text))),
}


def checked_style(style: Any) -> tuple[str, ...]:
    """`style` as a tuple of different names.

    >>> checked_style(["length", "tokens_a/tokens_b"])
    ('length', 'tokens_a/tokens_b')
    """
    names = tuple(style) if isinstance(style, list | tuple) else ()
    if not names or len({*names}) < len(names) or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(
            f"style must be a list of side, length, lists, a column of differences or two as 'a/b', got {style!r:.80}"
        )
    return names


def style_of(
    chunk: Chunk, style: Sequence[str], sides: Sequence[str | None], used: Sequence[str], bad: dict[int, str]
) -> Floats:
    """(N, S): the numbers of the votes of a chunk; `bad` receives the reasons of rows that have none.

    `sides` is which item was on the left, "first" or "second"; `used` are the columns of the items.
    """
    found = np.zeros((len(chunk.lines), len(style)))
    for place, name in enumerate(style):
        if name == SIDE:
            found[:, place] = [{"first": 1.0, "second": -1.0}.get(side or "", 0.0) for side in sides]
            continue
        measure = _OF_TEXTS.get(name)
        columns = _text_columns(chunk, used) if measure else _columns(chunk, name)
        cells = zip(*(chunk.column(column) for column in columns), strict=True)
        for k, row in enumerate(cells):
            if k not in bad:
                try:
                    found[k, place] = _difference(*(measure(_text(cell)) if measure else _number(cell) for cell in row))
                except (TypeError, ValueError) as error:
                    bad[k] = f"style {name!r:.60}: {error}"
    return found


def _difference(one: float, other: float | None = None) -> float:
    if other is None:
        return one
    whole = abs(one) + abs(other)
    return (one - other) / whole if whole else 0.0


def _text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise ValueError(f"expected a text, got {cell!r:.60}")
    return cell


def _number(cell: Any) -> float:
    value = float(cell) if not isinstance(cell, bool) else np.nan
    if not np.isfinite(value):
        raise ValueError(f"expected a finite number, got {cell!r:.60}")
    return value


def _columns(chunk: Chunk, name: str) -> list[str]:
    names = by_plain_name(chunk.names)
    parts = [name] if plain(name) in names and "/" not in name else name.split("/")
    if len(parts) > 2 or any(plain(part) not in names for part in parts):
        raise ValueError(f"no column {name!r:.60} for the style among {', '.join(chunk.names)!r:.300}")
    return [names[plain(part)] for part in parts]


def _text_columns(chunk: Chunk, used: Sequence[str]) -> tuple[str, str]:
    """The two columns of texts beside those of the items."""
    names: Mapping[str, str] = {short: name for short, name in by_plain_name(chunk.names).items() if name not in used}
    for one, two in SIDES:
        if any(word in one for word in TEXT_WORDS) and one in names and two in names:
            return names[one], names[two]
    raise ValueError("length and lists are of texts: no columns hold the two texts (response_a and response_b, ...)")
