"""What a row of an uploaded file says besides texts: vectors and features in a table, labels, meta and images."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from conquer.data.columns import plain
from conquer.items import SHOWN
from conquer.service.annotation.tables import FileRow
from conquer.service.errors import invalid
from conquer.service.http.shown import IMAGE

_META = "meta."
"""Columns whose names begin so are entries of an item's meta."""
_JSON = ("features", "vector", "meta")
_is_image = re.compile(IMAGE).match


def is_shown(name: str) -> bool:
    """Whether a column is for people alone.

    >>> [is_shown(name) for name in ("Label", "meta.author", "price")]
    [True, True, False]
    """
    return plain(name) in SHOWN or name.lower().startswith(_META)


def in_table(row: FileRow) -> FileRow:
    """A row of a table with its features, vector and meta read as JSON, and without cells that say nothing of them.

    >>> in_table({"id": "a", "vector": "[1, 2]", "label": "", "text": ""})
    {'id': 'a', 'vector': [1, 2], 'text': ''}
    """
    found: FileRow = {}
    for name, cell in row.items():
        if cell == "" and (name in _JSON or is_shown(name)):
            continue
        found[name] = _read(cell) if name in _JSON or plain(name) == "meta" else cell
    return found


def _read(cell: str) -> Any:
    try:
        return msgspec.json.decode(cell) if cell.lstrip()[:1] in ("[", "{") else cell
    except (msgspec.DecodeError, RecursionError):
        return cell


def shown_in(row: Mapping[str, Any], images: Mapping[str, str], number: int) -> tuple[dict[str, Any], list[str]]:
    """What of a row is shown and not learnt, and its columns. `images`: uploaded ones by the names of their files.

    >>> shown_in({"Label": "A", "meta.author": "ann", "image": "pot.png"}, {"pot.png": "0123.png"}, 1)
    ({'label': 'A', 'image': '0123.png', 'meta': {'author': 'ann'}}, ['Label', 'meta.author', 'image'])
    """
    names = [name for name in row if is_shown(name) and row[name] is not None]
    found: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    for name in names:
        key, value = plain(name), row[name]
        if name.lower().startswith(_META):
            meta[name[len(_META) :]] = value
        elif key == "meta":
            meta |= value if isinstance(value, dict) else {"meta": value}
        else:
            found[key] = str(value) if key == "label" and isinstance(value, int | float) else value
    if isinstance(image := found.get("image"), str) and not _is_image(image):
        if image not in images:
            there = f"a path on this server or one of the {len(images)} images uploaded to this model"
            raise invalid(f"item {number}: the image {image[:80]!r} is not {there}")
        found["image"] = images[image]
    return (found | {"meta": meta} if meta else found), names
