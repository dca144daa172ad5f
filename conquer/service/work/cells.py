"""What a row of an uploaded file says besides texts: vectors and features in a table, labels, meta and images."""

import re
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from conquer.data.columns import plain
from conquer.items import SHOWN
from conquer.service.errors import invalid
from conquer.service.model.schemas import IMAGE, Format
from conquer.service.work.table_rows import FileRow

_META = "meta."
"""Columns whose names begin so are entries of an item's meta."""
_JSON = ("features", "vector", "meta")
_FORMATS = get_args(Format)
_MOST, _LONGEST, _LARGEST = 64, 2000, 1 << 53
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
    names: list[str] = []
    found: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    for name in row:
        key, value = plain(name), row[name]
        # A column may be called format and say something else, as of books: nothing is made of it.
        if value is None or not is_shown(name) or (key == "format" and value not in _FORMATS):
            continue
        names.append(name)
        if name.lower().startswith(_META):
            meta[name[len(_META) :]] = _flat(value)
        elif key == "meta":
            told = value if isinstance(value, dict) else {"meta": value}
            meta |= {str(one): _flat(each) for one, each in told.items()}
        else:
            found[key] = _image(value, images, number) if key == "image" else _word(value)
    return (found | {"meta": meta} if meta else found), names


def _image(value: Any, images: Mapping[str, str], number: int) -> Any:
    if not isinstance(value, str) or _is_image(value):
        return value
    if value not in images:
        raise invalid(
            f"item {number}: the image {value[:80]!r} is neither a path on this server nor one of the {len(images)} "
            "images uploaded to this model: upload it, or rename the column"
        )
    return images[value]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _flat(value: Any) -> Any:
    """What an entry of meta can be; anything nested is written out, and what is long is cut.

    >>> _flat({"a": [1]}), _flat(["x", "y"]), _flat(7)
    ('{"a":[1]}', ['x', 'y'], 7)
    """
    words = isinstance(value, list) and len(value) <= _MOST and all(isinstance(one, str) for one in value)
    if words or value is None or (isinstance(value, bool | int | float) and abs(value) <= _LARGEST):
        return value
    text = _word(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
