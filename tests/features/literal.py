"""Featurising spelt out in plain Python, one feature at a time: what the compiled path must equal bit for bit."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from conquer.features.hashing import CATEGORY, NUMBER, TEXT, feature_hash, signed_column, string_key
from conquer.features.text import ngrams, tokens

Row = list[tuple[int, float]]

_PIECES = [
    *"<>/'.:;=()[]-_^&#!?|\\\" \n\tabdmnopstwx3é中の한ḉ\u200d\ufe0f\ud800\U0001f44d",
    *["<3", "</3", "<b>", "</p ", "<!-- x -->", "http://", "https://x", "ftp://", "www.", "www.a", "...", "…"],
    *["n't", "'s", "'ve", "'ll", "'re", "can't", "it's", "x's", "w/", "w/o", "b/c", "btw", "im", "asap", "u", "’s"],
    *[
        "&amp;",
        "&lt;",
        "&#39;",
        "&#x1F600;",
        "&#99999999;",
        "&nosuch;",
        ":-)",
        ";)",
        ":'(",
        ":d",
        ":p",
        "(:",
        "^_^",
        "-_-",
    ],
    *["food", "Good", "NOT", "İ", "ﬁ", "ς", "Σ", "ﷺ", "½", "हिन्दी", "\u00ad", "\U0001f3fb", "🇮🇳"],
]
texts = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join) | st.text(
    st.characters(exclude_categories=()), max_size=60
)
numbers = st.floats(-1e300, 1e300) | st.integers(-(10**6), 10**6) | st.booleans()
names = st.text(st.characters(exclude_categories=()), max_size=8)
dicts = st.dictionaries(names, numbers | names | st.lists(names, max_size=4) | st.none(), max_size=6)


def text_weights(text: str, low: int, high: int, seed: int, binary: bool) -> dict[int, float]:
    """hash -> count of a text's n-grams in order of first occurrence."""
    weights: dict[int, float] = {}
    for run in ngrams(tokens(text), low, high):
        hashed = feature_hash([string_key(word) for word in run.split(" ")], seed, TEXT)
        weights[hashed] = 1.0 if binary else weights.get(hashed, 0.0) + 1.0
    return weights


def dict_weights(item: Mapping[str, Any], seed: int, binary: bool) -> dict[int, float]:
    """hash -> weight of a dict's features, in the order of the hashes."""
    weights: dict[int, float] = {}
    for name, value in sorted(item.items()):
        if value is None:
            continue
        if isinstance(value, str | list):
            for word in sorted([value] if isinstance(value, str) else value):
                hashed = feature_hash([string_key(name), string_key(word)], seed, CATEGORY)
                weights[hashed] = 1.0 if binary else weights.get(hashed, 0.0) + 1.0
        elif float(value) != 0.0:
            weights[feature_hash([string_key(name)], seed, NUMBER)] = float(value)
    return dict(sorted(weights.items()))


def hashed_row(weights: Mapping[int, float], dim: int) -> Row:
    """(column, value) in order of first occurrence; values that cancel are left out."""
    row: dict[int, float] = {}
    for hashed, weight in weights.items():
        column, sign = signed_column(hashed, dim)
        row[column] = row[column] + sign * weight if column in row else sign * weight
    return [(column, value) for column, value in row.items() if value != 0.0]


def unit(row: Row) -> Row:
    """The row divided by its Euclidean length, by its largest value first where squares leave the range."""
    squares = _squares(value for _, value in row)
    if not 1e-200 < squares < 1e200:
        largest = max((abs(value) for _, value in row), default=0.0)
        if largest == 0.0:
            return row
        row = [(column, value / largest) for column, value in row]
        squares = _squares(value for _, value in row)
    return [(column, value / math.sqrt(squares)) for column, value in row]


def _squares(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value * value
    return total


def read(rows: Any) -> Sequence[Row]:
    """The rows of a SparseRows as lists of (column, value)."""
    packed = rows.packed()
    return [
        list(zip(packed.indices[first:last].tolist(), packed.data[first:last].tolist(), strict=True))
        for first, last in zip(packed.indptr[:-1], packed.indptr[1:], strict=True)
    ]
