"""What the two things of a vote are: ids, texts, dicts or vectors, never a mixture within one reading."""

import json
import math
import sys
from collections.abc import Container, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, cast, get_args

import numpy as np

from conquer.answers import RESERVED
from conquer.checks import is_real
from conquer.data.votes.vote import LONGEST_NAME
from conquer.items import PARTS, has_parts

ThingKind = Literal["ids", "texts", "dicts", "vectors"]
KINDS = cast(tuple[ThingKind, ...], get_args(ThingKind))
_LONGEST_TEXT = 1 << 24
_LARGEST = sys.float_info.max


def checked_things(things: str | None) -> ThingKind | None:
    """`things` when it is one of the four kinds, or None."""
    if things is not None and things not in KINDS:
        raise ValueError(f"things must be one of {', '.join(KINDS)}, got {things!r}")
    return things


def kind_of(cells: Sequence[Any], maybe_texts: bool) -> ThingKind:
    """The kind of the first things of a file. Strings are ids, unless the columns' names speak of texts and one of
    the strings is more than a word.

    >>> kind_of(["tea", "mug"], True), kind_of(["green tea"], True), kind_of(["[1, 2]"], False)
    ('ids', 'texts', 'vectors')
    """
    known = [cell for cell in cells if cell is not None and not (isinstance(cell, str) and not cell)]
    first = known[0] if known else ""
    if isinstance(first, str):
        begins = first.lstrip()[:1]
        if begins in ("{", "[") and isinstance(_json(first), dict | list):
            return "dicts" if begins == "{" else _kind_of_list(_json(first))
        texts = maybe_texts and any(isinstance(cell, str) and _is_text(cell) for cell in known)
        return "texts" if texts else "ids"
    if isinstance(first, Mapping):
        return "dicts"
    return _kind_of_list(first) if isinstance(first, Sequence | np.ndarray) else "ids"


def _is_text(cell: str) -> bool:
    return len(cell.split(None, 1)) > 1 or len(cell) > 64


def _kind_of_list(value: Any) -> ThingKind:
    """A list of messages is a text, any other a vector."""
    several = not isinstance(value, np.ndarray) and len(value)
    return "texts" if several and isinstance(value[0], Mapping) else "vectors"


def _json(cell: str) -> Any:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


class Things:
    """Reads the things of one reading: each distinct id once, everything else as it comes."""

    def __init__(self, kind: ThingKind, known: Container[str] | None = None) -> None:
        self.kind: ThingKind = kind
        self.known = known
        self.ids: dict[Any, str] = {}
        """The id of every cell seen, as it was written."""
        self._one: dict[str, str] = {}
        self.width = 0
        """Numbers in a vector, once one was seen."""

    def read(self, cell: Any) -> Any:
        """The thing in a cell; a ValueError where it is none of this reading's kind."""
        if self.kind == "ids":
            return self._id(cell)
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            raise ValueError("a thing is missing")
        if self.kind == "texts":
            return _text(cell)
        value = _json(cell) if isinstance(cell, str) else cell
        if self.kind == "dicts":
            if not isinstance(value, Mapping):
                raise ValueError(f"expected an object with features, got {cell!r:.60}")
            return self._whole(value) if has_parts(value) else _features(value)
        return self._vector(value, cell)

    def _whole(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """An item with several parts, each of them as it is read alone."""
        found: dict[str, Any] = {}
        for part in PARTS:
            if (value := item.get(part)) is not None:
                read = {"text": _text, "features": _features, "vector": lambda cell: self._vector(cell, cell)}[part]
                found[part] = read(value)
        return found

    def _id(self, cell: Any) -> str:
        if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
            name = str(int(cell))
        elif isinstance(cell, str):
            name = cell.strip()
        else:
            raise ValueError("a thing is missing" if cell is None else f"expected an id, got {cell!r:.60}")
        if not name:
            raise ValueError("a thing is missing")
        if len(name) > LONGEST_NAME:
            raise ValueError(
                f"an id has at most {LONGEST_NAME} characters, got {len(name)} ({name!r:.40}...); "
                "things='texts' reads texts"
            )
        if name in RESERVED:
            raise ValueError(f"{name!r} is a reserved word and cannot be an id")
        if self.known is not None and name not in self.known:
            raise ValueError(f"nobody knows {name!r}: it is not among the items")
        name = self._one.setdefault(name, name)
        self.ids[cell] = name
        return name

    def _vector(self, value: Any, cell: Any) -> list[float]:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        numbers = list(value) if isinstance(value, list | tuple) else []
        if not numbers or not all(is_real(number) and math.isfinite(number) for number in numbers):
            raise ValueError(f"expected a list of finite numbers, got {cell!r:.60}")
        if self.width not in (0, len(numbers)):
            raise ValueError(f"vectors must be of one length: expected {self.width} numbers, got {len(numbers)}")
        self.width = len(numbers)
        return [float(number) for number in numbers]


def _features(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object with features, got {value!r:.60}")
    return {name: _feature(name, cell) for name, cell in value.items()}


def _feature(name: Any, value: Any) -> Any:
    """A feature of a dict, as a featurizer takes it."""
    if not isinstance(name, str):
        raise ValueError(f"feature names must be strings, got {name!r:.60}")
    if isinstance(value, np.generic):
        value = value.item()  # a short float has no room for the largest number
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Real):
        if not -_LARGEST <= value <= _LARGEST:  # type: ignore[operator]  # Real has no order to mypy
            raise ValueError(f"feature {name!r:.60} must be a finite number, got {value!r:.60}")
        return value
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(each, str) for each in value):
        return value
    raise ValueError(f"feature {name!r:.60} must be a number, a bool, a string or a list of strings, got {value!r:.60}")


def _text(cell: Any) -> str:
    """A text, or a conversation's messages one after the other."""
    value = _json(cell) if isinstance(cell, str) and cell.lstrip().startswith("[{") else cell
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        parts = [one.get("content") for one in value]
        cell = "\n".join(part for part in parts if isinstance(part, str))
    if not isinstance(cell, str) or not cell.strip():
        raise ValueError(f"expected a text, got {cell!r:.60}")
    if len(cell) > _LONGEST_TEXT:
        raise ValueError(f"a text has at most {_LONGEST_TEXT:,} characters, got {len(cell):,}")
    return cell
