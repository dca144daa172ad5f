"""Votes from elsewhere: a file read and checked beside the writer, then learnt in slices; sent twice, learnt once."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conquer.data.votes import Found, Vote, VoteError, read_votes, whole_file
from conquer.service.annotation.pool import groups_of
from conquer.service.commands.answering import weigh
from conquer.service.commands.pick_learner import PickLearner
from conquer.service.commands.reading import Reader
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.http.schemas import Group, Identifier, Item, NewContext, NewItem, Raw
from conquer.service.log.event import Event
from conquer.service.log.records import ABSENT, Entry, Voted
from conquer.service.log.transaction import Turn
from conquer.service.settings import Limits

Run = Callable[[Callable[[Turn], Any]], Any]
"""Have the writer do it on the model, and wait."""
MOST = 200_000
"""Votes in one request."""
_SLICE = 200
"""Votes learnt in one turn: requests of other models come in between."""
_FORMS = ("csv", "tsv", "semicolons", "jsonl", "json")
_PACKED = (b"\x1f\x8b", b"\xfd7zXZ", b"(\xb5/\xfd")
"""How compressed files begin: a small one may hold more than there is room for."""
_json = msgspec.json.Encoder().encode


class VotesReply(msgspec.Struct):
    """What became of a file: votes learnt now, those that had been learnt before, and those that teach nothing."""

    votes: int
    learnt: int
    repeated: int
    ties: int
    skipped: int
    both_bad: int


class ReadVote(msgspec.Struct):
    """A vote as a row, and whose it is."""

    row: Voted
    voter: str | None


def vote(run: Run, data: bytes, *, name: str | None, kind: str, things: str | None) -> VotesReply:
    """Learn a file of votes; blocks, so it needs a thread of its own.

    Nothing is learnt unless all of it can be read. What was cut off half-way goes on when it is sent again under the
    same name, by default a digest of the file: each vote is an event of its own.
    """
    reader, pool = run(_state)
    found, votes = _read(data, reader, pool, kind, things)
    mark = name or hashlib.blake2b(data, digest_size=12).hexdigest()
    learnt = repeated = 0
    for start in range(0, len(votes), _SLICE):
        part = [(f"vote-{mark}-{start + k}", one) for k, one in enumerate(votes[start : start + _SLICE])]

        def work(turn: Turn, part: Sequence[tuple[str, ReadVote]] = part) -> int:
            return _learn(turn, part)

        new = run(work)
        learnt, repeated = learnt + new, repeated + len(part) - new
    return VotesReply(len(votes), learnt, repeated, found.ties, found.skips, found.both_bad)


def _state(turn: Turn) -> tuple[Reader, list[Group]]:
    folded = turn.folded
    if not isinstance(folded.learner, PickLearner) or not folded.learner.learner.duels:
        raise conflict("no_votes", f"model {folded.name!r} does not learn from which of two was better")
    own = folded.learner.reader
    return Reader(own.settings, Limits(), own.featurizer), list(groups_of(turn))


def _learn(turn: Turn, part: Sequence[tuple[str, ReadVote]]) -> int:
    """Append the votes that are not there yet; returns how many."""
    turn.look_up([event_id for event_id, _ in part])
    learner, new = turn.folded.learner, 0
    for event_id, one in part:
        if turn.event(event_id) is not None:
            continue
        turn.check_unused(event_id)
        row = msgspec.structs.replace(one.row)
        read = learner.read(bytes(row.items), bytes(row.context))
        event = Event.of(Entry(0, 0.0, event_id, one.voter, row))
        event.round, said = read, row.said
        try:
            learner.check(read, event.choice)
        except (ValueError, TypeError) as error:
            raise invalid(str(error)) from None
        weigh(turn.folded, event, said, one.voter)
        row.weight = said.weight
        turn.append(row, event_id, one.voter, read)
        new += 1
    return new


def _read(
    data: bytes, reader: Reader, pool: Sequence[Group], kind: str, things: str | None
) -> tuple[Found, list[ReadVote]]:
    """The file's votes as rows, all checked; a RefusalError names the line."""
    known = {item.id: (item, group) for group in pool for item in group.items}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes"
        path.write_bytes(data)
        try:
            if data.startswith(_PACKED) or whole_file(path).form not in _FORMS:
                raise invalid("the file must be CSV, JSON lines or a JSON array, and not compressed")
            reading = read_votes(path, kind=kind, things=things, known=known or None)
            votes = list(_rows(reading, reader, known))
        except (VoteError, ValueError, OSError) as error:
            if isinstance(error, RefusalError):
                raise
            raise invalid(str(error).replace(f"{path}{os.sep}", "").replace(f"{path}", "the file")) from None
    return reading.found, votes


def _rows(reading: Any, reader: Reader, known: Mapping[str, tuple[Item, Group]]) -> Iterator[ReadVote]:
    count = 0
    for one in reading:
        count += one.count
        if count > MOST:
            raise invalid(f"line {one.line}: a request has at most {MOST:,} votes; send the rest in another")
        try:
            row = _row(one, reading.things, known, reader)
        except (RefusalError, msgspec.ValidationError, ValueError) as error:
            raise invalid(f"line {one.line}: {error}") from None
        yield from [row] * one.count


def _row(one: Vote, things: str, known: Mapping[str, tuple[Item, Group]], reader: Reader) -> ReadVote:
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
        first, second = (_item(thing, things) for thing in (one.first, one.second))
    items = _json([first, second])
    told = _json(msgspec.convert(context, NewContext))
    reader.read(items, told, Limits().cells)
    names = first.id, second.id
    left = None if one.left is None else names[one.left == "second"]
    winner = "tie" if one.value == 0 else names[one.value < 0]
    row = Voted(Raw(items), names, winner, one.value, ABSENT if told == b"null" else Raw(told), left)
    row.kind = "judge" if one.kind == "judge" else "person"
    return ReadVote(row, voter)


def _item(thing: Any, things: str) -> Item:
    """A thing that nobody has uploaded as an item: an id is a feature of its own, all else is named by its digest."""
    if things == "ids":
        return msgspec.convert({"id": thing, "features": {"id": thing}}, NewItem)
    key = {"texts": "text", "dicts": "features", "vectors": "vector"}[things]
    name = hashlib.blake2b(_json(thing), digest_size=8).hexdigest()
    return msgspec.convert({"id": name, key: thing}, NewItem)
