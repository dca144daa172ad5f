"""Synthetic reviews up to the paper's size, so that the study runs anywhere without a download."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conquer.data.paper import DOMAINS
from conquer.kernels import synthetic_reviews as kernel
from conquer.rows import SparseRows
from conquer.types import Floats, Ints

_VOCABULARY, _COMMON = 150_000, 400
_LEXICON, _NEGATIONS, _PAIRS = 200, 3, 20
_WORDS = _VOCABULARY + 2 * _LEXICON + _NEGATIONS + 2 * _PAIRS
_DENIALS = ("not", "never", "hardly")
_MEDIAN_WORDS, _LENGTH_SPREAD, _SHORTEST, _LONGEST = 55.0, 0.6, 8, 400
_RATES = (0.18, 0.95, 0.25, 0.15, 0.25, 0.5)
_ZIPF = 1.15
_BIGRAM = 2**20


def _seed(*content: object) -> int:
    text = "\x1f".join(map(str, content)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Reviews as word numbers: review i is tokens[indptr[i]:indptr[i + 1]] and has stars[i] in 1..5."""

    domain: str
    indptr: Ints
    tokens: NDArray[np.int32]
    stars: Floats

    def __len__(self) -> int:
        return self.stars.size

    def text(self, i: int) -> str:
        """Review i in (invented) words."""
        return " ".join(map(word, self.tokens[self.indptr[i] : self.indptr[i + 1]].tolist()))

    def texts(self) -> Iterator[str]:
        """Every review in words, in order."""
        return map(self.text, range(len(self)))

    def ngrams(self) -> tuple[SparseRows, Ints]:
        """Counts of all unigrams and bigrams, (N, D), and each column's key: unigrams first, keys rising.

        A unigram's key is its word number; a bigram's is 2**20 * (first + 1) + second.

        >>> rows, keys = generate("books", 10).ngrams()
        >>> rows.dim == keys.size, rows.shape[0]
        (True, 10)
        """
        words, unigrams = np.unique(self.tokens, return_inverse=True)
        keys = (self.tokens[:-1].astype(np.int64) + 1) * _BIGRAM + self.tokens[1:]
        inside = np.ones(max(self.tokens.size - 1, 0), bool)
        inside[self.indptr[1:-1] - 1] = False
        pairs, inverse = np.unique(keys[inside], return_inverse=True)
        terms = np.full((self.tokens.size, 2), -1, np.int32)
        terms[:, 0] = unigrams
        terms[:-1, 1][inside] = inverse + words.size
        starts = np.empty(self.indptr.size, np.int64)
        ids, counts = np.empty(terms.size, np.int32), np.empty(terms.size)
        used = kernel.count_terms(self.indptr, terms, starts, ids, counts)
        ids, counts = ids[:used], counts[:used]
        columns = np.concatenate([words.astype(np.int64), pairs])
        return SparseRows(starts, ids, counts, columns.size), columns


def generate(domain: str, reviews: int, seed: int = 0) -> Documents:
    """`reviews` reviews of one domain, stars 1..5 in turn; a larger number only appends to a smaller one.

    >>> documents = generate("books", 10, seed=3)
    >>> documents.stars.tolist(), generate("books", 20, seed=3).text(9) == documents.text(9)
    ([1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 4.0, 5.0], True)
    """
    if domain not in DOMAINS:
        raise ValueError(f"unknown synthetic domain {domain!r}; the domains are {', '.join(DOMAINS)}")
    if reviews < 1:
        raise ValueError(f"reviews must be at least 1, got {reviews}")
    own, world = np.uint64(_seed("reviews", seed, domain)), np.uint64(_seed("world", seed))
    indptr = np.empty(reviews + 1, np.int64)
    kernel.lengths(own, reviews, _MEDIAN_WORDS, _LENGTH_SPREAD, _SHORTEST, _LONGEST, indptr)
    tokens = np.empty(indptr[-1], np.int32)
    stars = (np.arange(reviews) % 5 + 1).astype(np.float64)
    stride = 2 * (_seed("stride", domain) % 30_000) + 20_001
    while np.gcd(stride, _VOCABULARY - _COMMON) != 1:
        stride += 2
    shift = _seed("shift", domain) % (_VOCABULARY - _COMMON)
    cumulative = np.cumsum(1.0 / (np.arange(_VOCABULARY) + 3.0) ** _ZIPF)
    kernel.write(
        own, world, (stars - 3.0) / 2.0, indptr, cumulative, _COMMON, int(stride), int(shift),
        _LEXICON, _NEGATIONS, _PAIRS, _RATES, tokens,
    )  # fmt: skip
    return Documents(domain, indptr, tokens, stars)


def word(number: int) -> str:
    """The spelling of a word number: denials are English, everything else three invented syllables.

    >>> word(0), word(149_999), word(150_400)
    ('bababa', 'fucucu', 'not')
    """
    if not 0 <= number < _WORDS:
        raise ValueError(f"word numbers are in [0, {_WORDS}), got {number}")
    first_denial = _VOCABULARY + 2 * _LEXICON
    if first_denial <= number < first_denial + _NEGATIONS:
        return _DENIALS[number - first_denial]
    syllables = []
    for _ in range(3):
        number, rest = divmod(number, 100)
        syllables.append("bdfghjklmnprstvwxyzc"[rest // 5] + "aeiou"[rest % 5])
    return "".join(reversed(syllables))
