"""Contradictions: one voter, one question, two different answers; found without keeping the votes."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conquer.data.votes import VoteBlock

_MOST_CACHED = 1 << 17
"""Names whose hash is cached: ids and voters are few, prompts may be many."""
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], np.uint64)
_SHORT = 24
_FEW = 1000
_LETTERS = np.random.default_rng(64).integers(0, 2**64, _SHORT, np.uint64) | np.uint64(1)
"""The factor of the letter at each place; the same on every machine."""
_RECORD = np.dtype([("key", np.uint64), ("value", np.float32), ("line", np.uint32)])


class Clash(NamedTuple):
    """Two answers of one voter to one question: the lines of the earlier and of the later, each with its reading."""

    earlier: tuple[int, int]
    later: tuple[int, int]


class Repeats:
    """Records of 16 bytes per vote of a named voter: a hash of (voter, items, context, question), the value, the line.

    Among n votes two different questions have the same hash with probability n^2 / 2^65: 3e-6 for ten million.
    """

    def __init__(self) -> None:
        self._hashes: dict[Any, int] = {}
        self.records: list[NDArray[Any]] = []

    def add(self, block: VoteBlock) -> None:
        """Record the votes of named voters."""
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
        found = np.empty(len(block), _RECORD)
        found["key"], found["value"] = keys, np.where(flipped, -block.values, block.values)
        found["line"] = np.minimum(block.lines, 2**32 - 1)
        named = [voter is not None for voter in block.voters]
        self.records.append(found if all(named) else found[named])

    def _hashed(self, cells: Sequence[Any]) -> NDArray[np.uint64]:
        known = self._hashes
        try:
            found = [known.get(cell) for cell in cells]
        except TypeError:  # dicts and lists
            found = [None] * len(cells)
        if None not in found:
            return np.array(found, np.uint64)
        fresh = [k for k, value in enumerate(found) if value is None]
        hashes = np.array([value or 0 for value in found], np.uint64)
        hashes[fresh] = self._hash_all([cells[k] for k in fresh])
        return hashes

    def _hash_all(self, cells: list[Any]) -> NDArray[np.uint64]:
        """A hash of each cell: of the letters of short texts, all at once, and of the digest of longer ones."""
        texts = [cell if isinstance(cell, str) else repr(cell) for cell in cells]
        short = [text if len(text) <= _SHORT else _digest(text) for text in texts]
        width = max(1, max(map(len, short)))
        letters = np.array(short, f"U{width}").view(np.uint32).reshape(len(short), width)
        # Letters past the end of a text are 0, so that its hash does not depend on its neighbours.
        hashes = np.zeros(len(short), np.uint64)
        for place in range(width):
            hashes += letters[:, place] * _LETTERS[place]
        hashes = _mixed(hashes)
        if len(self._hashes) < _MOST_CACHED and 2 * len(set(texts)) <= len(texts) + _FEW:
            known = zip(cells, texts, hashes.tolist(), strict=True)
            few = {cell: value for cell, text, value in known if isinstance(cell, str | None) and len(text) <= _SHORT}
            self._hashes.update(few)
        return hashes


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SHORT // 2).hexdigest()


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = (keys ^ (keys >> np.uint64(29))) * _ODD[0]
    mixed: NDArray[np.uint64] = keys ^ (keys >> np.uint64(32))
    return mixed


def find_clash(readings: Sequence[Sequence[NDArray[Any]]]) -> Clash | None:
    """The first vote that contradicts an earlier one, or None. `readings`: the records of each reading, in order."""
    parts = [part for reading in readings for part in reading]
    if not parts:
        return None
    whose = np.repeat(np.arange(len(readings)), [sum(part.size for part in reading) for reading in readings])
    records = np.concatenate(parts)
    rising = np.sort(np.ascontiguousarray(records["key"]))
    repeated = rising[1:][rising[1:] == rising[:-1]]
    if not repeated.size:
        return None
    again = np.isin(records["key"], repeated, kind="sort")  # the table of numpy 2.0 overflows with keys from 2**63
    records, whose = records[again], whose[again]
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
