"""A file of votes as rows: read and checked beside the engine, within what one request may bring."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from conquer.data.compression import is_compressed
from conquer.data.tables import sniff
from conquer.data.votes import Vote, VoteReading, VoteTally
from conquer.service.errors import RefusalError, invalid
from conquer.service.model.decoding import in_words
from conquer.service.model.reading import Reader
from conquer.service.model.records import ABSENT, Voted
from conquer.service.model.schemas import Group, Identifier, Item, NewContext, NewItem, Raw
from conquer.service.settings import Limits

MOST = 200_000
"""Votes in one request."""
STORED = 64 << 20
"""Bytes of their items and contexts, each vote with its own, as they are stored: a line names what may be long."""
CELLS = 20_000_000
"""Features of their items, and products with their contexts; an item counts as some at least."""
_REST = "each with its own copy of them; send the rest in another"
_json = msgspec.json.Encoder().encode


class ReadVote(msgspec.Struct):
    """A vote as a row, whose it is, and what it takes: bytes, and cells of rows."""

    row: Voted
    voter: str | None
    stored: int
    cells: int


def read_file(
    data: bytes, reader: Reader, pool: Sequence[Group], kind: str, content: str | None
) -> tuple[VoteTally, list[ReadVote]]:
    """The file's votes as rows, all checked; a RefusalError names the line."""
    known = {item.id: (item, group) for group in pool for item in group.items}
    try:
        # A small compressed file may hold more than there is room for.
        if is_compressed(data) or (part := sniff(data)).form not in ("table", "jsonl", "json"):
            raise invalid("the file must be CSV, JSON lines or a JSON array, and not compressed")
        reading = VoteReading(part, kind=kind, content=content, known=known or None)
        votes = list(_rows(reading, reader, known))
    except (ValueError, OSError) as error:
        if isinstance(error, RefusalError):
            raise
        raise invalid(str(error)) from None
    return reading.tally, votes


def _rows(reading: Any, reader: Reader, known: Mapping[str, tuple[Item, Group]]) -> Iterator[ReadVote]:
    count = stored = cells = 0
    for one in reading:
        count += one.count
        if count > MOST:
            raise invalid(f"line {one.line}: a request has at most {MOST:,} votes; send the rest in another")
        try:
            row = _row(one, reading.content, known, reader)
        except (RefusalError, msgspec.ValidationError, ValueError) as error:
            raise invalid(f"line {one.line}: {in_words(str(error))}") from None
        stored, cells = stored + one.count * row.stored, cells + one.count * row.cells
        if stored > STORED:
            raise invalid(f"line {one.line}: a request's votes take at most {STORED:,} bytes with their items, {_REST}")
        if cells > CELLS:
            raise invalid(f"line {one.line}: the items of a request's votes have at most {CELLS:,} features, {_REST}")
        yield from [row] * one.count


def _row(one: Vote, content: str, known: Mapping[str, tuple[Item, Group]], reader: Reader) -> ReadVote:
    if one.weight is not None:
        raise ValueError("weights are the model's own here: leave the column out")
    voter = None if one.voter is None else msgspec.convert(one.voter, Identifier)
    if one.kind == "judge" and voter is None:
        raise ValueError("a judge needs a name")
    context = one.context
    if known:
        (first, group), (second, other) = known[one.first], known[one.second]
        if group is not other:
            raise ValueError(f"{first.id!r} and {second.id!r} answer to different prompts")
        context = context if group.context is None else group.context
    else:
        first, second = (_item(thing, content) for thing in (one.first, one.second))
    items = _json([first, second])
    told = _json(msgspec.convert(context, NewContext))
    read = reader.read(items, told, Limits().cells)
    names = first.id, second.id
    left = None if one.left is None else names[one.left == "second"]
    winner = "tie" if one.value == 0 else names[one.value < 0]
    row = Voted(Raw(items), names, winner, one.value, ABSENT if told == b"null" else Raw(told), left)
    row.kind = "judge" if one.kind == "judge" else "person"
    return ReadVote(row, voter, len(items) + len(told), read.cells)


def _item(thing: Any, content: str) -> Item:
    """A thing that nobody has uploaded as an item: an id is a feature of its own, all else is named by its digest."""
    if content == "ids":
        return msgspec.convert({"id": thing, "features": {"id": thing}}, NewItem)
    key = {"texts": "text", "dicts": "features", "vectors": "vector"}[content]
    name = hashlib.blake2b(_json(thing), digest_size=8).hexdigest()
    return msgspec.convert({"id": name, key: thing}, NewItem)
