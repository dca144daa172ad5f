"""Rounds of new items that are vectors and nothing else, the everyday case, read in one pass."""

import re
import struct
import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from conquer.kernels.core.kernel import is_made
from conquer.kernels.text import vectors as kernels
from conquer.kernels.text.decimals import TABLES
from conquer.rows import SparseRows, compressed, stack
from conquer.service.errors import invalid
from conquer.service.http.schemas import ANSWER_WORDS, IDENTIFIER, LARGEST, LONGEST_IDENTIFIER
from conquer.service.settings import Limits
from conquer.types import Floats, Ints


class _Vectored(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    vector: list[float]


_decode = msgspec.json.Decoder(list[_Vectored]).decode
_characters = re.compile(IDENTIFIER).fullmatch
_HINT, _BEGINNING = b'"vector"', 512
_RESERVED = ANSWER_WORDS | {"id", "vector"}
"""Ids that are answers, or spelt like a key, which `_decoded` takes for one that stands twice."""
_Room = tuple[Ints, NDArray[np.int32], Floats, NDArray[np.uint8]]
"""indptr, indices, data and the letters of ids."""
_KEPT = 128 << 10
"""Bytes of texts up to which a thread keeps the room for what is read of them, about seven times as much."""
_thread = threading.local()


class VectorRounds(NamedTuple):
    """Rounds of plain vectors, read together. `rows` (R, dim): those of all rounds that were understood, in order."""

    rows: SparseRows
    starts: list[int]
    """(n + 1): round t has the rows starts[t]:starts[t + 1]; none: it has to be read item by item."""
    ids: list[list[str]]
    """Of each round, in order; [] where it was not understood."""


def read_vectors(raw: bytes, dim: int, limits: Limits) -> tuple[list[str], SparseRows] | None:
    """The ids and the rows (K, dim) of items that have a vector alone; None where there is more to say about them.

    Whoever is told None reads them item by item, and refuses what cannot be taken in its own words.

    >>> ids, rows = read_vectors(b'[{"id":"a","vector":[0,1]}]', 2, Limits())
    >>> ids, rows.dense().tolist()
    (['a'], [[0.0, 1.0]])
    >>> read_vectors(b'[{"id":"a","vector":[0,1]},{"id":"b","text":"B"}]', 2, Limits()) is None
    True
    """
    if raw.find(_HINT, 0, _BEGINNING) < 0:
        return None
    if is_made(kernels.rounds):
        rows, _, (ids,) = _scanned((raw,), dim, limits)
        if ids:
            return ids, rows
    return _decoded(raw, dim, limits)


def read_rounds(texts: Sequence[bytes], dim: int, limits: Limits) -> VectorRounds:
    """What `read_vectors` says of each of these, all at once. It may understand fewer of them, never more.

    >>> rounds = read_rounds([b'[{"id":"a","vector":[0,1]}]', b'[{"id":"b","text":"B"}]'], 2, Limits())
    >>> rounds.ids, rounds.starts, rounds.rows.dense().tolist()
    ([['a'], []], [0, 1, 1], [[0.0, 1.0]])
    """
    if is_made(kernels.rounds):
        return _scanned(texts, dim, limits)
    found = [read_vectors(text, dim, limits) for text in texts]
    ids = [[] if one is None else one[0] for one in found]
    rows = [one[1] for one in found if one is not None]
    return VectorRounds(stack(rows) if rows else _none(dim), [0, *accumulate(map(len, ids))], ids)


def warm() -> None:
    """Have the kernel that reads vectors compiled or loaded."""
    _scanned((b'[{"id":"a","vector":[1]}]',), 1, Limits())


def _scanned(texts: Sequence[bytes], dim: int, limits: Limits) -> VectorRounds:
    """The rounds that the kernel understands, from their bytes straight into arrays."""
    joined = np.frombuffer(b"".join(texts), np.uint8)
    places, size = np.array((0, *accumulate(map(len, texts))), np.int64), joined.size
    indptr, indices, data, letters = _room(size)
    most = limits.items, min(dim, limits.features), LONGEST_IDENTIFIER, _BEGINNING
    used = kernels.rounds(joined, places, most, LARGEST, TABLES, indptr, indices, data, letters)
    starts = places.tolist()
    if used == 0:
        return VectorRounds(_none(dim), starts, [[] for _ in texts])
    names = letters[: used - 1].tobytes().decode("ascii").split("/")  # none has a slash
    ids = [names[start:end] for start, end in pairwise(starts)]
    if sum(map(len, map(set, ids))) < len(names) or not _RESERVED.isdisjoint(names):
        # Rare, so all is read again, without those that have such ids.
        return _scanned([text if _differ(one) else b"" for text, one in zip(texts, ids, strict=True)], dim, limits)
    if size <= _KEPT:
        end = indptr.item(len(names))
        indices, data = indices[:end].copy(), data[:end].copy()
    return VectorRounds(SparseRows.made(indptr[: len(names) + 1].copy(), indices, data, dim), starts, ids)


def _room(size: int) -> _Room:
    """Arrays that the kernel fills from texts of so many bytes: up to `_KEPT` those of the thread, used by every call.

    New ones would be seven times the texts, of pages that the system clears first.
    """
    if size > _KEPT:
        return _new_room(size)
    room: _Room | None = getattr(_thread, "room", None)
    if room is None or room[3].size <= size:
        room = _thread.room = _new_room(min(_KEPT, 2 * size))
    return room


def _new_room(size: int) -> _Room:
    # A number takes two bytes with its comma, an id those that are copied and its quotes.
    numbers = size // 2 + 1
    indptr, letters = np.empty(size // kernels.SHORTEST + 2, np.int64), np.empty(size + 1, np.uint8)
    return indptr, np.empty(numbers, np.int32), np.empty(numbers), letters


def _differ(ids: list[str]) -> bool:
    """Whether these are different and none means something else."""
    return len(set(ids)) == len(ids) and _RESERVED.isdisjoint(ids)


def _none(dim: int) -> SparseRows:
    return SparseRows.made(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), dim)


def _decoded(raw: bytes, dim: int, limits: Limits) -> tuple[list[str], SparseRows] | None:
    """What `read_vectors` says, by way of Python's objects."""
    try:
        items = _decode(raw)
        if raw.count(b'"id"') != len(items) or raw.count(_HINT) != len(items):
            return None  # a key stands twice in an item, or another word is spelt like one
        ids, values = [item.id for item in items], [item.vector for item in items]
        if not _are_ids(ids, limits.items) or not values[0] or len(values[0]) > limits.features:
            return None
        rows = vector_rows(values, dim)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return (ids, rows) if np.maximum.reduce(np.abs(rows.data), initial=0.0) <= LARGEST else None


def _are_ids(ids: list[str], most: int) -> bool:
    """Whether these are 1 to `most` different identifiers: looked at together, for every character of each counts."""
    different = set(ids)
    return (
        1 <= len(ids) <= most
        and len(different) == len(ids)
        and "" not in different
        and ANSWER_WORDS.isdisjoint(different)
        and max(map(len, ids)) <= LONGEST_IDENTIFIER
        and _characters("".join(ids)) is not None
    )


def vector_rows(values: Sequence[list[float]], dim: int) -> SparseRows:
    """Vectors of one length as rows (K, dim), or a RefusalError or ValueError that says why not."""
    width = len(values[0])
    lengths = list(map(len, values))
    if not 1 <= width <= dim or lengths.count(width) != len(lengths):
        raise invalid(f"vectors of a round have one length in [1, {dim}], got lengths {lengths[:10]}")
    # Packed they need no look at every number's type, which is known, and take a third of the time.
    pack, size = _packer(width), 8 * width
    room = bytearray(size * len(values))
    for place, value in enumerate(values):
        pack(room, place * size, *value)
    rows = compressed(np.frombuffer(room).reshape(len(values), width))
    return rows if width == dim else rows.widened(dim)


@lru_cache(64)
def _packer(width: int) -> Any:
    return struct.Struct(f"{width}d").pack_into
