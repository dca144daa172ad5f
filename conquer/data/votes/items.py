"""A file of the items that votes speak of by id: texts, dicts or vectors."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from conquer.data.columns import plain
from conquer.data.votes.reading import whole_file
from conquer.data.votes.tables import chunks
from conquer.data.votes.things import Things, kind_of
from conquer.data.votes.vote import VoteError
from conquer.items import SHOWN, Part, parts_of

_ID = ("id", "item", "itemid", "name", "key", "model")
_CONTENT: dict[Part, tuple[str, ...]] = {
    "text": ("text", "content", "body"),
    "features": ("features",),
    "vector": ("vector", "embedding"),
}
_CONTENTS = tuple(name for names in _CONTENT.values() for name in names)


def read_items(path: str | os.PathLike[str]) -> dict[str, Any]:
    """{id: a text, a dict or a vector} of a CSV, TSV, JSON lines, JSON or Parquet file.

    A column names the id (id, item, name, ...); text, features and vector hold the item, which is a dict of these where
    it has several. Where there is none of them all other columns together are its features, but for label, meta, image
    and format, which nobody learns.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "items.csv"
    ...     _ = path.write_text("id,price,brand\\ntea,0.3,x\\nmug,0.7,y\\n")
    ...     read_items(path)
    {'tea': {'price': 0.3, 'brand': 'x'}, 'mug': {'price': 0.7, 'brand': 'y'}}
    """
    part = whole_file(path)
    if part.form == "preflib":
        raise VoteError(f"{path}: a PrefLib file holds no items")
    word = "row" if part.form == "parquet" else "line"
    items: dict[str, Any] = {}
    ids = Things("ids")
    things: Things | None = None
    for chunk in chunks(part):
        name, content = _columns(chunk.names, f"{path}, {word} {chunk.lines[0] if chunk.lines else 1}")
        cells = chunk.column(name)
        contents = list(_contents(chunk, name, content))
        if things is None:
            things = Things(kind_of(contents, maybe_texts=True))
            if things.kind == "ids":
                things = Things("texts")
        for k, line in enumerate(chunk.lines):
            try:
                if k in chunk.bad:
                    raise ValueError(chunk.bad[k])
                identity, item = ids.read(cells[k]), things.read(contents[k])
                if identity in items:
                    raise ValueError(f"the item {identity!r} is there twice")
            except ValueError as error:
                raise VoteError(f"{path}, {word} {line}: {error}") from None
            items[identity] = item
    if not items:
        raise VoteError(f"{path}: there is no item")
    return items


def _columns(names: Any, where: str) -> tuple[str, dict[Part, str]]:
    """The column of the id, and those of an item's parts."""
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(plain(name), name)
    identity = next((known[name] for name in _ID if name in known), None)
    if identity is None:
        raise VoteError(f"{where}: no column is an id ({', '.join(_ID)}) among {', '.join(names)!r:.300}")
    first = {part: next((known[name] for name in usual if name in known), None) for part, usual in _CONTENT.items()}
    content = {part: name for part, name in first.items() if name is not None}
    if not content and not any(plain(name) not in (*SHOWN, plain(identity)) for name in names):
        raise VoteError(f"{where}: no column says what an item is ({', '.join(_CONTENTS)}, or features)")
    return identity, content


def _contents(chunk: Any, identity: str, content: Mapping[Part, str]) -> Iterator[Any]:
    if content:
        for cells in zip(*(chunk.column(name) for name in content.values()), strict=True):
            yield parts_of({part: _part(part, cell) for part, cell in zip(content, cells, strict=True)})
        return
    others = [name for name in chunk.names if name != identity and plain(name) not in SHOWN]
    for row in zip(*(chunk.column(name) for name in others), strict=True):
        yield {name: _number(cell) for name, cell in zip(others, row, strict=True) if cell not in (None, "")}


def _part(part: Part, cell: Any) -> Any:
    """A part as its column holds it: in a table, an empty cell is none, and features and vectors are JSON."""
    if isinstance(cell, str) and not cell.strip():
        return None
    if part == "text" or not isinstance(cell, str):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def _number(cell: Any) -> Any:
    """A cell of a table as the number it says, else as it is."""
    if not isinstance(cell, str):
        return cell if not isinstance(cell, Mapping | list) else json.dumps(cell, sort_keys=True)
    try:
        return float(cell)
    except ValueError:
        return cell
