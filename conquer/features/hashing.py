"""Signed, seeded hashing of n-grams and named features: any feature gets a column without a vocabulary.

A string has a 64-bit key. A feature is a short sequence of keys (an n-gram's words; a name; a name and its value) and
its hash is their seeded combination: the upper half picks the column, the lowest bit the sign, so that collisions
cancel on average and inner products are unbiased over seeds. The functions on single features are plain Python and say
what a hash is; those on whole batches are compiled and must give the same.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conquer.features.abbreviations import ABBREVIATIONS, ENDINGS
from conquer.features.text import classes, prepared
from conquer.kernels.text import hashing as kernel
from conquer.kernels.text import scanner
from conquer.rows import SparseRows
from conquer.tickets import mixed, word
from conquer.types import Floats, Ints

TEXT, NUMBER, CATEGORY, POSITION, PAIR = range(5)
"""What a feature is, part of its hash: the word "price" in a text is not the number named price."""

_MASK = 2**64 - 1

Hashes = NDArray[np.uint64]
Entries = tuple[Ints, NDArray[np.int32], Floats]
"""Sparse rows in the making: indptr, indices, data, no column twice in a row."""

_CHUNK = 2**18
"""Code points hashed at a time: what one pass leaves for the next stays in the cache."""
_FEW = 2**14
"""Entries for which finding the longest row would cost more than a table for all of them."""


def string_key(text: str) -> int:
    """The 64-bit key of a string, the same in every process and on every machine.

    >>> hex(string_key("good"))
    '0x51c9da80546b6f57'
    """
    key = int(kernel.EMPTY)
    for sign in text:
        key = ((key ^ ord(sign)) * int(kernel.SPREAD)) & _MASK
        key ^= key >> 32
    return key


def start(seed: int, kind: int) -> int:
    """The state from which the hashes of one kind of feature begin under a seed."""
    return word(seed, kind + 1)


@functools.lru_cache(maxsize=64)
def starts(seed: int) -> tuple[np.uint64, ...]:
    """`start` for every kind, as the kernels take it."""
    return tuple(np.uint64(start(seed, kind)) for kind in range(PAIR + 1))


def feature_hash(keys: Iterable[int], seed: int = 0, kind: int = TEXT) -> int:
    """The hash of a feature given its strings' keys, in plain Python: what the compiled path must equal.

    >>> feature_hash([string_key("not"), string_key("good")]) != feature_hash([string_key("good"), string_key("not")])
    True
    """
    state = start(seed, kind)
    for key in keys:
        state = mixed(state ^ key)
    return state


def signed_column(hashed: int, dim: int) -> tuple[int, int]:
    """The column in [0, dim) and the sign of a hash.

    >>> signed_column(2**63 + 1, dim=10), signed_column(0, dim=10)
    ((5, 1), (0, -1))
    """
    return (hashed >> 32) * dim >> 32, 1 if hashed & 1 else -1


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """Hashed features of K items before they have columns; row i is entries indptr[i] to indptr[i + 1], distinct."""

    indptr: Ints
    hashes: Hashes
    weights: Floats

    def __len__(self) -> int:
        return self.indptr.size - 1


NOTHING = Grams(np.zeros(1, np.int64), np.empty(0, np.uint64), np.empty(0))
"""The features of no item."""


@functools.cache
def _lexicon() -> tuple[Hashes, Hashes]:
    """The abbreviations and the endings as the scanner takes them."""
    most = max(len(words.split(" ")) for words in ABBREVIATIONS.values())
    table = np.zeros((1024, 2 + most), np.uint64)
    for short, words in ABBREVIATIONS.items():
        row = [string_key(word) for word in words.split(" ")]
        key = string_key(short)
        slot = (key >> 40) % len(table)
        while table[slot, 0]:
            slot = (slot + 1) % len(table)
        table[slot, : 2 + len(row)] = [key, len(row), *row]
    return table, np.array([string_key(word) for word in (*ENDINGS.values(), "t")], np.uint64)


def code_points(texts: Sequence[str]) -> tuple[NDArray[np.uint32], Ints, bool]:
    """All code points, where each text ends among them, and whether all are ASCII."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    whole = "".join(texts)
    return np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), "<u4"), ends, whole.isascii()


def table(entries: int) -> NDArray[np.int32]:
    """A table for the kernels that so many entries fill at most by half."""
    return np.empty(1 << max(2, (2 * entries - 1).bit_length()), np.int32)


def scratch(indptr: Ints, times: int = 1) -> NDArray[np.int32]:
    """A table for the kernels that holds `times` the entries of any of these rows."""
    total = int(indptr[-1])
    return table(times * (total if total < _FEW else int(np.diff(indptr).max())))


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    """The prepared texts in groups of about equal size."""
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(prepared(text))
        size += len(group[-1])
        if size >= _CHUNK:
            yield group
            group, size = [], 0
    if group:
        yield group


def _text_grams(texts: Sequence[str], low: int, high: int, seed: int, binary: bool) -> Grams:
    codes, ends, plain = code_points(texts)
    lexicon, endings = _lexicon()
    keys = np.empty(codes.size, np.uint64)
    key_ends = np.empty(len(texts), np.int64)
    scanner.tokenise(codes, ends, _ascii_classes() if plain else classes(), lexicon, endings, keys, key_ends)
    indptr = np.empty(len(texts) + 1, np.int64)
    hashes = np.empty((high - low + 1) * int(key_ends[-1]), np.uint64)
    kernel.ngrams(keys, key_ends, low, high, starts(seed)[TEXT], indptr, hashes)
    weights = np.ones(int(indptr[-1]))
    kernel.distinct(indptr, hashes, weights, binary, scratch(indptr))
    return Grams(indptr, hashes[: indptr[-1]], weights[: indptr[-1]])


@functools.cache
def _ascii_classes() -> NDArray[np.uint8]:
    # Most texts are ASCII; the table of all code points costs tens of milliseconds to build.
    signs = map(chr, range(128))
    kinds = [scanner.WORD if c.isalnum() else scanner.SPACE if c.isspace() else scanner.BREAK for c in signs]
    return np.array(kinds, np.uint8)


def hash_texts(texts: Sequence[str], *, ngrams: tuple[int, int] = (1, 2), seed: int = 0, binary: bool = False) -> Grams:
    """The distinct n-grams of each text, normalised, with their counts (`binary`: 1), in order of first occurrence.

    >>> hash_texts(["so so good", ""]).weights.tolist()
    [2.0, 1.0, 1.0, 1.0]
    """
    low, high = ngrams
    return joined([_text_grams(group, low, high, seed, binary) for group in _chunks(texts)])


def joined(parts: Sequence[Grams]) -> Grams:
    """The items of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return NOTHING
    offsets = np.cumsum([0] + [part.hashes.size for part in parts])
    starts = [part.indptr[:-1] + offset for part, offset in zip(parts, offsets, strict=False)]
    return Grams(
        np.concatenate([*starts, offsets[-1:]]),
        np.concatenate([part.hashes for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


def hashed_rows(grams: Grams, dim: int, context: Grams | None, *, seed: int, unit: bool) -> tuple[SparseRows, int]:
    """`hashed`, `cross` and scaling to length 1 in one call: the rows, and the number of entries before `cross`."""
    other = NOTHING if context is None else context
    times = 1 + other.hashes.size
    size = grams.hashes.size * times
    indptr, indices, data = np.empty(grams.indptr.size, np.int64), np.empty(size, np.int32), np.empty(size)
    entries = kernel.hashed_rows(
        grams.indptr, grams.hashes, grams.weights, dim, context is not None, starts(seed)[PAIR],
        other.hashes, other.weights, unit, scratch(grams.indptr, times), indptr, indices, data,
    )  # fmt: skip
    if entries < 0:  # something is not finite: the checks say where
        used = int(indptr[-1])
        return SparseRows(indptr, indices[:used], data[:used], dim), entries
    return SparseRows.made(indptr, indices, data, dim), entries


def hashed(grams: Grams, dim: int) -> Entries:
    """The entries of K rows of dimension `dim`: each feature adds its weight, with its sign, to its column."""
    indptr = np.empty_like(grams.indptr)
    indices = np.empty(grams.hashes.size, np.int32)
    data = np.empty(grams.hashes.size)
    kernel.columns(grams.indptr, grams.hashes, grams.weights, dim, scratch(grams.indptr), indptr, indices, data)
    return indptr, indices[: indptr[-1]], data[: indptr[-1]]
