"""Signed, seeded hashing: names, words and n-grams get columns without a vocabulary.

A string has a 64-bit key. A feature is a short sequence of keys (the words of an n-gram; a name; a name and its value)
and its hash is their seeded combination: the upper half selects the column, the lowest bit the sign, so that
collisions cancel on average and inner products are unbiased over seeds. `string_key`, `feature_hash` and
`signed_column` define this in plain Python; the kernels compute the same for many features at once. Hashes of strings
that came before are looked up in a memo.
"""

import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from numbers import Real
from operator import methodcaller
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from conquer.features.text import chunk_tokens, chunks
from conquer.kernels import features as kernels
from conquer.rows import SparseRows
from conquer.tickets import mixed, word
from conquer.types import Floats, Ints

TEXT, NUMBER, CATEGORY, POSITION, PAIR = range(5)
"""The kind of a feature, part of its hash: the word "price" in a text is not the number named price."""
MOST_PRODUCTS = 2**24
"""Products of items and context in one round, about 200 MB."""

Hashes = NDArray[np.uint64]
Entries = tuple[Ints, NDArray[np.int32], Floats]
"""Sparse rows under construction: indptr, indices, data, no column twice in a row."""
Feature = str | tuple[object, str, str]
"""A named feature: the name of a number, or (WORD, name, word)."""
WORD = object()
"""Marks a name with a word, so that no key of a dict is mistaken for one."""

_MASK = 2**64 - 1
_BYTES = 8
"""Bytes of a hash."""
_NUMBERS = frozenset((float, int, bool))
"""Types that are numbers without a check of abstract classes, which takes longer than the rest of the reading."""
_VALUES = methodcaller("values")


def string_key(text: str) -> int:
    """The 64-bit key of a string, the same in every process and on every machine.

    >>> hex(string_key("good"))
    '0x51c9da80546b6f57'
    """
    key = int(kernels.EMPTY)
    for sign in text:
        key = ((key ^ ord(sign)) * int(kernels.SPREAD)) & _MASK
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
    """The hash of a feature given the keys of its strings.

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


Name = TypeVar("Name", bound=Feature)


class Memo(dict[Name, bytes]):
    """Hashes of names seen before, as bytes: a cache of bounded size, not part of any saved state.

    `hash_all` computes the hashes of names that are not in the memo. A full memo is emptied, and long names are not
    kept, so it holds at most about 50 MB whatever the names are. Threads may share it: each step is one operation on a
    dict, and a name that another thread has dropped meanwhile is hashed again.

    >>> memo = Memo(lambda names: [name.encode() for name in names])
    >>> memo.read(["good", "tea", "good"]), memo["tea"]
    (b'goodteagood', b'tea')
    """

    MOST, LONGEST = 2**16, 40
    """Names that are kept, and the characters of one."""

    def __init__(self, hash_all: Callable[[list[Name]], list[bytes]]) -> None:
        super().__init__()
        self._hash_all = hash_all

    def read(self, *groups: Collection[Name]) -> bytes:
        """The hashes of the names in these groups, joined."""
        try:
            return b"".join(map(self.__getitem__, chain.from_iterable(groups)))
        except KeyError:
            names = [*chain.from_iterable(groups)]
            found = {name: hashed for name in names if (hashed := self.get(name)) is not None}
            missing = [name for name in dict.fromkeys(names) if name not in found]
            found.update(zip(missing, self._hash_all(missing), strict=True))
            if len(self) + len(missing) > self.MOST:
                self.clear()
            self.update({name: found[name] for name in missing[: self.MOST] if _length(name) <= self.LONGEST})
            return b"".join(map(found.__getitem__, names))


def _length(name: Feature) -> int:
    return len(name) if isinstance(name, str) else len(name[1]) + len(name[2])


def _keys(strings: Sequence[str]) -> Hashes:
    """The key of each string."""
    ends = np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)))
    codes = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), "<u4")
    keys = np.empty(len(strings), np.uint64)
    kernels.string_keys(codes, ends, keys)
    return keys


def _chunk_keys(missing: list[str]) -> list[bytes]:
    """The keys of the tokens of each chunk of text."""
    tokens = [chunk_tokens(chunk) for chunk in missing]
    ends = np.cumsum([0, *map(len, tokens)]) * _BYTES
    keys = _keys([token for some in tokens for token in some]).tobytes()
    return [keys[first:last] for first, last in pairwise(ends.tolist())]


_chunk_memo: Memo[str] = Memo(_chunk_keys)


@functools.lru_cache(maxsize=4)
def _feature_memo(seed: int) -> Memo[Feature]:
    """The hashes of named features under a seed."""

    def hash_all(missing: list[Feature]) -> list[bytes]:
        strings: dict[str, int] = {}
        names, words = np.empty(len(missing), np.int64), np.full(len(missing), -1)
        for place, feature in enumerate(missing):
            name: Any = feature
            if isinstance(feature, tuple) and feature[0] is WORD:
                name, words[place] = feature[1], strings.setdefault(feature[2], len(strings))
            names[place] = strings.setdefault(name, len(strings))
        hashes = np.empty(names.size, np.uint64)
        kernels.named(names, words, _keys(list(strings)), starts(seed)[NUMBER], starts(seed)[CATEGORY], hashes)
        return [hashed.tobytes() for hashed in hashes]

    return Memo(hash_all)


@dataclass(slots=True, eq=False)
class Grams:
    """Hashed features of K items before they have columns; row i is entries indptr[i] to indptr[i + 1], distinct."""

    indptr: Ints
    hashes: Hashes
    weights: Floats

    def __len__(self) -> int:
        return self.indptr.size - 1


def hash_texts(texts: Sequence[str], *, ngrams: tuple[int, int] = (1, 2), seed: int = 0, binary: bool = False) -> Grams:
    """The distinct n-grams of each text, normalised, with their counts (`binary`: 1), in order of first occurrence.

    >>> hash_texts(["so so good", ""]).weights.tolist()
    [2.0, 1.0, 1.0, 1.0]
    """
    low, high = ngrams
    found = [_chunk_memo.read(chunks(text)) for text in texts]
    ends = np.cumsum(np.fromiter(map(len, found), np.int64, len(found))) // _BYTES
    keys = np.frombuffer(b"".join(found), np.uint64)
    indptr = np.empty(len(texts) + 1, np.int64)
    hashes = np.empty((high - low + 1) * keys.size, np.uint64)
    kernels.ngrams(keys, ends, low, high, starts(seed)[TEXT], indptr, hashes)
    weights = np.ones(int(indptr[-1]))
    used = kernels.distinct(indptr, hashes, weights, binary)
    return Grams(indptr, hashes[:used], weights[:used])


def named_features(item: Mapping[str, Any], number: int = 0, binary: bool = False) -> Iterator[tuple[Feature, float]]:
    """(feature, weight) of each feature of a dict; `number` is its place among the items, -1 a context, for errors.

    A number weighs itself under its name, a word 1 under name and word. A bool is the number 1 or 0, a list of words is
    one feature per word, None and 0 are no feature. With `binary` a word repeated in a list counts once.

    >>> found = named_features({"price": 3.5, "brand": "x", "tags": ["a", "b"], "new": True})
    >>> [(feature if type(feature) is str else feature[1:], weight) for feature, weight in found]
    [('price', 3.5), (('brand', 'x'), 1.0), (('tags', 'a'), 1.0), (('tags', 'b'), 1.0), ('new', 1.0)]
    """
    for name, value in item.items():
        if not isinstance(name, str):
            raise TypeError(f"{_place(number)}: feature names must be str, got {name!r}")
        if isinstance(value, str):
            yield (WORD, name, value), 1.0
        elif type(value) in _NUMBERS or isinstance(value, Real | np.bool_):
            if weight := _finite(value, name, number):
                yield name, weight
        elif isinstance(value, list | tuple | set | frozenset) and all(isinstance(each, str) for each in value):
            for each in dict.fromkeys(value) if binary else value:
                yield (WORD, name, each), 1.0
        elif value is not None:
            expected = "a number, a bool, a str, a list of str or None"
            raise TypeError(f"{_place(number)}: feature {name!r} must be {expected}, got {value!r:.80}")


def _place(number: int) -> str:
    return f"item {number}" if number >= 0 else "context"


def _finite(value: Any, name: str, number: int) -> float:
    try:
        weight = float(value)
    except OverflowError:
        weight = math.inf
    if not math.isfinite(weight):
        raise ValueError(f"{_place(number)}: feature {name!r} must be finite, got {value!r:.80}")
    return weight


def _only_numbers(items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all values are Python numbers: only then their sum is one, found in a third of the time of a check."""
    try:
        return type(sum(chain.from_iterable(map(_VALUES, items)))) in _NUMBERS
    except (TypeError, ValueError, ArithmeticError):
        return False


def hash_dicts(items: Sequence[Mapping[str, Any]], *, seed: int = 0, binary: bool = False, first: int = 0) -> Grams:
    """The `named_features` of each dict, in the order of their hashes. The order of names and words has no effect.

    `first` is the number of the first item in errors, -1 if it is the context.

    >>> sorted(hash_dicts([{"price": 3.5, "brand": "x", "tags": ["a", "b"], "new": False}]).weights.tolist())
    [1.0, 1.0, 1.0, 3.5]
    """
    names: list[Feature] = []
    values: list[float] = []
    ends, numbers = [0], _only_numbers(items)
    for number, item in enumerate(() if numbers else items, first):
        for name, value in item.items():
            kind = type(value)
            if kind is str or kind in _NUMBERS:
                names.append((WORD, name, value) if kind is str else name)
                values.append(1.0 if kind is str else value)
            else:
                for feature, weight in named_features({name: value}, number, binary):
                    names.append(feature)
                    values.append(weight)
        ends.append(len(names))
    if numbers:
        ends.extend(accumulate(map(len, items)))
    try:
        flat = chain.from_iterable(map(_VALUES, items)) if numbers else values
        indptr, weights = np.array(ends), np.fromiter(flat, np.float64, ends[-1])
        hashes = np.frombuffer(_feature_memo(seed).read(*(items if numbers else (names,))), np.uint64).copy()
        used, finite = kernels.in_order(indptr, hashes, weights)
    except (TypeError, OverflowError):
        finite = False
    if not finite:
        for number, item in enumerate(items, first):
            list(named_features(item, number))  # raises an error with the name of the feature
    return Grams(indptr, hashes[:used], weights[:used])


def hash_vector(vector: SparseRows, *, seed: int = 0) -> Grams:
    """The non-zeros of one vector as features named by their positions."""
    hashes = np.empty(vector.indices.size, np.uint64)
    positions = np.arange(hashes.size)
    begin = starts(seed)[POSITION]
    kernels.named(positions, np.full(hashes.size, -1), vector.indices.astype(np.uint64), begin, begin, hashes)
    return Grams(vector.indptr.copy(), hashes, vector.data.copy())


def together(one: Grams, other: Grams) -> Grams:
    """The features of the same K items from two parts, each scaled to length 1, so that they weigh the same.

    >>> both = together(hash_dicts([{"a": 3.0, "b": 4.0}]), hash_dicts([{"brand": "x"}]))
    >>> sorted(both.weights.tolist())
    [0.6, 0.8, 1.0]
    """
    rows = [(part.indptr, part.hashes, scaled(part.indptr, part.weights)) for part in (one, other)]
    return Grams(*row_by_row(*rows))


def scaled(indptr: Ints, data: Floats) -> Floats:
    """A copy of the rows' values scaled to length 1; a row of zeros stays."""
    own = data.copy()
    kernels.to_unit(indptr, own)
    return own


def row_by_row(one: tuple[Ints, Any, Floats], other: tuple[Ints, Any, Floats]) -> tuple[Ints, Any, Floats]:
    """Rows with the entries of `one` followed by those of `other`."""
    indptr = one[0] + other[0]
    names, values = np.empty(int(indptr[-1]), one[1].dtype), np.empty(int(indptr[-1]))
    for (rising, part, data), ahead in ((one, other[0][:-1]), (other, one[0][1:])):
        places = np.arange(data.size) + np.repeat(ahead, np.diff(rising))
        names[places], values[places] = part, data
    return indptr, names, values


def hashed(grams: Grams, dim: int) -> Entries:
    """The entries of K rows of dimension `dim`: each feature adds its weight, with its sign, to its column."""
    size = grams.hashes.size
    indptr, indices, data = np.empty(len(grams) + 1, np.int64), np.empty(size, np.int32), np.empty(size)
    used = kernels.columns(grams.indptr, grams.hashes, grams.weights, dim, indptr, indices, data)
    return indptr, indices[:used], data[:used]


def cross(
    rows: Entries, context: Grams, dim: int, *, base: int = 0, seed: int = 0, most: int = MOST_PRODUCTS
) -> Entries:
    """The rows' own features, and their products with the context's in columns [base, dim), at most `most`.

    The same item may be right in one context and wrong in another. The context's own features are left out: they are
    equal for all items of a round and cancel in every difference of two items. Both factors are scaled to length 1
    first, so an item's own features weigh as much as its products. An empty context leaves the items' own features.

    >>> items = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2)
    >>> [cross(items, hash_dicts([{"time": time}]), 1000, base=2)[1].tolist() for time in ("day", "night")]
    [[0, 274, 1, 224], [0, 86, 1, 386]]
    """
    if len(context) != 1:
        raise ValueError(f"a round has one context, got {len(context)}")
    if base >= dim:
        raise ValueError(f"products with a context need columns of their own: dim must exceed {base}, got {dim}")
    rising, columns, own = rows
    products = columns.size * context.hashes.size
    if products > most:
        raise ValueError(
            f"{columns.size} features of items and {context.hashes.size} of their context give {products} products, "
            f"expected at most {most}"
        )
    size = columns.size + products
    indptr, indices, data = np.empty(rising.size, np.int64), np.empty(size, np.int32), np.empty(size)
    factors = starts(seed)[PAIR], context.hashes, context.weights
    used = kernels.crossed(rising, columns, own, *factors, base, dim, indptr, indices, data)
    return indptr, indices[:used], data[:used]
