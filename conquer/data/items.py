"""A file of items to be ranked, read as the files of items that votes speak of; or of their ids alone."""

import os
from collections.abc import Iterator
from typing import Any

from conquer.data.columns import plain
from conquer.data.votes.items import _ID, read_items
from conquer.data.votes.reading import whole_file
from conquer.data.votes.tables import Chunk, chunks
from conquer.data.votes.things import Things
from conquer.data.votes.vote import VoteError

Listed = dict[str, Any] | list[str]


def listed_items(
    path: str | os.PathLike[str], group: str | None = None, *, known: bool = False, closed: bool = False
) -> tuple[Listed, dict[str, str] | None]:
    """({id: a text, dict, vector or several}, {id: its cell in the column `group`} if one is named) of a file.

    A group's column is a feature like any other. For a session that has `known` items a column of ids alone is a list
    of them, and so is every file where ids are all there is to an item (`closed`).

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "items.csv"
    ...     _ = path.write_text("id,price,brand\\ntea,0.5,x\\nmug,0.7,y\\n")
    ...     listed_items(path, group="brand")
    ...     listed_items(path, known=True, closed=True)[0]
    ({'tea': {'price': 0.5, 'brand': 'x'}, 'mug': {'price': 0.7, 'brand': 'y'}}, {'tea': 'x', 'mug': 'y'})
    ['tea', 'mug']
    """
    items: Listed = _ids(path) if closed or (known and _ids_alone(path)) else read_items(path)
    return items, None if group is None else _groups(path, items, group)


def _table(path: str | os.PathLike[str]) -> Iterator[tuple[str, Chunk]]:
    """(the word for a row's place, some rows) after another."""
    part = whole_file(path)
    if part.form == "preflib":
        raise VoteError(f"{path}: a PrefLib file holds no items")
    word = "row" if part.form == "parquet" else "line"
    return ((word, chunk) for chunk in chunks(part))


def _ids_alone(path: str | os.PathLike[str]) -> bool:
    _, chunk = next(_table(path), ("", None))
    return chunk is not None and len(chunk.names) == 1 and plain(chunk.names[0]) in _ID


def _ids(path: str | os.PathLike[str]) -> list[str]:
    """The ids of a file, whatever else it says."""
    reader, found = Things("ids"), dict[str, None]()
    for word, chunk in _table(path):
        known = {plain(name): name for name in reversed(chunk.names)}
        column = next((known[name] for name in _ID if name in known), None)
        if column is None:
            raise VoteError(f"{path}: no column is an id ({', '.join(_ID)}) among {', '.join(chunk.names)!r:.300}")
        for place, (line, cell) in enumerate(zip(chunk.lines, chunk.column(column), strict=True)):
            try:
                if place in chunk.bad:
                    raise ValueError(chunk.bad[place])
                if (name := reader.read(cell)) in found:
                    raise ValueError(f"the item {name!r} is there twice")
            except ValueError as error:
                raise VoteError(f"{path}, {word} {line}: {error}") from None
            found[name] = None
    if not found:
        raise VoteError(f"{path}: there is no item")
    return list(found)


def _groups(path: str | os.PathLike[str], items: Listed, group: str) -> dict[str, str]:
    """{id: group}; every row of the file is an item, in the same order."""
    ids, groups = iter(items), dict[str, str]()
    for word, chunk in _table(path):
        cells = chunk.column(group) if group in chunk.names else [None] * len(chunk.lines)
        for line, cell, name in zip(chunk.lines, cells, ids, strict=False):
            inner = items[name] if isinstance(items, dict) else None
            if cell is None and isinstance(inner, dict):
                cell = inner.get(group)
            if cell is None or not str(cell).strip():
                raise VoteError(f"{path}, {word} {line}: {name!r:.60} has no {group!r:.60}")
            groups[name] = str(cell).strip()
    return groups
