import gzip
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from features.literal import dict_weights, dicts, hashed_row, names, numbers, read, text_weights, texts, unit
from hypothesis import given
from hypothesis import strategies as st

from conquer.features import hashing
from conquer.features.featurizer import Featurizer
from conquer.features.hashing import feature_hash, hash_dicts, hash_texts, hashed, signed_column, string_key


def _compiled(items: Any, **settings: Any) -> Any:
    return read(Featurizer(**settings)(items))


@given(
    st.lists(texts, min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(0, 2**64 - 1),
    st.sampled_from([1, 7, 1000, 2**20, 2**31 - 1]),
    st.sampled_from(["binary", "counts"]),
)
def test_compiled_texts_equal_the_literal_reading(
    items: list[str], low: int, more: int, seed: int, dim: int, kind: str
) -> None:
    ngrams = low, low + more
    expected = [unit(hashed_row(text_weights(text, *ngrams, seed, kind == "binary"), dim)) for text in items]
    assert _compiled(items, dim=dim, kind=kind, ngrams=ngrams, seed=seed) == expected


@given(
    st.lists(dicts, min_size=1, max_size=4),
    st.integers(0, 2**64 - 1),
    st.sampled_from([1, 7, 2**20]),
    st.sampled_from(["binary", "counts"]),
)
def test_compiled_dicts_equal_the_literal_reading(items: list[Any], seed: int, dim: int, kind: str) -> None:
    expected = [unit(hashed_row(dict_weights(item, seed, kind == "binary"), dim)) for item in items]
    assert _compiled(items, dim=dim, kind=kind, seed=seed) == expected


plain_dicts = st.dictionaries(st.text(max_size=3), st.floats(-5, 5) | st.integers(-5, 5), max_size=5)


@given(st.lists(dicts | plain_dicts, min_size=1, max_size=8))
def test_dicts_do_not_depend_on_their_neighbours(items: list[Any]) -> None:
    assert [read(Featurizer()([item]))[0] for item in items] == read(Featurizer()(items))


@given(plain_dicts)
def test_a_dict_of_numbers_is_read_as_one_with_a_missing_value(item: dict[str, Any]) -> None:
    assert read(Featurizer()([item])) == read(Featurizer()([{**item, "none at all": None}]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_numbers_that_are_not_finite_are_named(value: Any) -> None:
    with pytest.raises(ValueError, match="item 1: feature 'b' must be finite"):
        Featurizer()([{"a": 1.0}, {"a": 1.0, "b": value}])


def test_compiled_equals_literal_on_real_reviews(shared_data: Path) -> None:
    for path in sorted((shared_data / "reviews").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            items = [json.loads(line)["text"] for line, _ in zip(lines, range(40), strict=False)]
        expected = [unit(hashed_row(text_weights(text, 1, 2, 0, True), 2**20)) for text in items]
        assert _compiled(items) == expected


@given(st.lists(texts, min_size=1, max_size=8))
def test_rows_do_not_depend_on_their_neighbours(items: list[str]) -> None:
    together = read(Featurizer()(items))
    assert [read(Featurizer()([item]))[0] for item in items] == together


@given(st.dictionaries(names, numbers | names, max_size=4))
def test_order_of_names_does_not_matter(item: dict[str, Any]) -> None:
    rows = [read(Featurizer()([dict(order)])) for order in permutations(item.items())]
    assert all(row == rows[0] for row in rows)


def test_a_list_is_its_words_and_none_is_nothing() -> None:
    assert read(Featurizer()([{"t": ["b", "a"]}])) == read(
        Featurizer()([{"t": ["a", "b"], "x": None, "y": 0, "z": False}])
    )
    assert read(Featurizer()([{"t": ("a",)}])) == read(Featurizer()([{"t": "a"}])) == read(Featurizer()([{"t": {"a"}}]))
    assert read(Featurizer()([{"n": True}])) == read(Featurizer()([{"n": 1}])) == read(Featurizer()([{"n": np.True_}]))
    assert hash_dicts([{"t": ["a", "a"]}]).weights.tolist() == [2.0]
    assert hash_dicts([{"t": ["a", "a"]}], binary=True).weights.tolist() == [1.0]


def test_names_and_words_are_not_confused() -> None:
    items = [{"a=b": "c"}, {"a": "b=c"}, {"a": "b"}, {"ab": 1.0}, {"a b": 1.0}, {"a": 1.0}]
    hashes = [int(hash_) for item in items for hash_ in hash_dicts([item]).hashes]
    hashes += [int(hash_) for hash_ in hash_texts(["a", "ab", "b c"]).hashes]
    assert len(set(hashes)) == len(hashes) == 11


def _weights(rng: np.random.Generator, size: int) -> dict[str, float]:
    return {f"f{i}": float(value) for i, value in enumerate(rng.normal(size=size))}


def test_inner_products_are_unbiased_over_seeds() -> None:
    rng = np.random.default_rng(0)
    x, y = _weights(rng, 30), _weights(rng, 30)
    a, b, dim, seeds = np.array(list(x.values())), np.array(list(y.values())), 16, 2000
    # The product is a.b + the sum over i != j that share a column of s_i s_j a_i b_j; the signs are independent.
    variance = ((a @ a) * (b @ b) + (a @ b) ** 2 - 2 * (a * a) @ (b * b)) / dim
    products = []
    for seed in range(seeds):
        rows = Featurizer(dim=dim, unit=False, kind="counts", seed=seed)([x, y]).dense()
        products.append(rows[0] @ rows[1])
    assert abs(np.mean(products) - a @ b) < 4.5 * np.sqrt(variance / seeds)
    assert abs(np.var(products) / variance - 1) < 0.2


def test_columns_and_signs_are_even() -> None:
    grams = hash_texts([" ".join(f"w{i}" for i in range(100_000))])
    dim = 1000
    _, columns, data = hashed(hashing.Grams(np.arange(grams.hashes.size + 1), grams.hashes, grams.weights), dim)
    counts = np.bincount(columns, minlength=dim)
    expected = columns.size / dim
    chi = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi - (dim - 1)) < 4.5 * np.sqrt(2 * (dim - 1))
    assert abs(data.sum()) < 4.5 * np.sqrt(data.size)
    assert np.unique(grams.hashes).size == grams.hashes.size == 199_999


def test_seeds_give_other_columns() -> None:
    words = " ".join(f"w{i}" for i in range(300))
    zero, one = (set(Featurizer(seed=seed)([words]).indices.tolist()) for seed in (0, 1))
    assert len(zero & one) < 10


def test_columns_never_change() -> None:
    # Saved models rely on these; a change needs a new Featurizer version.
    assert string_key("good") == 0x51C9DA80546B6F57
    assert Featurizer().explain("Not good :)") == {
        "not": (1022193, 1),
        "not good": (241579, -1),
        "good": (723215, 1),
        "good 🙂": (366918, -1),
        "🙂": (855123, 1),
    }
    assert Featurizer(seed=7, dim=1000).explain({"price": 2, "brand": "x"}) == {
        "price": (214, -1),
        "brand=x": (817, -1),
    }


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**31 - 1))
def test_signed_column_is_inside(hashed: int, dim: int) -> None:
    column, sign = signed_column(hashed, dim)
    assert 0 <= column < dim
    assert sign in (-1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2**20,
        "word " * 200_000,
        "<a" * 2**19,
        "<!--" * 2**18,
        "'t" * 2**19,
        ":'" * 2**19,
        "." * 2**20,
        "www.a " * 170_000,
        "&" * 2**20,
        "&#" + "1" * 2**20 + ";",
        "a" + "\u0301\u0327" * 2**19,
        "a" + "\uff9e\u0301" * 2**19,
        "\ud800" * 2**20,
        "ﷺ" * 2**17,
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_a_megabyte_is_read_in_linear_time(text: str) -> None:
    row = Featurizer()([text])
    assert len(row) == 1
    assert row.data.size == 0 or np.linalg.norm(row.data) == pytest.approx(1.0)


def test_feature_hash_depends_on_order_and_kind() -> None:
    keys = [string_key("a"), string_key("b")]
    assert len({feature_hash(keys), feature_hash(keys[::-1]), feature_hash(keys, kind=1), feature_hash(keys, 1)}) == 4
