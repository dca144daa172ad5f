"""Contradictions: one voter, one question, two different answers; found without keeping the votes."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.data.votes import VoteBlock

_SHORT = 24
_FACTORS = np.random.default_rng(64).integers(0, 2**64, _SHORT, np.uint64) | np.uint64(1)
"""The factor of the letter at each place; the same on every machine."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
RECORD = np.dtype([("key", np.uint64), ("value", np.float32), ("line", np.uint32)])
Records = NDArray[Any]
"""16 bytes per vote of a named voter: a hash of (voter, items, context, question), the value, the line.

Among n votes two different questions have the same hash with probability n^2 / 2^65: 3e-6 for ten million.
"""


def records_of(block: VoteBlock) -> Records:
    """The records of the votes of named voters."""
    if block.voters is None:
        return np.empty(0, RECORD)
    first, second = _hashes(block.first), _hashes(block.second)
    keys = _hashes(block.voters)
    for part in (np.minimum(first, second), np.maximum(first, second)):
        keys = _mixed(keys, part)
    for column in (block.contexts, block.questions):
        if column is not None:
            keys = _mixed(keys, _hashes(column))
    records = np.empty(len(block), RECORD)
    records["key"], records["value"] = keys, np.where(first > second, -block.values, block.values)
    records["line"] = np.minimum(block.lines, 2**32 - 1)
    return records[[voter is not None for voter in block.voters]]


def _hashes(cells: Sequence[Any]) -> NDArray[np.uint64]:
    """A hash of each cell: of the letters of short texts, and of the digest of longer ones."""
    texts = [cell if isinstance(cell, str) else repr(cell) for cell in cells]
    short = [text if len(text) <= _SHORT else _digest(text) for text in texts]
    letters = np.array(short, f"U{_SHORT}").view(np.uint32).reshape(-1, _SHORT)
    hashes: NDArray[np.uint64] = letters @ _FACTORS
    return hashes


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SHORT // 2).hexdigest()


def _mixed(keys: NDArray[np.uint64], more: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = (keys ^ (keys >> np.uint64(29))) * _ODD + more
    mixed: NDArray[np.uint64] = (keys ^ (keys >> np.uint64(32))) * _ODD
    return mixed


def find_clash(parts: Sequence[Records]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """(part, line) of an earlier and of a later answer, for the first vote that contradicts an earlier one."""
    numbers = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    records = np.concatenate(parts)
    if not records.size:
        return None
    order = np.argsort(records["key"], kind="stable")
    keys, values = records["key"][order], records["value"][order]
    begin = np.maximum.accumulate(np.where(np.append(True, keys[1:] != keys[:-1]), np.arange(keys.size), 0))
    clashes = np.flatnonzero(values != values[begin])
    if not clashes.size:
        return None
    place = clashes[np.argmin(order[clashes])]
    earlier, later = order[begin[place]], order[place]
    return tuple((int(numbers[k]), int(records["line"][k])) for k in (earlier, later))  # type: ignore[return-value]
