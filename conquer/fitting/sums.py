"""Sums over the parts of a log, each on its own, merged in the order of the parts: the same bits wherever they ran."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import RESERVED
from conquer.data.votes import Found, VoteBlock, VoteError, VoteReading
from conquer.data.votes.parts import FilePart
from conquer.data.votes.repeats import Repeats, find_clash
from conquer.fitting.contents import Moments, RowMaker
from conquer.fitting.counts import PairCounts

MOST_KNOWN = 10_000
"""Texts, dicts or vectors that a fitted session lists by name; where there are more it lists none."""
_LONGEST = 80
Told = Callable[[int], None]
"""Told how many votes there are so far."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """One part of a log, and how to read and sum it. `maker` None: things are ids, and pairs of them are counted."""

    source: FilePart | Iterable[Any]
    options: Mapping[str, Any]
    maker: RowMaker | None = None
    full: bool = False
    contradictions: bool = False


@dataclass(slots=True)
class PartSum:
    """What a part adds up to. Reading and summing are told apart, in seconds, by whoever measures them."""

    sums: PairCounts | Moments
    found: Found
    records: list[NDArray[Any]]
    seen: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Of every voter, with the line that said it first."""


def sum_part(task: PartTask, told: Told | None = None) -> PartSum:
    """Read a part and sum it."""
    reading = VoteReading(task.source, **task.options)
    sums = empty_sums(task)
    repeats = Repeats()
    seen: dict[str, Any] = {}
    for block in reading.blocks():
        if isinstance(sums, Moments) and task.maker is not None:
            sums.add_block(block, task.maker, reading.at)
            remember(seen, block)
        elif isinstance(sums, PairCounts):
            sums.add_block(block)
        if not task.contradictions:
            repeats.add(block)
        if told is not None:
            told(reading.found.votes)
    return PartSum(sums, reading.found, repeats.records, seen, reading.kinds)


def empty_sums(task: PartTask) -> PairCounts | Moments:
    """Sums over no votes."""
    if task.maker is None:
        return PairCounts()
    dim = task.maker.dim
    return Moments(np.zeros((dim, dim) if task.full else dim), np.zeros(dim))


def merged(tasks: list[PartTask], results: Iterator[tuple[int, PartSum]], told: Told | None = None) -> PartSum:
    """All parts' sums, added in the order of the parts whatever the order in which they come."""
    total = PartSum(empty_sums(tasks[0]), Found(), [])
    waiting: dict[int, PartSum] = {}
    records: list[list[NDArray[Any]]] = []
    kinds = VoterKinds(tasks)
    for place, result in results:
        waiting[place] = result
        while len(records) in waiting:
            part = waiting.pop(len(records))
            kinds.add(len(records), part.kinds)
            records.append(part.records)
            total.sums.add(part.sums)  # type: ignore[arg-type]  # parts of one fit have one kind of sums
            total.found.add(part.found)
            for name, thing in part.seen.items():
                if len(total.seen) <= MOST_KNOWN:
                    total.seen.setdefault(name, thing)
        if told is not None:
            told(total.found.votes)
    check_contradictions(tasks, records)
    if not total.found.votes:
        raise VoteError(f"there is no vote to learn from: {total.found}")
    return total


class VoterKinds:
    """Nobody is a person in one part and a judge in another."""

    def __init__(self, tasks: Sequence[PartTask]) -> None:
        self.tasks = tasks
        self._known: dict[str, tuple[str, int, int]] = {}

    def add(self, place: int, kinds: Mapping[str, tuple[str, int]]) -> None:
        """Add what the part at a place said of its voters; a VoteError where another part said otherwise."""
        for voter, (kind, line) in kinds.items():
            before, part, earlier = self._known.setdefault(voter, (kind, place, line))
            if before != kind:
                here, there = (VoteReading(self.tasks[k].source, **self.tasks[k].options) for k in (place, part))
                raise VoteError(
                    f"{here.at(line)}: voter {voter!r} was a {before} before ({there.at(earlier)}) and is a {kind} here"
                )


def check_contradictions(tasks: list[PartTask], records: list[list[NDArray[Any]]]) -> None:
    """A VoteError where one voter has answered one question in two ways."""
    clash = find_clash(records)
    if clash is not None:
        (one, line), (two, later) = clash
        earlier, now = (VoteReading(tasks[k].source, **tasks[k].options) for k in (one, two))
        raise VoteError(
            f"{now.at(later)}: this voter said otherwise of the same two things before ({earlier.at(line)}); "
            "contradictions=True (--contradictions) takes both as votes"
        )


def remember(seen: dict[str, Any], block: VoteBlock) -> None:
    """Keep a block's things by name, up to one more than can be listed."""
    if len(seen) <= MOST_KNOWN:
        for thing in (*block.first, *block.second):
            seen.setdefault(thing_name(thing), thing)


def thing_name(thing: Any) -> str:
    """A name for a text, a dict or a vector: itself where it is short, else its beginning and a hash.

    >>> thing_name("green tea"), thing_name({"price": 2})
    ('green tea', '{"price": 2}')
    """
    text = thing if isinstance(thing, str) else json.dumps(thing, sort_keys=True, default=str)
    short = text.strip()
    if len(short) <= _LONGEST and short == text and short not in RESERVED:
        return short
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{' '.join(short[:_LONGEST].split())} #{digest}"
