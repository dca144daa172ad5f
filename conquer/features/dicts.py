"""Named features: dicts with numbers and words, and vectors whose names are positions."""

import marshal
import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from conquer.features.hashing import (
    CATEGORY,
    NUMBER,
    POSITION,
    Grams,
    Hashes,
    code_points,
    joined,
    scratch,
    starts,
    table,
)
from conquer.kernels.text import dicts as kernel_dicts
from conquer.kernels.text import hashing as kernel
from conquer.rows import SparseRows
from conquer.types import Floats, Ints

_PLAIN = {float, int}
"""Known to be numbers without asking their abstract class, which takes longer than all the rest."""
_GROUP = 1024
"""Dicts hashed at a time: what is needed for them meanwhile does not grow with the batch."""
_VERSION = 2
"""Of marshal's format: tags, lengths and bytes, without references to what came before."""
_SAMPLE = [{"é": 0.5, "w": "x", "l": ["a"]}, {"i": -2, "n": 2**40, "t": True, "o": None}]
_KNOWN_FORM = marshal.dumps(_SAMPLE, _VERSION) == (
    b"[\x02\0\0\0{u\x02\0\0\0\xc3\xa9g\0\0\0\0\0\0\xe0?u\x01\0\0\0wu\x01\0\0\0xu\x01\0\0\0l[\x01\0\0\0u\x01\0\0\0a0"
    b"{u\x01\0\0\0ii\xfe\xff\xff\xffu\x01\0\0\0nl\x03\0\0\0\0\0\0\0\0\x04u\x01\0\0\0tTu\x01\0\0\0oN0"
)
"""Whether this Python writes the bytes that the compiled reading knows; if not, dicts are read in Python."""


def features(item: Mapping[str, Any], number: int, binary: bool) -> Iterator[tuple[str, str | None, float]]:
    """(name, value when it is a word, weight) of each feature of a dict, in an order that is not the dict's."""
    for name in item:
        if not isinstance(name, str):
            raise TypeError(f"item {number}: feature names must be str, got {name!r}")
    for name in sorted(item):
        value = item[name]
        if value is None:
            continue
        if isinstance(value, str):
            yield name, value, 1.0
        elif type(value) in _PLAIN or isinstance(value, Real | np.bool_):
            if weight := _finite(value, name, number):
                yield name, None, weight
        elif isinstance(value, list | tuple | set | frozenset) and all(isinstance(each, str) for each in value):
            for each in sorted(set(value) if binary else value):
                yield name, each, 1.0
        else:
            expected = "a number, a bool, a str, a list of str or None"
            raise TypeError(f"item {number}: feature {name!r} must be {expected}, got {value!r:.80}")


def _finite(value: Any, name: str, number: int) -> float:
    try:
        weight = float(value)
    except OverflowError:
        weight = np.inf
    if not math.isfinite(weight):
        raise ValueError(f"item {number}: feature {name!r} must be finite, got {value!r:.80}")
    return weight


def hash_dicts(items: Sequence[Mapping[str, Any]], *, seed: int = 0, binary: bool = False) -> Grams:
    """The features of each dict: a number weighs itself under its name, a word 1 under name and word.

    A bool is the number 1 or 0, a list of words is one feature per word, None is no feature. With `binary` a word that
    a list repeats counts once. The order of names, and of words in a list, does not matter.

    >>> hash_dicts([{"price": 3.5, "brand": "x", "tags": ["a", "b"], "new": True}]).weights.tolist()
    [1.0, 1.0, 3.5, 1.0, 1.0]
    """
    if len(items) <= _GROUP:
        return _group_grams(items, 0, seed, binary)
    groups = range(0, len(items), _GROUP)
    return joined([_group_grams(items[first : first + _GROUP], first, seed, binary) for first in groups])


def hash_together(items: list[dict[str, Any]], context: dict[str, Any], seed: int, binary: bool) -> tuple[Grams, Grams]:
    """The features of each dict and those of a context, in one call where all of them can be read so."""
    read = _read([*items, context], seed, binary) if len(items) < _GROUP else None
    if read is None:
        return hash_dicts(items, seed=seed, binary=binary), hash_dicts([context], seed=seed, binary=binary)
    indptr, hashes, weights = read
    first = int(indptr[-2])
    own = Grams(indptr[:-1], hashes[:first], weights[:first])
    return own, Grams(np.array([0, weights.size - first]), hashes[first:], weights[first:])


def _group_grams(items: Sequence[Mapping[str, Any]], first: int, seed: int, binary: bool) -> Grams:
    read = _read([item if type(item) is dict else dict(item) for item in items], seed, binary)
    return _any_grams(items, first, seed, binary) if read is None else Grams(*read)


def _read(items: list[dict[str, Any]], seed: int, binary: bool) -> tuple[Ints, Hashes, Floats] | None:
    """The features of dicts of plain values: `features` for all of them, compiled; None for any others."""
    if not _KNOWN_FORM:
        return None
    try:
        written = marshal.dumps(items, _VERSION)
    except ValueError:  # something that marshal does not know
        return None
    data = np.frombuffer(written, np.uint8)
    room = data.size // kernel_dicts.SHORTEST
    indptr, hashes, raw = np.empty(len(items) + 1, np.int64), np.empty(room, np.uint64), np.empty(room, np.uint64)
    begin = starts(seed)
    if not kernel_dicts.features(data, begin[NUMBER], begin[CATEGORY], binary, indptr, hashes, raw, table(room)):
        return None
    used = int(indptr[-1])
    return indptr, hashes[:used], raw.view(np.float64)[:used]


def _any_grams(items: Sequence[Mapping[str, Any]], first: int, seed: int, binary: bool) -> Grams:
    strings, names, words, values, indptr = _any_features(items, first, binary)
    keys = np.empty(len(strings), np.uint64)
    codes, ends, _ = code_points(strings)
    kernel.string_keys(codes, ends, keys)
    hashes = np.empty(names.size, np.uint64)
    kernel.named(names, words, keys, starts(seed)[NUMBER], starts(seed)[CATEGORY], hashes)
    kernel.distinct(indptr, hashes, values, False, scratch(indptr))
    used = int(indptr[-1])
    return Grams(indptr, hashes[:used], values[:used])


_Named = tuple[list[str], Ints, Ints, Floats, Ints]
"""Strings; for each feature the number of its name and of its word (-1: none), and its weight; where each item ends."""


def _any_features(items: Sequence[Mapping[str, Any]], first: int, binary: bool) -> _Named:
    strings: dict[str, int] = {}
    names: list[int] = []
    words: list[int] = []
    weights: list[float] = []
    indptr = np.zeros(len(items) + 1, np.int64)
    for number, item in enumerate(items):
        for name, word, weight in features(item, first + number, binary):
            names.append(strings.setdefault(name, len(strings)))
            words.append(-1 if word is None else strings.setdefault(word, len(strings)))
            weights.append(weight)
        indptr[number + 1] = len(names)
    heads, tails = np.array(names, np.int64), np.array(words, np.int64)
    return list(strings), heads, tails, np.array(weights, np.float64), indptr


def hash_vector(vector: SparseRows, *, seed: int = 0) -> Grams:
    """The non-zeros of one vector as features named by their positions."""
    hashes = np.empty(vector.indices.size, np.uint64)
    positions = np.arange(hashes.size)
    begin = starts(seed)[POSITION]
    kernel.named(positions, np.full(hashes.size, -1), vector.indices.astype(np.uint64), begin, begin, hashes)
    return Grams(vector.indptr.copy(), hashes, vector.data.copy())
