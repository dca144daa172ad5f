"""The features of one item by name, for people who want to know which column is which."""

from collections.abc import Mapping
from typing import Any

from conquer.features.dicts import features
from conquer.features.hashing import CATEGORY, NUMBER, TEXT, feature_hash, string_key
from conquer.features.text import ngrams as runs
from conquer.features.text import tokens
from conquer.items import kind_and_items


def named_hashes(item: str | Mapping[str, Any], ngrams: tuple[int, int], seed: int) -> dict[str, int]:
    """The hash of each feature of a text or dict, by the feature's name.

    >>> list(named_hashes("good, so good", (1, 2), seed=0)), list(named_hashes({"brand": "x"}, (1, 1), seed=0))
    (['good', 'good so', 'so', 'so good'], ['brand=x'])
    """
    kind, _ = kind_and_items([item])
    if isinstance(item, str):
        names = {run: (TEXT, run.split(" ")) for run in runs(tokens(item), *ngrams)}
    elif kind == "dicts":
        found = list(features(item, 0, binary=True))
        names = {name: (NUMBER, [name]) for name, word, _ in found if word is None}
        names |= {f"{name}={word}": (CATEGORY, [name, word]) for name, word, _ in found if word is not None}
    else:
        raise TypeError(f"explain takes one text or dict, got {item!r:.80}")
    return {name: feature_hash(map(string_key, strings), seed, salt) for name, (salt, strings) in names.items()}
