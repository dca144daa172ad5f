"""What a featurizer can be set to, and the checks of it."""

from typing import Any, Literal, get_args

from conquer.features.kinds import checked_kind

Columns = Literal["hashing", "vocabulary"]
Products = Literal["all", "matching"]
_LONGEST_NGRAM = 8


def check_words(kind: Any, columns: Any, ngrams: Any, least: Any) -> None:
    """A ValueError or TypeError where texts and dicts cannot be read so.

    >>> check_words("binary", "hashing", (1, 9), 1)
    Traceback (most recent call last):
    ValueError: ngrams must rise within 1 and 8, got (1, 9)
    """
    checked_kind(kind)
    if columns not in get_args(Columns):
        raise ValueError(f"columns must be one of {', '.join(get_args(Columns))}, got {columns!r}")
    if not (isinstance(ngrams, tuple) and len(ngrams) == 2 and all(map(_is_whole, ngrams))):
        raise TypeError(f"ngrams must be a tuple (shortest, longest), got {ngrams!r}")
    if not 1 <= ngrams[0] <= ngrams[1] <= _LONGEST_NGRAM:
        raise ValueError(f"ngrams must rise within 1 and {_LONGEST_NGRAM}, got {ngrams}")
    if not _is_whole(least) or least < 1:
        raise ValueError(f"least must be a whole number from 1, got {least!r}")


def check_rows(unit: Any, seed: Any, products: Any) -> None:
    """The same for what is made of them.

    >>> check_rows(True, -1, "all")
    Traceback (most recent call last):
    ValueError: seed must be a whole number in [0, 2**64), got -1
    """
    if not isinstance(unit, bool):
        raise TypeError(f"unit must be True or False, got {unit!r}")
    if not _is_whole(seed) or not 0 <= seed < 2**64:
        raise ValueError(f"seed must be a whole number in [0, 2**64), got {seed!r}")
    if products not in get_args(Products):
        raise ValueError(f"products must be one of {', '.join(get_args(Products))}, got {products!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
