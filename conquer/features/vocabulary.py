"""Fitted columns: the features of a vocabulary, the most frequent first, and rows weighed by the rarity of columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conquer.features.hashing import Entries, Grams, Hashes, hash_texts, hashed
from conquer.kernels import features as kernels
from conquer.rows import SparseRows, read_only
from conquer.types import Floats, Ints

Kind = Literal["binary", "counts", "tfidf", "idf"]


@dataclass(frozen=True, slots=True)
class Weighing:
    """How a kind weighs a count: as 1 if `presence`, times the rarity of its column if `rarity`."""

    presence: bool
    rarity: bool


KINDS: dict[Kind, Weighing] = {
    "binary": Weighing(presence=True, rarity=False),
    "counts": Weighing(presence=False, rarity=False),
    "tfidf": Weighing(presence=False, rarity=True),
    "idf": Weighing(presence=True, rarity=True),
}


def checked_kind(kind: Kind) -> Kind:
    """`kind`, or a ValueError that names the four."""
    if kind not in tuple(KINDS):  # a value from a file may not be hashable
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return kind


def _slots(entries: int) -> NDArray[np.int32]:
    """An empty hash table, at most half full with `entries` entries."""
    return np.full(1 << max(3, (2 * entries).bit_length()), -1, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The features that have a column: `keys` (V,) are their 64-bit hashes in column order.

    Frequent features come first, so the part of a model that is read most often is small and stays in the cache. Two
    features with one hash would share a column; among ten million features the chance of any such pair is 3 in a
    million.
    """

    keys: Hashes
    slots: NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        keys, slots = read_only(np.array(self.keys, np.uint64)), _slots(len(self.keys))
        repeated = kernels.number_keys(keys, slots)
        if repeated >= 0:
            raise ValueError(f"a vocabulary must hold each feature once, got entry {repeated} a second time")
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "slots", slots)

    def __len__(self) -> int:
        return self.keys.size

    def column(self, hashed: int) -> int | None:
        """The column of a feature's hash, or None."""
        found = np.flatnonzero(self.keys == np.uint64(hashed))
        return int(found[0]) if found.size else None

    def entries(self, grams: Grams) -> Entries:
        """The features of each item that have a column, in the item's order."""
        indptr = np.empty_like(grams.indptr)
        indices = np.empty(grams.hashes.size, np.int32)
        data = np.empty(grams.hashes.size)
        kernels.look_up(grams.indptr, grams.hashes, grams.weights, self.keys, self.slots, indptr, indices, data)
        return indptr, indices[: indptr[-1]], data[: indptr[-1]]


class FeatureCounts:
    """The features of items that are added in pieces, in order of first occurrence, and how many items each is in.

    `most`: distinct features that are counted; more are a ValueError.
    """

    def __init__(self, most: int | None = None) -> None:
        self.count, self._most = 0, most
        self._keys, self._frequency, self._slots = np.empty(0, np.uint64), np.zeros(0, np.int64), _slots(0)

    @property
    def keys(self) -> Hashes:
        return self._keys[: self.count]

    @property
    def frequency(self) -> Ints:
        return self._frequency[: self.count]

    def add(self, hashes: Hashes) -> NDArray[np.int32]:
        """Count the hashes of some items, distinct within each; returns the number of each hash."""
        size = self.count + hashes.size
        if size > self._keys.size:
            size = max(size, 3 * self._keys.size // 2)
            keys, frequency = np.empty(size, np.uint64), np.zeros(size, np.int64)
            keys[: self.count], frequency[: self.count] = self.keys, self.frequency
            self._keys, self._frequency, self._slots = keys, frequency, _slots(size)
            kernels.number_keys(self.keys, self._slots)
        ids = np.empty(hashes.size, np.int32)
        self.count = kernels.intern(hashes, self._keys, self._frequency, self._slots, ids, self.count)
        if self._most is not None and self.count > self._most:
            raise ValueError(f"the items have more than {self._most:,} distinct features: use columns='hashing'")
        return ids


def tabulate(texts: Sequence[str], *, ngrams: tuple[int, int] = (1, 2), seed: int = 0) -> tuple[Vocabulary, SparseRows]:
    """Every n-gram of the texts as a column, and the texts as rows of counts for `restrict`.

    >>> vocabulary, rows = tabulate(["good good food", "bad food"], ngrams=(1, 1))
    >>> len(vocabulary), rows.dense().tolist()
    (3, [[1.0, 2.0, 0.0], [1.0, 0.0, 1.0]])
    """
    grams = hash_texts(texts, ngrams=ngrams, seed=seed)
    counts = FeatureCounts()
    ids = counts.add(grams.hashes)
    order = np.argsort(-counts.frequency, kind="stable")
    column = np.empty(order.size, np.int32)
    column[order] = np.arange(order.size, dtype=np.int32)
    return Vocabulary(counts.keys[order]), SparseRows(grams.indptr, column[ids], grams.weights, max(1, order.size))


def rarity(frequency: Ints, documents: int) -> Floats:
    """The weight of each column by its document frequency: ln((1 + documents)/(1 + frequency)) + 1, at least 1.

    >>> rarity(np.array([3, 1]), documents=3).round(3).tolist()
    [1.0, 1.693]
    """
    return np.asarray(np.log((1.0 + documents) / (1.0 + frequency)) + 1.0, np.float64)


def restrict(rows: SparseRows, train_rows: ArrayLike, kind: Kind = "tfidf", *, unit: bool = True) -> SparseRows:
    """All `rows` (counts) with the columns and rarities of `train_rows`, which are row numbers.

    Columns that no training row has are dropped, rarity comes from the training rows alone, and rows are scaled to
    length 1; a row without a column left is empty. Entry order and dimension are kept.

    >>> X = SparseRows([0, 2, 4], [0, 1, 0, 2], [1.0, 2.0, 1.0, 5.0], dim=3)
    >>> restrict(X, [0], "binary").dense().round(3).tolist()
    [[0.707, 0.707, 0.0], [1.0, 0.0, 0.0]]
    """
    weighing = KINDS[checked_kind(kind)]
    train = rows.take(train_rows)
    frequency = np.zeros(rows.dim, np.int64)
    kernels.frequencies(train.indptr, train.indices, train.rows, frequency)
    size = int((rows.indptr[rows.rows + 1] - rows.indptr[rows.rows]).sum())
    indptr, indices, data = np.empty(len(rows) + 1, np.int64), np.empty(size, np.int32), np.empty(size)
    options = rows.rows, weighing.presence, weighing.rarity, frequency, rarity(frequency, len(train))
    kernels.reweigh(rows.indptr, rows.indices, rows.data, *options, indptr, indices, data)
    if unit:
        kernels.to_unit(indptr, data)
    return SparseRows(indptr, indices[: indptr[-1]], data[: indptr[-1]], rows.dim)


@dataclass(frozen=True, slots=True, eq=False)
class FittedColumns:
    """The result of fitting: the vocabulary (None: hashed columns) and the rarity of columns (None: not weighed)."""

    vocabulary: Vocabulary | None = None
    idf: Floats | None = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """`keys` of a vocabulary and `idf`, whichever there are."""
        found = {"keys": None if self.vocabulary is None else self.vocabulary.keys, "idf": self.idf}
        return {name: array for name, array in found.items() if array is not None}


def fit_columns(
    pieces: Iterable[Grams], *, kind: Kind, vocabulary: bool, dim: int, least: int, most: int | None = None
) -> FittedColumns:
    """The columns of the items in these pieces: with `vocabulary` the `dim` most frequent features.

    A feature is in at least `least` items; ties are in order of first occurrence. `most`: see `FeatureCounts`.

    >>> fitted = fit_columns([hash_texts(["good food", "bad food"], ngrams=(1, 1))], kind="binary", vocabulary=True,
    ...                      dim=2, least=1)
    >>> fitted.vocabulary.entries(hash_texts(["bad good food"], ngrams=(1, 1)))[1].tolist()    # food is column 0
    [1, 0]
    """
    weighed, documents = KINDS[kind].rarity, 0
    counts, frequency = FeatureCounts(most), np.zeros(dim if weighed and not vocabulary else 0, np.int64)
    for grams in pieces:
        documents += len(grams)
        if vocabulary:
            counts.add(grams.hashes)
        elif weighed:
            np.add.at(frequency, hashed(grams, dim)[1], 1)
    known = None
    if vocabulary:
        order = np.argsort(-counts.frequency, kind="stable")[:dim]
        order = order[counts.frequency[order] >= least]
        known, frequency = Vocabulary(counts.keys[order]), counts.frequency[order]
    return FittedColumns(known, rarity(frequency, documents) if weighed else None)


def read_fitted(arrays: Mapping[str, NDArray[Any]], *, kind: Kind, vocabulary: bool, dim: int) -> FittedColumns:
    """The inverse of `FittedColumns.arrays`; a ValueError if the arrays do not fit these settings."""
    wanted = ["keys"] * vocabulary + ["idf"] * KINDS[kind].rarity
    if sorted(arrays) != sorted(wanted):
        raise ValueError(f"a fitted featurizer of these settings has arrays {wanted}, got {sorted(arrays)}")
    size, known, idf = dim, None, None
    if "keys" in wanted:
        keys = arrays["keys"]
        if keys.dtype != np.uint64 or keys.ndim != 1 or keys.size > dim:
            raise ValueError(f"keys must be at most {dim} uint64, got {keys.dtype} of shape {keys.shape}")
        known = Vocabulary(keys)
        size = len(known)
    if "idf" in wanted:
        idf = arrays["idf"]
        if idf.dtype != np.float64 or idf.shape != (size,) or not np.isfinite(idf).all():
            raise ValueError(f"idf must be {size} finite float64, got {idf.dtype} of shape {idf.shape}")
    return FittedColumns(known, idf)
