"""Dicts by a memo of their names are dicts hashed name by name: the same features, the same refusals."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from features.literal import dict_weights, hashed_row, names, read, unit
from hypothesis import example, given
from hypothesis import strategies as st

from conquer.features import hashing
from conquer.features.featurizer import Featurizer
from conquer.features.hashing import Grams, Memo, hash_dicts

_long = st.builds("{}{}".format, st.sampled_from(["", "feature_", "feature_of_the_item_", "é", "\ud800", "\0"]), names)
_whole = st.integers(-(2**70), 2**70) | st.integers(-(2**31), 2**31)
_words = st.lists(_long, max_size=30)
_values = st.floats(-1e150, 1e150) | _whole | st.booleans() | st.none() | _long
_dicts = st.dictionaries(_long, _values | _words, max_size=40)
_several = _words.map(tuple) | _words.map(set) | _words.map(frozenset)


def same(one: Grams, two: Grams) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(two, name)) and getattr(one, name).dtype == getattr(two, name).dtype
        for name in ("indptr", "hashes", "weights")
    )


@given(st.lists(_dicts, min_size=1, max_size=4), st.integers(0, 2**64 - 1), st.sampled_from(["binary", "counts"]))
def test_many_names_equal_the_literal_reading(items: list[Any], seed: int, kind: Any) -> None:
    expected = [unit(hashed_row(dict_weights(item, seed, kind == "binary"), 2**20)) for item in items]
    assert read(Featurizer(dim=2**20, kind=kind, seed=seed)(items)) == expected


@given(st.lists(st.dictionaries(_long, _values | _words | _several, max_size=12), max_size=5), st.booleans())
@example([{"a": 1.0, "b": 2}, {"a": "x", "b": ["y", "x", "y"]}, {"b": 1.0, "a": 2.0}, {"a": 0, "b": -0.0}], True)
def test_dicts_are_the_same_with_an_empty_and_a_full_memo(items: list[Any], binary: bool) -> None:
    memo = hashing._feature_memo(3)
    memo.clear()
    first = hash_dicts(items, seed=3, binary=binary)
    assert same(first, hash_dicts(items, seed=3, binary=binary))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memo, "MOST", 2)
        memo.clear()
        assert same(first, hash_dicts(items, seed=3, binary=binary))
        assert len(memo) <= 2
        patch.setattr(Memo, "LONGEST", -1)
        memo.clear()
        assert same(first, hash_dicts(items, seed=3, binary=binary))
        assert not memo


def test_a_memo_is_bounded_in_entries_and_bytes() -> None:
    memo: Memo[str] = Memo(lambda names: [name.encode()[:8] for name in names])
    for k in range(3):
        memo.read([f"{k} {n}" for n in range(Memo.MOST // 2)])
        assert len(memo) <= Memo.MOST
    memo.read([str(n) for n in range(3 * Memo.MOST)])
    assert len(memo) == Memo.MOST
    long = "x" * (Memo.LONGEST + 1)
    assert memo.read([long, "short"]) == b"xxxxxxxxshort"
    assert long not in memo


def test_threads_share_a_memo() -> None:
    memo: Memo[str] = Memo(lambda names: [name.encode() for name in names])
    names = [[f"{(7 * k + n) % 50:03}" for n in range(20)] for k in range(50)]

    def read_all(_: int) -> bool:
        return all(memo.read(some) == "".join(some).encode() for some in names * 5)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(4) as threads:
        patch.setattr(Memo, "MOST", 30)
        assert all(threads.map(read_all, range(8)))


def test_a_name_that_is_a_pair_is_not_a_name_and_its_word() -> None:
    hash_dicts([{"brand": "x"}])
    with pytest.raises(TypeError, match=r"item 1: feature names must be str, got \('brand', 'x'\)"):
        hash_dicts([{"a": 1.0}, {("brand", "x"): 1.0}])


@pytest.mark.parametrize("value", [2**52 + 1, 2**53 + 1, 2**59 + 65, 2**60 - 1, 2**63 + 1025, -(2**62) - 129, 10**300])
def test_whole_numbers_are_rounded_as_python_rounds_them(value: int) -> None:
    assert hash_dicts([{"n": value}]).weights.tolist() == [float(value)]


class _Name(str):
    pass


@pytest.mark.parametrize(
    "item",
    [
        OrderedDict(b=1.0, a="x"),
        {_Name("b"): 1.0, "a": _Name("x")},
        {"b": np.float64(1), "a": "x"},
        {"b": Fraction(1), "a": np.str_("x")},
        {"b": np.True_, "a": ["x"]},
    ],
)
def test_other_types_of_names_and_values_mean_the_same(item: Any) -> None:
    assert same(hash_dicts([item]), hash_dicts([{"a": "x", "b": 1.0}]))


@pytest.mark.parametrize(
    "value",
    [b"x", 1j, Decimal(1), np.array(1.0), np.arange(10)[::2], [1.0], ["a", 1], {"a": 1.0}, [["a"]], ..., object()],
    ids=lambda value: f"{type(value).__name__}-{value}" if type(value) is not object else "object",
)
def test_what_is_refused_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match="item 1: feature 'b' must be a number, a bool, a str, a list of str or None"):
        Featurizer()([{"a": 1.0}, {"a": 1.0, "b": value}], {"c": 1.0})
    for items in ([{"a": 1.0}, {"a": 1.0}], ["a", "b"]):
        with pytest.raises(TypeError, match="context: feature 'b' must be"):
            Featurizer()(items, {"b": value})
    with pytest.raises(TypeError, match="item 0: feature names must be str, got 3"):
        Featurizer()([{3: 1.0}])


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TypeError, match="item 0: feature 'a' must be"):
        Featurizer()([{"a": endless}])


def test_sums_beyond_a_number_are_refused_as_before() -> None:
    with pytest.raises(ValueError, match="row 1 has a value that is not finite"):
        Featurizer(dim=1)([{"a": 1.0}, {f"n{k}": 1e308 for k in range(40)}])
