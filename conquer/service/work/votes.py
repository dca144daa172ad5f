"""A file of votes from another system, learnt as long work: all of it is checked first, then written in short turns."""

import hashlib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from conquer.data.compression import is_compressed
from conquer.data.tables import sniff
from conquer.data.votes import Vote, VoteReading
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.pick_learner import PickLearner
from conquer.service.model.reading import Reader
from conquer.service.model.records import ABSENT, Entry, Event, Voted
from conquer.service.model.schemas import Context, Group, Identifier, Item, Raw, in_words
from conquer.service.work.decisions import weigh
from conquer.service.work.pool import Run, groups_of, parts

MOST = 200_000
"""Votes in one request."""
CELLS = 20_000_000
"""Features of their items, and products with their contexts."""
_READ = 200
"""Votes read in one slice of long work, and looked up in one turn."""
_BYTES = 1 << 20
"""Bytes of votes looked up in one turn."""
_json = msgspec.json.Encoder().encode
Known = Mapping[str, tuple[Item, Group]]
"""The model's own items by id, each with its group."""


class VotesReply(msgspec.Struct):
    """Votes in the file; of these learnt now, learnt before, and undone since; ties among them; votes not learnt.

    An undone vote stays undone. An answer to its event learns it again.
    """

    votes: int
    learnt: int = 0
    repeated: int = 0
    undone: int = 0
    ties: int = 0
    skipped: int = 0
    both_bad: int = 0


class ReadVote(NamedTuple):
    """A vote as a row, its voter, and its size in bytes and in cells of rows."""

    row: Voted
    voter: str | None
    stored: int
    cells: int


def learn_votes(
    run: Run, data: bytes, *, name: str | None, kind: str, content: str | None
) -> Generator[None, None, VotesReply]:
    """Learn a file of votes; `run` runs work on the model.

    Nothing is learnt unless every line can be read. An interrupted file continues when it is sent again under the same
    name, by default a digest of the file: each vote is its own event. Different votes under that name are refused.
    """
    reader, pool = run(_state)
    known = {item.id: (item, group) for group in pool for item in group.items}
    votes: list[ReadVote] = []
    totals = [0, 0, 0]
    stored = reader.limits.upload_bytes, "bytes of items, each vote with its own copy"
    bounds = (MOST, "votes"), stored, (CELLS, "features of these")
    try:
        # A small compressed file may contain more than fits in memory.
        if is_compressed(data) or (part := sniff(data)).form not in ("table", "jsonl", "json"):
            raise invalid("the file must be CSV, JSON lines or a JSON array, and not compressed")
        reading = VoteReading(part, kind=kind, content=content, known=known or None)
        for number, one in enumerate(reading, 1):
            try:
                vote = _vote(one, reading.content or "ids", known, reader)
            except (msgspec.ValidationError, ValueError) as error:
                raise ValueError(f"line {one.line}: {in_words(str(error))}") from None
            sizes = (1, vote.stored, vote.cells)
            totals = [total + one.count * size for total, size in zip(totals, sizes, strict=True)]
            for total, (most, what) in zip(totals, bounds, strict=True):
                if total > most:
                    raise ValueError(f"line {one.line}: at most {most:,} {what} in a request; send the rest in another")
            votes += [vote] * one.count
            if number % _READ == 0:
                yield
    except (ValueError, OSError) as error:
        raise error if isinstance(error, RefusalError) else invalid(str(error)) from None
    mark, done = name or hashlib.blake2b(data, digest_size=12).hexdigest(), Counter[str]()
    named = ((f"vote-{mark}-{number}", vote) for number, vote in enumerate(votes))
    for few in parts(named, lambda one: one[1].stored, _BYTES, _READ):
        while few:
            yield
            said = run(partial(_learn, part=few))
            done += said
            few = few[said.total() :]
    found = reading.tally
    return VotesReply(len(votes), **done, ties=found.ties, skipped=found.skips, both_bad=found.both_bad)


def _state(turn: Turn) -> tuple[Reader, list[Group]]:
    learner = turn.state.learner
    if not isinstance(learner, PickLearner) or not learner.learner.duels:
        raise conflict("no_votes", f"model {turn.state.name!r} does not learn from which of two items is better")
    own = learner.reader
    return Reader(own.settings, turn.limits, own.featurizer), list(groups_of(turn))


def _vote(one: Vote, content: str, known: Known, reader: Reader) -> ReadVote:
    if one.weight is not None:
        raise ValueError("a model weighs voters itself: leave the column of weights out")
    voter = None if one.voter is None else msgspec.convert(one.voter, Identifier)
    if one.kind == "judge" and voter is None:
        raise ValueError("a judge needs a name")
    context = one.context
    if known:
        (first, group), (second, other) = known[one.first], known[one.second]
        if group is not other:
            raise ValueError(f"{first.id!r} and {second.id!r} answer different prompts")
        context = context if group.context is None else group.context
    else:
        first, second = (_item(thing, content) for thing in (one.first, one.second))
    items, about = _json([first, second]), _json(msgspec.convert(context, Context))
    read = reader.read(items, about, reader.limits.cells)
    names = first.id, second.id
    row = Voted(
        Raw(items),
        names,
        "tie" if one.value == 0 else names[one.value < 0],
        one.value,
        ABSENT if about == b"null" else Raw(about),
        None if one.left is None else names[one.left == "second"],
        "judge" if one.kind == "judge" else "person",
    )
    return ReadVote(row, voter, len(items) + len(about), read.cells)


def _item(thing: Any, content: str) -> Item:
    """The item of a vote for a model without items: an id is a feature, any other content is named by its digest."""
    if content == "ids":
        return msgspec.convert({"id": thing, "features": {"id": thing}}, Item)
    key = {"texts": "text", "dicts": "features", "vectors": "vector"}[content]
    name = hashlib.blake2b(_json(thing), digest_size=8).hexdigest()
    return msgspec.convert({"id": name, key: thing}, Item)


def _learn(turn: Turn, part: Sequence[tuple[str, ReadVote]]) -> Counter[str]:
    """Append votes that are not in the log yet until the turn is over, one at least; counts what became of them."""
    done = Counter[str]()
    turn.look_up([event_id for event_id, _ in part])
    for event_id, one in part:
        event = turn.event(event_id)
        if event is None:
            turn.check_unused(event_id)
            append_vote(turn, event_id, one.voter, msgspec.structs.replace(one.row))
            done["learnt"] += 1
        else:
            done["repeated" if _is_learnt(event, one) else "undone"] += 1
        if turn.is_over:
            break
    return done


def _is_learnt(event: Event, one: ReadVote) -> bool:
    """Whether the vote in the log has not been undone. Raises RefusalError if it is a different vote."""
    row, left = one.row, event.chosen.left if event.sided else None
    same = event.chosen.ordinal < 0
    same &= (event.voter, event.shown, left) == (one.voter, row.names, row.left)
    same &= bytes(event.chosen.context) == bytes(row.context)
    position, said = event.answers.get(one.voter or "", (0, None))
    if position != event.position:
        said = None
    if said is not None:
        same &= (said.winner, said.value, said.kind) == (row.winner, row.value, row.kind)
    if not same:
        raise conflict("other_votes", f"the log has another vote under the id {event.id!r} than this file")
    return said is not None


def append_vote(turn: Turn, event_id: str, voter: str | None, row: Voted, room: int | None = None) -> Event | None:
    """Learn a vote as an event of its own. Raises RefusalError if the model cannot learn it.

    `room`: the cells that its items may have where they have not been checked.
    """
    learner = turn.state.learner
    read = learner.read(bytes(row.items), bytes(row.context), room)
    event = Event.of(Entry(0, 0.0, event_id, voter, row))
    try:
        if learner.check(read, event.choice) != row.names:
            raise ValueError("a vote names items that it does not have")
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from None
    event.round, said = read, row.said
    weigh(turn.state, event, said, voter)
    row.weight = said.weight
    return turn.append(row, event_id, voter, read)
