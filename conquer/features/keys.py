"""Signed, seeded hashing of n-grams and named features: any feature gets a column without a vocabulary.

A string has a 64-bit key. A feature is a short sequence of keys (an n-gram's words; a name; a name and its value) and
its hash is their seeded combination: the upper half picks the column, the lowest bit the sign, so that collisions
cancel on average and inner products are unbiased over seeds.
"""

from collections.abc import Iterable

from conquer.kernels.text.hashing import EMPTY, SPREAD

TEXT, NUMBER, CATEGORY, POSITION, PAIR = range(5)
"""What a feature is, part of its hash: the word "price" in a text is not the number named price."""

_MASK = 2**64 - 1


def string_key(text: str) -> int:
    """The 64-bit key of a string, the same in every process and on every machine.

    >>> hex(string_key("good"))
    '0x51c9da80546b6f57'
    """
    key = int(EMPTY)
    for sign in text:
        key = ((key ^ ord(sign)) * int(SPREAD)) & _MASK
        key ^= key >> 32
    return key


def _mixed(state: int) -> int:
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


def start(seed: int, kind: int) -> int:
    """The state from which the hashes of one kind of feature begin under a seed."""
    return _mixed((_mixed(seed) + (kind + 1) * 0x9E3779B97F4A7C15) & _MASK)


def feature_hash(keys: Iterable[int], seed: int = 0, kind: int = TEXT) -> int:
    """The hash of a feature given its strings' keys, in plain Python: what the compiled path must equal.

    >>> feature_hash([string_key("not"), string_key("good")]) != feature_hash([string_key("good"), string_key("not")])
    True
    """
    state = start(seed, kind)
    for key in keys:
        state = _mixed(state ^ key)
    return state


def signed_column(hashed: int, dim: int) -> tuple[int, int]:
    """The column in [0, dim) and the sign of a hash.

    >>> signed_column(2**63 + 1, dim=10), signed_column(0, dim=10)
    ((5, 1), (0, -1))
    """
    return (hashed >> 32) * dim >> 32, 1 if hashed & 1 else -1
