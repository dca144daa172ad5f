"""Files of items with ids: CSV with a header, JSON lines or a JSON array; each a text, named features or a vector."""

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LARGEST = 1e15
"""A cell with a larger number is a word, as the service's schemas allow no larger one."""
PROMPTS = ("prompt", "context", "question", "group")
"""Columns that are not about the item itself."""
_CONTENTS = ("text", "features", "vector")


def csv_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, row) of a CSV file with a header; a ValueError where it is none."""
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text), strict=True), 2):
            if None in row or None in row.values():
                raise ValueError(f"line {number} has another number of columns than the header")
            yield number, row
    except csv.Error as error:
        raise ValueError(f"the file is neither JSON lines nor CSV: {error}") from None


def item_of_cells(row: dict[str, str], besides: tuple[str, ...] = ()) -> dict[str, Any]:
    """A CSV's row as an item: without a `text` column all columns but the id, the prompt and `besides` are features.

    >>> item_of_cells({"id": "tea", "price": "0.5", "brand": "x", "note": ""})
    {'id': 'tea', 'features': {'price': 0.5, 'brand': 'x'}}
    """
    known: dict[str, Any] = {name: row[name] for name in ("id", "text", *PROMPTS, *besides) if name in row}
    if "text" not in known:
        known["features"] = {name: cell(value) for name, value in row.items() if value != "" and name not in known}
    return known


def cell(text: str) -> float | str:
    """The number a cell holds; anything else, "nan", "inf" and what is too large among it, is a word."""
    try:
        number = float(text)
    except ValueError:
        return text
    return number if abs(number) <= LARGEST else text


def read_items(path: str | os.PathLike[str], group: str | None = None) -> tuple[dict[str, Any], dict[str, str] | None]:
    """({id: a text, dict or vector}, {id: the cell of column `group`} if one is named) of a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "items.csv"
    ...     _ = path.write_text("id,price,brand\\ntea,0.5,x\\nmug,0.7,y\\n")
    ...     read_items(path, group="brand")
    ({'tea': {'price': 0.5}, 'mug': {'price': 0.7}}, {'tea': 'x', 'mug': 'y'})
    """
    besides = () if group is None else (group,)
    items: dict[str, Any] = {}
    groups: dict[str, str] = {}
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        for line, row in _rows(text, besides):
            name = row.get("id")
            name = str(name) if isinstance(name, int) and not isinstance(name, bool) else name
            if not isinstance(name, str) or not name:
                raise ValueError(f"line {line} needs an id, got {row.get('id')!r:.60}")
            if name in items:
                raise ValueError(f"line {line}: the id {name!r:.60} is there twice")
            found = [row[key] for key in _CONTENTS if row.get(key) is not None]
            if len(found) != 1:
                raise ValueError(f"line {line}: need exactly one of {', '.join(_CONTENTS)}, got {sorted(row)!r:.200}")
            items[name] = found[0]
            if group is not None:
                if row.get(group) in (None, ""):
                    raise ValueError(f"line {line}: {name!r:.60} has no {group!r:.60}")
                groups[name] = str(row[group])
    except (ValueError, RecursionError) as error:  # a UnicodeDecodeError is one too
        raise ValueError(f"{path}: {error}") from None
    if not items:
        raise ValueError(f"{path}: the file has no items")
    return items, groups if group is not None else None


def _rows(text: str, besides: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row) whichever form the file has; of a JSON array the number of the object."""
    first = text.lstrip()[:1]
    if first not in ("{", "["):
        for line, cells in csv_rows(text):
            yield line, item_of_cells(cells, besides)
        return
    lines = [(1, text)] if first == "[" else enumerate(text.split("\n"), 1)
    for line, part in lines:
        if not part.strip():
            continue
        try:
            value = json.loads(part)
        except ValueError as error:
            raise ValueError(f"line {line} is not JSON ({error})") from None
        for place, row in enumerate(value, 1) if isinstance(value, list) else ((line, value),):
            if not isinstance(row, dict):
                raise ValueError(f"line {place}: expected an object, got {type(row).__name__}")
            yield place, row
