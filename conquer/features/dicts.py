"""Named features: dicts with numbers and words, and vectors whose names are positions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from conquer.features.hashing import CATEGORY, NUMBER, POSITION, Grams, code_points, joined, scratch, start
from conquer.kernels.text import hashing as kernel
from conquer.rows import SparseRows
from conquer.types import Floats, Ints

_PLAIN = {float, int}
"""Known to be numbers without asking their abstract class, which takes longer than all the rest."""


_GROUP = 1024
"""Dicts hashed at a time: what is needed for them meanwhile does not grow with the batch."""


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


def _numbers(item: Mapping[str, Any]) -> tuple[list[str], Floats] | None:
    """Sorted names and their values where all are plain numbers, finite and not 0; None for any other dict.

    The same as `features` for such a dict, without a step of Python for each name.
    """
    if not ({*map(type, item)} <= {str} and {*map(type, item.values())} <= _PLAIN):
        return None
    names = sorted(item)
    try:
        values = np.array([item[name] for name in names], np.float64)
    except OverflowError:
        return None
    return (names, values) if values.all() and np.isfinite(values).all() else None


def hash_dicts(items: Sequence[Mapping[str, Any]], *, seed: int = 0, binary: bool = False) -> Grams:
    """The features of each dict: a number weighs itself under its name, a word 1 under name and word.

    A bool is the number 1 or 0, a list of words is one feature per word, None is no feature. With `binary` a word that
    a list repeats counts once. The order of names, and of words in a list, does not matter.

    >>> hash_dicts([{"price": 3.5, "brand": "x", "tags": ["a", "b"], "new": True}]).weights.tolist()
    [1.0, 1.0, 3.5, 1.0, 1.0]
    """
    groups = range(0, max(1, len(items)), _GROUP)
    return joined([_group_grams(items[first : first + _GROUP], first, seed, binary) for first in groups])


def _group_grams(items: Sequence[Mapping[str, Any]], first: int, seed: int, binary: bool) -> Grams:
    strings, names, words, values, indptr = _all_numbers(items) or _any_features(items, first, binary)
    keys = np.empty(len(strings), np.uint64)
    codes, ends, _ = code_points(strings)
    kernel.string_keys(codes, ends, keys)
    hashes = np.empty(names.size, np.uint64)
    kernel.named(names, words, keys, np.uint64(start(seed, NUMBER)), np.uint64(start(seed, CATEGORY)), hashes)
    kernel.distinct(indptr, hashes, values, False, scratch(indptr))
    used = int(indptr[-1])
    return Grams(indptr, hashes[:used], values[:used])


_Named = tuple[list[str], Ints, Ints, Floats, Ints]
"""Strings; for each feature the number of its name and of its word (-1: none), and its weight; where each item ends."""


def _all_numbers(items: Sequence[Mapping[str, Any]]) -> _Named | None:
    """The features of dicts that all have only plain numbers; None for any others."""
    strings: list[str] = []
    weights = [np.empty(0)]
    indptr = np.zeros(len(items) + 1, np.int64)
    for number, item in enumerate(items):
        found = _numbers(item)
        if found is None:
            return None
        strings += found[0]
        weights.append(found[1])
        indptr[number + 1] = len(strings)
    count = len(strings)
    return strings, np.arange(count), np.full(count, -1), np.concatenate(weights), indptr


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
    begin = np.uint64(start(seed, POSITION))
    kernel.named(positions, np.full(hashes.size, -1), vector.indices.astype(np.uint64), begin, begin, hashes)
    return Grams(vector.indptr.copy(), hashes, vector.data.copy())
