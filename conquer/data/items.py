"""Items as files and votes hold them: ids, texts, dicts of features or vectors, never a mixture; and files of items."""

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, cast, get_args

import numpy as np

from conquer.answers import RESERVED
from conquer.checks import is_real
from conquer.data.columns import FEATURES, ITEM_ID, TEXT, VECTOR, by_plain_name, column, plain
from conquer.data.compression import DataError
from conquer.data.tables import Chunk, FilePart, chunks, from_rows, point, sniff
from conquer.items import PARTS, SHOWN, Part, has_parts, parts_of
from conquer.types import ItemId

Content = Literal["ids", "texts", "dicts", "vectors"]
CONTENTS = cast(tuple[Content, ...], get_args(Content))
LONGEST_NAME = 200
"""Characters of an id or of a voter's name. Longer values are treated as texts."""
_LONG = 64
"""The length above which strings look like texts."""
_LONGEST_TEXT = 1 << 24
_LARGEST = sys.float_info.max
_PARTS: dict[Part, tuple[str, ...]] = {"text": TEXT, "features": FEATURES, "vector": VECTOR}


def checked_content(content: str | None) -> Content | None:
    """`content`, or a ValueError where it is not one of the four."""
    if content is not None and content not in CONTENTS:
        raise ValueError(f"content must be one of {', '.join(CONTENTS)}, got {content!r}")
    return content


def content_of(cells: Sequence[Any], may_be_texts: bool) -> Content:
    """What cells hold, by the first of them. Strings are texts if at least half have over 64 characters, else ids.

    `may_be_texts`: the columns are called texts, responses, answers or outputs, and several words in a cell are enough.

    >>> content_of(["green tea", "mug"], False), content_of(["green tea"], True), content_of(["[1, 2]"], False)
    ('ids', 'texts', 'vectors')
    """
    given = [cell for cell in cells if cell is not None and not (isinstance(cell, str) and not cell)]
    first = given[0] if given else ""
    if isinstance(first, str):
        begins = first.lstrip()[:1]
        if begins in ("{", "[") and isinstance(_json(first), dict | list):
            return "dicts" if begins == "{" else _content_of_list(_json(first))
        strings = {cell.strip() for cell in given if isinstance(cell, str)}
        if may_be_texts and any(len(cell.split(None, 1)) > 1 for cell in strings):
            return "texts"
        return "texts" if 2 * sum(len(cell) > _LONG for cell in strings) >= len(strings) else "ids"
    if isinstance(first, Mapping):
        return "dicts"
    return _content_of_list(first) if isinstance(first, Sequence | np.ndarray) else "ids"


def _content_of_list(value: Any) -> Content:
    """A list of messages is a text, any other list a vector."""
    messages = not isinstance(value, np.ndarray) and len(value) and isinstance(value[0], Mapping)
    return "texts" if messages else "vectors"


def _json(cell: str) -> Any:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


class ItemReader:
    """Reads the cells of one source that hold items of one content.

    `known` are the only ids there are; other ids are refused. Without it, `numbers` keeps whole-number ids as they
    are; in files, where everything is text, they become strings.
    """

    def __init__(self, content: Content, known: Iterable[ItemId] | None = None, *, numbers: bool = False) -> None:
        self.content: Content = content
        self.numbers = numbers
        self.known = None if known is None else {str(name): name for name in known}
        self.ids: dict[Any, ItemId] = {}
        """The id of every cell read so far."""
        self._by_text: dict[str, ItemId] = {}
        self.width = 0
        """The length of the vectors, once one is read."""

    def read(self, cell: Any) -> Any:
        """The item in a cell; a ValueError where it is not of this content."""
        if self.content == "ids":
            return self._id(cell)
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            raise ValueError("an item is missing")
        if self.content == "texts":
            return _text(cell)
        value = _json(cell) if isinstance(cell, str) else cell
        if self.content == "dicts":
            return self._with_parts(value) if has_parts(value) else _features(value)
        return self._vector(value, cell)

    def _with_parts(self, item: Mapping[str, Any]) -> dict[str, Any]:
        read = {"text": _text, "features": _features, "vector": lambda cell: self._vector(cell, cell)}
        return {part: read[part](item[part]) for part in PARTS if item.get(part) is not None}

    def _id(self, cell: Any) -> ItemId:
        name: ItemId
        if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
            name = int(cell)
        elif isinstance(cell, str):
            name = cell.strip()
        else:
            raise ValueError("an item is missing" if cell is None else f"expected an id, got {cell!r:.60}")
        text = str(name)
        if not text:
            raise ValueError("an item is missing")
        if len(text) > LONGEST_NAME:
            raise ValueError(
                f"an id has at most {LONGEST_NAME} characters, got {len(text)} ({text!r:.40}...); "
                "content='texts' reads texts"
            )
        if text in RESERVED:
            raise ValueError(f"{text!r} is a reserved word and cannot be an id")
        if self.known is not None:
            if text not in self.known:
                raise ValueError(f"unknown item {name!r}: it is not among the items")
            name = self.known[text]
        elif not self.numbers:
            name = text
        before = self._by_text.setdefault(text, name)
        if type(before) is not type(name):
            raise ValueError(f"the ids {before!r} and {name!r} are equal as text; use one type")
        self.ids[cell] = before
        return before

    def _vector(self, value: Any, cell: Any) -> list[float]:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        numbers = list(value) if isinstance(value, list | tuple) else []
        if not numbers or not all(is_real(number) and math.isfinite(number) for number in numbers):
            raise ValueError(f"expected a list of finite numbers, got {cell!r:.60}")
        if self.width not in (0, len(numbers)):
            raise ValueError(f"vectors must have one length: expected {self.width} numbers, got {len(numbers)}")
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
    """A text, or the messages of a conversation one after the other."""
    value = _json(cell) if isinstance(cell, str) and cell.lstrip().startswith("[{") else cell
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        messages = [one.get("content") for one in value]
        cell = "\n".join(message for message in messages if isinstance(message, str))
    if not isinstance(cell, str) or not cell.strip():
        raise ValueError(f"expected a text, got {cell!r:.60}")
    if len(cell) > _LONGEST_TEXT:
        raise ValueError(f"a text has at most {_LONGEST_TEXT:,} characters, got {len(cell):,}")
    return cell


def read_items(path: str | os.PathLike[str]) -> dict[str, Any]:
    """{id: a text, a dict or a vector} of a CSV, TSV, JSON lines, JSON or Parquet file.

    One column holds the id (id, item, name, ...). Columns of texts, features and vectors hold the item, which is a dict
    of these where it has several. Without them all other columns are its features, except label, meta, image and
    format, which are only shown.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "items.csv"
    ...     _ = path.write_text("id,price,brand\\ntea,0.3,x\\nmug,0.7,y\\n")
    ...     read_items(path)
    {'tea': {'price': 0.3, 'brand': 'x'}, 'mug': {'price': 0.7, 'brand': 'y'}}
    """
    part = _file(path)
    return _items(chunks(part), part.at, decimal_comma=part.delimiter == ";")


def items_from_rows(rows: Iterable[Any]) -> dict[ItemId, Any]:
    """{id: item} of Python dicts with an `id`, read like the rows of a file; whole-number ids stay numbers.

    >>> items_from_rows([{"id": 7, "text": "green tea"}, {"id": 8, "text": "a mug"}])
    {7: 'green tea', 8: 'a mug'}
    """
    return _items(from_rows(iter(enumerate(rows, 1))), lambda line: f"items, row {line}", numbers=True)


def _items(
    several: Iterable[Chunk],
    at: Callable[[int], str],
    *,
    numbers: bool = False,
    decimal_comma: bool = False,
    ids_alone: bool = False,
) -> dict[Any, Any]:
    items: dict[Any, Any] = {}
    ids, reader = ItemReader("ids", numbers=numbers), None
    for chunk in several:
        if chunk.bad:
            place = min(chunk.bad)
            raise DataError(f"{at(chunk.lines[place])}: {chunk.bad[place]}")
        name, parts = _columns(chunk.names, at(chunk.lines[0]), ids_alone)
        contents = [None] * len(chunk.lines) if ids_alone else list(_contents(chunk, name, parts, decimal_comma))
        if reader is None and not ids_alone:
            content = content_of(contents, may_be_texts=True)
            reader = ItemReader("texts" if content == "ids" else content)
        for line, cell, item in zip(chunk.lines, chunk.column(name), contents, strict=True):
            try:
                identity = ids.read(cell)
                if identity in items:
                    raise ValueError(f"the id {identity!r} occurs twice")
                items[identity] = None if reader is None else reader.read(item)
            except ValueError as error:
                raise DataError(f"{at(line)}: {error}") from None
    if not items:
        raise DataError(f"{at(1)}: there are no items")
    return items


def _file(path: str | os.PathLike[str]) -> FilePart:
    part = sniff(path)
    if part.form == "preflib":
        raise DataError(f"{path}: a PrefLib file holds no items")
    return part


def _columns(names: Sequence[str], where: str, ids_alone: bool) -> tuple[str, dict[Part, str]]:
    """The column of the id, and those of an item's parts."""
    identity = column(names, ITEM_ID)
    if identity is None:
        raise DataError(f"{where}: no column is an id ({', '.join(ITEM_ID)}) among {', '.join(names)!r:.300}")
    others = [name for name in names if name != identity]
    parts = part_columns(others)
    if not ids_alone and not parts and all(plain(name) in SHOWN for name in others):
        raise DataError(f"{where}: no column says what an item is ({', '.join((*TEXT, *FEATURES, *VECTOR))})")
    return identity, parts


def part_columns(names: Iterable[str], text: str | None = None) -> dict[Part, str]:
    """The columns of an item's parts; `text` names that of the texts.

    >>> part_columns(["id", "Review", "embedding"]), part_columns(["features", "comment"])
    ({'text': 'Review', 'vector': 'embedding'}, {'features': 'features'})
    """
    known = by_plain_name(names)
    parts = {part: known[one] for part, usual in _PARTS.items() for one in reversed(usual) if one in known}
    if text is not None:
        parts.pop("text", None)
        named = column(known.values(), TEXT, text)
        parts = parts if named is None else {"text": named, **parts}
    elif "features" in parts and "vector" not in parts and parts.get("text") != "text":
        parts.pop("text", None)  # a comment beside features is not the item
    return parts


def _contents(chunk: Chunk, identity: str, parts: Mapping[Part, str], decimal_comma: bool) -> Iterator[Any]:
    if parts:
        for cells in zip(*(chunk.column(name) for name in parts.values()), strict=True):
            yield parts_of({part: part_of_cell(part, cell) for part, cell in zip(parts, cells, strict=True)})
        return
    others = [name for name in chunk.names if name != identity and plain(name) not in SHOWN]
    for row in zip(*(chunk.column(name) for name in others), strict=True):
        given = ((name, cell) for name, cell in zip(others, row, strict=True) if cell not in (None, ""))
        yield {name: number_or_text(cell, decimal_comma) for name, cell in given}


def part_of_cell(part: Part, cell: Any) -> Any:
    """A part as its column holds it: in a table, an empty cell is none, and features and vectors are JSON."""
    if isinstance(cell, str) and not cell.strip():
        return None
    if part == "text" or not isinstance(cell, str):
        return cell
    found = _json(cell)
    return cell if found is None else found


def number_or_text(cell: Any, decimal_comma: bool = False) -> Any:
    """A cell of a table as the number it holds, else as it is. `decimal_comma`: 3,5 is a number."""
    if not isinstance(cell, str):
        return cell if not isinstance(cell, Mapping | list) else json.dumps(cell, sort_keys=True)
    try:
        return float(point(cell) if decimal_comma else cell)
    except ValueError:
        return cell


Listed = dict[str, Any] | list[str]


def listed_items(
    path: str | os.PathLike[str], group: str | None = None, *, known: bool = False, closed: bool = False
) -> tuple[Listed, dict[str, str] | None]:
    """The items of a file for a board, and {id: its cell in the column `group`} where one is named.

    For a session with `known` items a file with ids alone is a list of ids, and so is every file where items have
    nothing but their ids (`closed`). The column of a group is a feature like any other.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "items.csv"
    ...     _ = path.write_text("id,price,brand\\ntea,0.5,x\\nmug,0.7,y\\n")
    ...     listed_items(path, group="brand")
    ...     listed_items(path, known=True, closed=True)[0]
    ({'tea': {'price': 0.5, 'brand': 'x'}, 'mug': {'price': 0.7, 'brand': 'y'}}, {'tea': 'x', 'mug': 'y'})
    ['tea', 'mug']
    """
    part = _file(path)
    ids_alone = closed or (known and _has_ids_alone(part))
    items: Listed = list(_items(chunks(part), part.at, ids_alone=True)) if ids_alone else read_items(path)
    return items, None if group is None else _groups(part, items, group)


def _has_ids_alone(part: FilePart) -> bool:
    chunk = next(chunks(part), None)
    return chunk is not None and len(chunk.names) == 1 and plain(chunk.names[0]) in ITEM_ID


def _groups(part: FilePart, items: Listed, group: str) -> dict[str, str]:
    """{id: group}; every row of the file is an item, in the same order."""
    ids, groups = iter(items), dict[str, str]()
    for chunk in chunks(part):
        cells = chunk.column(group) if group in chunk.names else [None] * len(chunk.lines)
        for line, cell, name in zip(chunk.lines, cells, ids, strict=False):
            inner = items[name] if isinstance(items, dict) else None
            if cell is None and isinstance(inner, dict):
                cell = inner.get(group)
            if cell is None or not str(cell).strip():
                raise DataError(f"{part.at(line)}: {name!r:.60} has no {group!r:.60}")
            groups[name] = str(cell).strip()
    return groups
