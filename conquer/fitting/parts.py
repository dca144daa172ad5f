"""Parts of the votes, each summed on its own and added in their order: the same bits wherever they are summed."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from conquer.answers import RESERVED
from conquer.data.compression import DataError
from conquer.data.contradictions import RECORD, Records, find_clash, records_of
from conquer.data.tables import FilePart
from conquer.data.votes import VoteBlock, VoteReading, VoteTally
from conquer.fitting.vote_sums import Moments, PairCounts, RowMaker

MOST_LISTED = 10_000
"""Texts, dicts or vectors that a fitted session lists by name; of more than these it lists none."""
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class PartTask:
    """One part of the votes, and how to read and sum it. Without `maker` items are ids, and pairs are counted."""

    source: FilePart | list[Any]
    options: Mapping[str, Any]
    maker: RowMaker | None = None
    full: bool = False
    contradictions: bool = False

    def reading(self) -> VoteReading:
        """A fresh reading of the part."""
        return VoteReading(self.source, **self.options)

    def empty_sums(self) -> PairCounts | Moments:
        """Sums over no votes."""
        if self.maker is None:
            return PairCounts()
        dim = self.maker.dim
        return Moments(np.zeros((dim, dim) if self.full else dim), np.zeros(dim))


@dataclass(slots=True)
class PartSum:
    """The sums over a part, its tally, the records for detecting contradictions, and the items it saw by name."""

    sums: PairCounts | Moments
    tally: VoteTally = field(default_factory=VoteTally)
    records: list[Records] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)


def sum_part(task: PartTask, report: Callable[[int], None] | None = None) -> PartSum:
    """Read a part and sum it; `report` is called with the number of votes so far."""
    reading = task.reading()
    result = PartSum(task.empty_sums(), reading.tally)
    if isinstance(result.sums, PairCounts) and isinstance(task.source, FilePart) and task.source.form == "preflib":
        result.sums.add_orders(reading)
        return result
    for block in reading.blocks():
        if isinstance(result.sums, Moments):
            assert task.maker is not None
            result.sums.add_block(block, task.maker, reading.at)
            list_items(result.seen, block)
        else:
            result.sums.add_block(block)
        if not task.contradictions:
            result.records.append(records_of(block))
        if report is not None:
            report(reading.tally.votes)
    return result


def merge(tasks: list[PartTask], results: Iterable[PartSum]) -> PartSum:
    """The sum over all parts, added in their order."""
    total = PartSum(tasks[0].empty_sums())
    records: list[list[Records]] = []
    for part in results:
        records.append(part.records)
        total.sums.add(part.sums)  # type: ignore[arg-type]  # parts of one fit have one kind of sums
        total.tally.add(part.tally)
        for name, item in part.seen.items():
            if len(total.seen) <= MOST_LISTED:
                total.seen.setdefault(name, item)
    check_contradictions(tasks, records)
    if not total.tally.votes:
        raise DataError(f"no votes to learn from: {total.tally}")
    return total


def check_contradictions(tasks: list[PartTask], records: list[list[Records]]) -> None:
    """A DataError where one voter has answered one question in two ways; `records` are those of each task."""
    clash = find_clash([np.concatenate(some) if some else np.empty(0, RECORD) for some in records])
    if clash is not None:
        (one, line), (two, later) = clash
        raise DataError(
            f"{tasks[two].reading().at(later)}: this voter gave a different answer to the same question at "
            f"{tasks[one].reading().at(line)}; contradictions=True (--contradictions) takes both as votes"
        )


def list_items(seen: dict[str, Any], block: VoteBlock) -> None:
    """Add the items of a block by name, up to one more than can be listed."""
    if len(seen) <= MOST_LISTED:
        for item in (*block.first, *block.second):
            seen.setdefault(item_name(item), item)


def item_name(item: Any) -> str:
    """A name for a text, a dict or a vector: itself if it is short, else its beginning and a hash.

    >>> item_name("green tea"), item_name({"price": 2})
    ('green tea', '{"price": 2}')
    """
    text = item if isinstance(item, str) else json.dumps(item, sort_keys=True, default=str)
    short = text.strip()
    if len(short) <= _LONGEST_NAME and short == text and short not in RESERVED:
        return short
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{' '.join(short[:_LONGEST_NAME].split())} #{digest}"
