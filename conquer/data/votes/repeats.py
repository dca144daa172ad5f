"""One voter, one question, two different answers: found without keeping the votes themselves."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conquer.data.votes.vote import VoteBlock

_MOST = 1 << 17
"""Names whose hash is remembered: ids and voters are few, prompts may be many."""
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], np.uint64)
_RECORD = np.dtype([("key", np.uint64), ("value", np.float32), ("line", np.uint32)])


class Clash(NamedTuple):
    """Two answers of one voter to one question: the lines of the earlier and of the later, each with its reading."""

    earlier: tuple[int, int]
    later: tuple[int, int]


class Repeats:
    """16 bytes per vote of a named voter: a hash of (voter, both things, context, question), its value, its line.

    Two different questions have one hash with a chance of n^2 / 2^65 among n votes: 3e-6 for ten million.
    """

    def __init__(self) -> None:
        self._hashes: dict[Any, int] = {}
        self.records: list[NDArray[Any]] = []

    def add(self, block: VoteBlock) -> None:
        """Remember the votes of those who have a name."""
        if block.voters is None or not any(block.voters):
            return
        first, second = self._hashed(block.first), self._hashed(block.second)
        flipped = first > second
        low, high = np.where(flipped, second, first), np.where(flipped, first, second)
        keys = self._hashed(block.voters) * _ODD[0]
        for number, part in enumerate((low, high), 1):
            keys = _mixed(keys + part * _ODD[number])
        for column in (block.contexts, block.questions):
            if column is not None:
                keys = _mixed(keys + self._hashed(column) * _ODD[3])
        named = np.array([voter is not None for voter in block.voters])
        found = np.empty(len(block), _RECORD)
        found["key"], found["value"] = keys, np.where(flipped, -block.values, block.values)
        found["line"] = np.minimum(block.lines, 2**32 - 1)
        self.records.append(found if named.all() else found[named])

    def _hashed(self, cells: Sequence[Any]) -> NDArray[np.uint64]:
        known = self._hashes
        try:
            found = [known.get(cell) for cell in cells]
        except TypeError:  # dicts and lists
            found = [None] * len(cells)
        if None in found:
            found = [self._hash(cell) if value is None else value for cell, value in zip(cells, found, strict=True)]
        return np.array(found, np.uint64)

    def _hash(self, cell: Any) -> int:
        text = cell if isinstance(cell, str) else repr(cell)
        value = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        if len(self._hashes) < _MOST and isinstance(cell, str | int | None) and len(text) < 1000:
            self._hashes[cell] = value
        return value


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = (keys ^ (keys >> np.uint64(29))) * _ODD[0]
    mixed: NDArray[np.uint64] = keys ^ (keys >> np.uint64(32))
    return mixed


def find_clash(readings: Sequence[Sequence[NDArray[Any]]]) -> Clash | None:
    """The first vote, in the order of the readings, that contradicts an earlier one; None where there is none.

    `readings`: the records of each reading.
    """
    parts = [part for reading in readings for part in reading]
    if not parts:
        return None
    whose = np.repeat(np.arange(len(readings)), [sum(part.size for part in reading) for reading in readings])
    records = np.concatenate(parts)
    order = np.argsort(records["key"], kind="stable")
    keys, values = records["key"][order], records["value"][order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    begin = np.repeat(starts, np.diff(np.append(starts, keys.size)))
    clashes = np.flatnonzero(values != values[begin])
    if not clashes.size:
        return None
    place = clashes[np.argmin(order[clashes])]
    earlier, later = order[begin[place]], order[place]
    return Clash((int(whose[earlier]), int(records["line"][earlier])), (int(whose[later]), int(records["line"][later])))
