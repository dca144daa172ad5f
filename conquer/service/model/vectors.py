"""Rounds of new items that are vectors and nothing else: the common case, decoded without a look at each item."""

import re
import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec
import numpy as np

from conquer.rows import SparseRows, compressed, stack
from conquer.service.errors import invalid
from conquer.service.model.schemas import ANSWER_WORDS, IDENTIFIER, LARGEST, LONGEST_IDENTIFIER
from conquer.service.settings import Limits


class _Vectored(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    vector: list[float]


_decode = msgspec.json.Decoder(list[_Vectored]).decode
_characters = re.compile(IDENTIFIER).fullmatch
_HINT, _BEGINNING = b'"vector"', 512


class VectorRounds(NamedTuple):
    """Rounds of plain vectors. `rows` (R, dim): those of all rounds that were read, in order."""

    rows: SparseRows
    starts: list[int]
    """(n + 1): round t has the rows starts[t]:starts[t + 1]; none: read it item by item."""
    ids: list[list[str]]
    """Of each round, in order; [] if it was not read."""


def read_vectors(raw: bytes, dim: int, limits: Limits) -> tuple[list[str], SparseRows] | None:
    """The ids and the rows (K, dim) of items that have a vector alone; None for all others, and for what is refused.

    The caller then reads them item by item, which names what is wrong.

    >>> ids, rows = read_vectors(b'[{"id":"a","vector":[0,1]}]', 2, Limits())
    >>> ids, rows.dense().tolist()
    (['a'], [[0.0, 1.0]])
    >>> read_vectors(b'[{"id":"a","vector":[0,1]},{"id":"b","text":"B"}]', 2, Limits()) is None
    True
    """
    found = _decoded(raw, limits)
    if found is None:
        return None
    try:
        return found[0], _bounded(vector_rows(found[1], dim))
    except ValueError:
        return None


def read_rounds(texts: Sequence[bytes], dim: int, limits: Limits) -> VectorRounds:
    """`read_vectors` of each of these rounds.

    >>> rounds = read_rounds([b'[{"id":"a","vector":[0,1]}]', b'[{"id":"b","text":"B"}]'], 2, Limits())
    >>> rounds.ids, rounds.starts, rounds.rows.dense().tolist()
    ([['a'], []], [0, 1, 1], [[0.0, 1.0]])
    """
    found = [_decoded(text, limits) for text in texts]
    ids = [[] if one is None else one[0] for one in found]
    vectors = [vector for one in found if one is not None for vector in one[1]]
    try:
        rows = _bounded(vector_rows(vectors, dim)) if vectors else SparseRows([0], [], [], dim)
    except ValueError:  # one is refused, or they differ in length
        each = [read_vectors(text, dim, limits) for text in texts]
        ids = [[] if one is None else one[0] for one in each]
        rows = stack([SparseRows([0], [], [], dim), *(one[1] for one in each if one is not None)])
    return VectorRounds(rows, [0, *accumulate(map(len, ids))], ids)


def _decoded(raw: bytes, limits: Limits) -> tuple[list[str], list[list[float]]] | None:
    """The ids and the vectors of a round; None if items have anything else or an id is wrong."""
    if raw.find(_HINT, 0, _BEGINNING) < 0:
        return None
    try:
        items = _decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    if raw.count(b'"id"') != len(items) or raw.count(_HINT) != len(items):
        return None  # a key occurs twice in an item, or as a value
    ids, vectors = [item.id for item in items], [item.vector for item in items]
    fits = _are_ids(ids, limits.items) and 1 <= len(vectors[0]) <= limits.features
    return (ids, vectors) if fits else None


def _bounded(rows: SparseRows) -> SparseRows:
    """The rows, or a ValueError if a value is too large."""
    if np.maximum.reduce(np.abs(rows.data), initial=0.0) > LARGEST:
        raise ValueError(f"values must be within {LARGEST:g}")
    return rows


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
