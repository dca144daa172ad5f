"""Splits: balanced stars, a development part fixed by content, reshuffled training and test parts."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conquer.tickets import stream
from conquer.types import Floats, Ints

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Positions of the reviews of each part, ascending; together they are every review once."""

    development: Ints
    training: Ints
    test: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """A split of the development part: learn on one piece, evaluate on the other."""

    learning: Ints
    evaluation: Ints


def content_hashes(contents: Iterable[bytes]) -> Hashes:
    """One 64-bit hash per item of content, (N,): equal contents have equal hashes."""
    digests = b"".join(hashlib.blake2b(content, digest_size=8).digest() for content in contents)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def balanced(stars: Floats, hashes: Hashes) -> Ints:
    """Ascending positions of equally many reviews of every star that occurs, those with the lowest hashes.

    >>> balanced(np.array([5.0, 5.0, 1.0, 5.0]), np.array([9, 3, 4, 7], np.uint64)).tolist()
    [1, 2]
    """
    if stars.size == 0:
        raise ValueError("there are no reviews to balance")
    values, counts = np.unique(stars, return_counts=True)
    order = np.lexsort((np.arange(stars.size), hashes))
    kept = [order[stars[order] == value][: counts.min()] for value in values]
    return np.sort(np.concatenate(kept)).astype(np.int64)


def development(stars: Floats, hashes: Hashes, share: float) -> Ints:
    """Positions of the development part: of every star, the `share` of reviews whose hashes come first.

    It depends on the contents alone, so that tuning never sees a test review.

    >>> development(np.ones(20), np.arange(20, dtype=np.uint64), 0.15).tolist()
    [0, 1, 2]
    """
    order = np.lexsort((np.arange(stars.size), hashes))
    chosen = []
    for value in np.unique(stars):
        same = order[stars[order] == value]
        chosen.append(same[: round(share * same.size)])
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def repetition(size: int, development: Ints, number: int, seed: int, name: str, test: float) -> Parts:
    """Parts of repetition `number`: all but `development` is shuffled into test (a share `test` of all) and training.

    >>> parts = repetition(20, np.arange(3), 0, seed=0, name="books", test=0.1)
    >>> parts.development.size, parts.training.size, parts.test.size
    (3, 15, 2)
    """
    rest = np.setdiff1d(np.arange(size, dtype=np.int64), development)
    shuffled = np.random.default_rng(stream("split", seed, name, number)).permutation(rest)
    count = round(test * size)
    if not 0 < count < rest.size:
        raise ValueError(f"{name}: {size} reviews are too few to split into development, training and test parts")
    return Parts(development, np.sort(shuffled[count:]), np.sort(shuffled[:count]))


def folds(development: Ints, name: str, seed: int, ways: int = 3) -> tuple[Fold, ...]:
    """The development part in thirds, two to learn on and one to evaluate on, `ways` times; shuffled again every three.

    >>> [(f.learning.size, f.evaluation.size) for f in folds(np.arange(9), "books", seed=0)]
    [(6, 3), (6, 3), (6, 3)]
    """
    found = []
    for way in range(ways):
        shuffled = np.random.default_rng(stream("folds", seed, name, way // 3)).permutation(development)
        thirds = np.array_split(shuffled, 3)
        rest = np.concatenate([third for i, third in enumerate(thirds) if i != way % 3])
        found.append(Fold(np.sort(rest), np.sort(thirds[way % 3])))
    return tuple(found)
