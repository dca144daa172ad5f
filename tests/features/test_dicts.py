"""Dicts read from their bytes are those read name by name: the same features, the same refusals."""

from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from features.literal import dict_weights, hashed_row, names, read, unit
from hypothesis import example, given
from hypothesis import strategies as st

from conquer.features import dicts as dict_features
from conquer.features.context import MOST_PRODUCTS
from conquer.features.dicts import hash_dicts, hash_together
from conquer.features.featurizer import Featurizer
from conquer.features.hashing import Grams, hashed

# Many names of one beginning are put in order by runs; names of one head are told apart by what follows it.
_long = st.builds("{}{}".format, st.sampled_from(["", "feature_", "feature_of_the_item_", "é", "\ud800", "\0"]), names)
_whole = st.integers(-(2**70), 2**70) | st.integers(-(2**31), 2**31)
_words = st.lists(_long, max_size=30)
_values = st.floats(-1e150, 1e150) | _whole | st.booleans() | st.none() | _long
_dicts = st.dictionaries(_long, _values | _words, max_size=40)
_several = _words.map(tuple) | _words.map(set) | _words.map(frozenset)


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read dicts in Python."""
    monkeypatch.setattr(dict_features, "_KNOWN_FORM", False)


def same(one: Grams, two: Grams) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(two, name)) and getattr(one, name).dtype == getattr(two, name).dtype
        for name in ("indptr", "hashes", "weights")
    )


def test_this_python_writes_the_known_form() -> None:
    assert dict_features._KNOWN_FORM


@given(st.lists(_dicts, min_size=1, max_size=4), st.integers(0, 2**64 - 1), st.sampled_from(["binary", "counts"]))
def test_many_names_equal_the_literal_reading(items: list[Any], seed: int, kind: Any) -> None:
    expected = [unit(hashed_row(dict_weights(item, seed, kind == "binary"), 2**20)) for item in items]
    assert read(Featurizer(dim=2**20, kind=kind, seed=seed)(items)) == expected


@given(st.lists(st.dictionaries(_long, _values | _words | _several, max_size=12), max_size=5), st.booleans())
@example([{"a": 1.0, "b": 2}, {"a": "x", "b": ["y", "x", "y"]}, {"b": 1.0, "a": 2.0}, {"a": 0, "b": -0.0}], True)
def test_read_from_bytes_or_name_by_name(items: list[Any], binary: bool) -> None:
    quickly = hash_dicts(items, seed=3, binary=binary)
    with pytest.MonkeyPatch.context() as patch:
        slowly(patch)
        assert same(quickly, hash_dicts(items, seed=3, binary=binary))


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
@pytest.mark.parametrize("known", [True, False])
def test_what_is_refused_is_named(value: Any, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dict_features, "_KNOWN_FORM", known)
    with pytest.raises(TypeError, match="item 1: feature 'b' must be a number, a bool, a str, a list of str or None"):
        Featurizer()([{"a": 1.0}, {"a": 1.0, "b": value}], {"c": 1.0})
    with pytest.raises(TypeError, match="item 0: feature 'b' must be"):
        Featurizer()([{"a": 1.0}, {"a": 1.0}], {"b": value})
    with pytest.raises(TypeError, match="item 0: feature names must be str, got 3"):
        Featurizer()([{3: 1.0}])


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TypeError, match="item 0: feature 'a' must be"):
        Featurizer()([{"a": endless}])


@given(st.lists(_dicts, min_size=1, max_size=4), st.dictionaries(_long, _values, max_size=5), st.booleans())
def test_a_context_is_read_with_its_items_as_alone(items: list[Any], context: Any, binary: bool) -> None:
    own, other = hash_together(items, context, 5, binary)
    assert same(own, hash_dicts(items, seed=5, binary=binary))
    assert same(other, hash_dicts([context], seed=5, binary=binary))


@given(
    st.lists(st.dictionaries(names, st.floats(-5, 5) | names, max_size=6), min_size=1, max_size=3),
    st.none() | st.dictionaries(names, st.floats(-5, 5) | names, max_size=3) | st.text(max_size=8),
    st.sampled_from([1, 3, 2**20]),
    st.booleans(),
)
def test_rows_in_one_call_equal_those_step_by_step(items: list[Any], context: Any, dim: int, scaled: bool) -> None:
    featurizer = Featurizer(dim=dim, unit=scaled)
    rows, cells = featurizer.counted(items, context)
    found = None if context is None else featurizer._context(context)
    entries = hashed(hash_dicts(items, binary=True), dim)
    stepwise, expected = featurizer._finished(entries, 0, found, MOST_PRODUCTS)
    assert cells == expected
    assert read(rows) == read(stepwise)
    assert not any(array.flags.writeable for array in (rows.indptr, rows.indices, rows.data, rows.rows))


def test_sums_beyond_a_number_are_refused_as_before() -> None:
    with pytest.raises(ValueError, match="row 1 has a value that is not finite"):
        Featurizer(dim=1)([{"a": 1.0}, {f"n{k}": 1e308 for k in range(40)}])
