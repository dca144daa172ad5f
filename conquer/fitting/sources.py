"""Where votes come from and what their things are made of: files in parts, Python rows, items by id."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conquer.data.votes import VoteError, VoteReading, whole_file
from conquer.data.votes.items import read_items
from conquer.data.votes.parts import DELIMITERS, FilePart, cut
from conquer.data.votes.tables import header_of
from conquer.data.votes.things import ThingKind, Things
from conquer.features.featurizer import Featurizer
from conquer.fitting.contents import RowMaker
from conquer.items import kind_and_items

DEFAULT_DIM = 2**20
"""Columns of texts and dicts."""
Source = FilePart | list[Any]


def sources_of(votes: Any, part_bytes: int) -> list[Source]:
    """The parts of one file or several, in their order; or Python rows as one part."""
    if isinstance(votes, str | os.PathLike):
        votes = [votes]
    if isinstance(votes, Mapping) or not isinstance(votes, Iterable):
        raise TypeError(f"votes must be a file, files, or (first, second, winner) rows, got {votes!r:.80}")
    if hasattr(votes, "iloc") or hasattr(votes, "to_dicts"):
        # A frame goes through its columns: their names would be files, or they themselves rows.
        rows = 'to_dict("records")' if hasattr(votes, "iloc") else "to_dicts()"
        raise TypeError(f"votes must be a file, files, or rows; give a frame's rows: frame.{rows}")
    listed = list(votes)
    if not listed:
        raise ValueError("there are no votes")
    if all(isinstance(one, str | os.PathLike) for one in listed):
        if part_bytes < 1:
            raise ValueError(f"part_bytes must be at least 1, got {part_bytes}")
        return [part for path in listed for part in _parts(Path(path), part_bytes)]
    return [listed]


def _parts(path: Path, size: int) -> list[FilePart]:
    whole = whole_file(path)
    header = tuple(header_of(path, whole.form)) if whole.form in DELIMITERS and path.stat().st_size > size else ()
    return cut(whole, header, size)


def peek(sources: Sequence[Source], options: Mapping[str, Any]) -> tuple[ThingKind, int]:
    """(what the things are, how many numbers a vector has), by the first votes; files may begin with skips alone."""
    nothing = []
    for source in sources:
        if isinstance(source, FilePart):
            if source.start:
                continue  # the file has been looked at from its beginning
            source = source._replace(stop=None)
        reading = VoteReading(source, **options)
        block = next(reading.blocks(), None)
        if block is not None and reading.things is not None:
            return reading.things, len(block.first[0]) if reading.things == "vectors" else 0
        nothing.append(f"{source.path if isinstance(source, FilePart) else 'votes'}: {reading.found}")
    raise VoteError(f"there is no vote to learn from: {'; '.join(nothing)!s:.300}")


def items_of(items: Any) -> dict[str, Any]:
    """{id: item} from a file or a mapping, all of one kind."""
    if isinstance(items, str | os.PathLike):
        return read_items(items)
    if not isinstance(items, Mapping):
        raise TypeError(f"items must be a file or {{id: item}}, got {items!r:.80}")
    kind, _ = kind_and_items(list(items.values()))
    # An item with parts is a dict, whatever is learnt of it.
    if isinstance(next(iter(items.values())), Mapping):
        kind = "dicts"
    names, things = Things("ids"), Things("texts" if kind == "parts" else kind)
    found: dict[str, Any] = {}
    for name, item in items.items():
        try:
            identity = names.read(name)
            if identity in found:
                raise ValueError(f"the item {identity!r} is there twice")
            found[identity] = item if kind == "texts" else things.read(item)
        except ValueError as error:
            raise ValueError(f"items, {name!r:.60}: {error}") from None
    return found


def maker_of(
    things: ThingKind,
    contents: dict[str, Any] | None,
    *,
    dim: int | None,
    width: int,
    featurizer: Featurizer | None,
    context: bool,
) -> RowMaker | None:
    """How things become rows; None where they are ids and nothing else."""
    if contents is not None:
        kind, values = kind_and_items(list(contents.values()), None if featurizer is None else featurizer.learn)
        width = len(values[0]) if kind == "vectors" else 0
        if kind != "parts":
            contents = dict(zip(contents, values, strict=True))
    elif things == "ids":
        if featurizer is not None or context:
            raise ValueError("ids have no features: give items=, or things='texts' where they are texts")
        return None
    else:
        kind = things
    if featurizer is None and kind == "vectors" and not context:
        if dim not in (None, width):
            raise ValueError(f"vectors have {width} numbers, so dim must be that, got {dim}")
        return RowMaker(width, None, contents)
    if featurizer is None:
        featurizer = Featurizer(dim=DEFAULT_DIM if dim is None else dim)
    elif dim not in (None, featurizer.dim):
        raise ValueError(f"the featurizer makes {featurizer.dim} features, dim is {dim}")
    return RowMaker(featurizer.dim, featurizer, contents, context)
