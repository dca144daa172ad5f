import dataclasses
import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from features.literal import dicts, hashed_row, read, text_weights, texts, unit
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from conquer.features.featurizer import Featurizer, UnfittedError, featurize
from conquer.features.vocabulary import KINDS, FittedColumns, restrict, tabulate
from conquer.rows import SparseRows

REVIEWS = ["good food, good price", "bad food", "not good at all", ""]


@given(
    st.lists(texts, min_size=1, max_size=4) | st.lists(dicts, min_size=1, max_size=4),
    st.sampled_from([*KINDS]),
)
def test_rows_have_length_one_or_nothing(items: list[Any], kind: Any) -> None:
    for row in read(featurize(items, kind=kind)):
        assert row == [] or np.linalg.norm([value for _, value in row]) == pytest.approx(1.0, abs=1e-12)


def test_vectors_keep_their_columns() -> None:
    vectors = [[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]
    expected = [[(0, 0.6), (2, 0.8)], []]
    rows = SparseRows([0, 2, 2], [0, 2], [3.0, 4.0], dim=3)
    for items in (
        vectors,
        tuple(map(tuple, vectors)),
        [np.array(v) for v in vectors],
        np.array(vectors),
        csr_array(vectors),
        rows,
    ):
        assert read(featurize(items, dim=10)) == expected
        assert featurize(items, dim=10).dim == 10
    assert read(Featurizer(dim=3, unit=False)(rows)) == [[(0, 3.0), (2, 4.0)], []]
    assert read(featurize(rows.take([1, 0]), dim=3)) == expected[::-1]


def test_huge_and_tiny_numbers_keep_length_one() -> None:
    rows = featurize([{"a": 1e308, "b": 1e308}, {"a": 5e-324}, {"a": 1e-200, "b": 1e-200}]).data
    np.testing.assert_allclose(np.abs(rows), [0.5**0.5, 0.5**0.5, 1.0, 0.5**0.5, 0.5**0.5])


@pytest.mark.parametrize("kind", ["tfidf", "idf"])
def test_rarity_over_the_given_items_is_a_fit_on_them(kind: Any) -> None:
    assert read(featurize(REVIEWS, kind=kind)) == read(Featurizer(kind=kind).fit(REVIEWS)(REVIEWS))


@given(st.lists(texts, min_size=1, max_size=4), st.integers(1, 3))
def test_idf_spelt_out(items: list[str], high: int) -> None:
    """Every n-gram that occurs weighs ln((1 + N)/(1 + how many texts have its column)) + 1, whatever its count."""
    present = [hashed_row(text_weights(text, 1, high, 0, binary=True), 50) for text in items]
    owners = Counter(column for row in present for column, _ in row)
    expected = [
        unit([(column, sign * (math.log((1 + len(items)) / (1 + owners[column])) + 1)) for column, sign in row])
        for row in present
    ]
    found = read(featurize(items, dim=50, kind="idf", ngrams=(1, high)))
    for row, wanted in zip(found, expected, strict=True):
        assert [column for column, _ in row] == [column for column, _ in wanted]
        assert [value for _, value in row] == pytest.approx([value for _, value in wanted], abs=1e-12)


@pytest.mark.parametrize("kind", [*KINDS])
def test_a_vocabulary_gives_the_study_s_rows(kind: Any) -> None:
    _, counts = tabulate(REVIEWS)
    expected = restrict(counts, np.arange(len(REVIEWS)), kind)
    fitted = Featurizer(dim=counts.dim, kind=kind, columns="vocabulary").fit(REVIEWS)
    assert read(fitted(REVIEWS)) == read(expected)


def test_hashed_and_fitted_columns_tell_the_same() -> None:
    hashed = featurize(REVIEWS, kind="tfidf").dense()
    known = Featurizer(kind="tfidf", columns="vocabulary").fit(REVIEWS)(REVIEWS).dense()
    np.testing.assert_allclose(hashed @ hashed.T, known @ known.T, atol=1e-12)


@pytest.mark.parametrize("kind", ["tfidf", "idf"])
def test_fit_returns_a_copy_and_nothing_else_changes(kind: Any) -> None:
    featurizer = Featurizer(kind=kind)
    fitted = featurizer.fit(REVIEWS)
    assert featurizer.fitted is None
    with pytest.raises(UnfittedError, match=r"featurizer = featurizer.fit\(texts\)"):
        featurizer(REVIEWS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fitted.__setattr__("dim", 3)
    with pytest.raises(UnfittedError):
        Featurizer(columns="vocabulary")(REVIEWS)
    assert len(Featurizer(columns="vocabulary")([[1.0]])) == 1


@pytest.mark.parametrize(
    "featurizer",
    [
        Featurizer(),
        Featurizer(dim=77, ngrams=(1, 3), seed=2**64 - 1, unit=False, kind="counts"),
        Featurizer(dim=np.int64(500), kind="tfidf").fit(REVIEWS),
        Featurizer(columns="vocabulary").fit(REVIEWS),
        Featurizer(dim=500, kind="idf").fit(REVIEWS),
        Featurizer(columns="vocabulary", kind="idf").fit([{"a": 1.5, "b": "x"}, {"b": ["y", "y"]}]),
        Featurizer(columns="vocabulary", kind="tfidf", least=2, dim=5).fit(REVIEWS),
        Featurizer(columns="vocabulary", kind="tfidf").fit([{"a": 1.5, "b": "x"}, {"b": "y"}]),
        Featurizer(columns="vocabulary", kind="tfidf", least=9).fit(REVIEWS),
    ],
    ids=repr,
)
def test_saved_settings_make_the_same_rows(featurizer: Featurizer) -> None:
    settings = json.loads(json.dumps(featurizer.settings()))
    arrays = {name: np.frombuffer(array.tobytes(), array.dtype) for name, array in featurizer.arrays().items()}
    again = Featurizer.from_settings(settings, arrays)
    assert again.settings() == featurizer.settings()
    for items in (REVIEWS, [{"a": 1.0, "b": "x"}], [[1.0, 2.0]]):
        assert read(again(items)) == read(featurizer(items))


def _altered(**changes: Any) -> dict[str, Any]:
    return Featurizer(dim=10, kind="tfidf", columns="vocabulary").fit(REVIEWS).settings() | changes


_KEYS, _IDF = np.array([1, 2], np.uint64), np.ones(2)


@pytest.mark.parametrize(
    ("settings", "arrays", "message"),
    [
        ({}, {}, "settings must have"),
        (_altered(more=1), {}, "settings must have"),
        (_altered(version=2), {}, "got version 2"),
        (_altered(fitted=False), {"keys": _KEYS}, "unfitted featurizer has no arrays"),
        (_altered(), {}, r"has arrays \['keys', 'idf'\], got \[\]"),
        (_altered(), {"keys": _KEYS, "idf": _IDF, "x": _IDF}, "has arrays"),
        (_altered(), {"keys": _KEYS.astype(np.int64), "idf": _IDF}, "keys must be at most 10 uint64, got int64"),
        (_altered(), {"keys": _KEYS[[0, 0]], "idf": _IDF}, "a second time"),
        (_altered(dim=1), {"keys": _KEYS, "idf": _IDF}, "keys must be at most 1 uint64"),
        (_altered(), {"keys": _KEYS, "idf": np.ones(3)}, "idf must be 2 finite float64"),
        (_altered(), {"keys": _KEYS, "idf": np.array([1.0, np.nan])}, "idf must be 2 finite float64"),
        (_altered(dim=0), {}, "dim must be"),
        (_altered(kind="x"), {}, "kind must be one of"),
        (_altered(columns=None), {}, "columns must be one of"),
        (_altered(ngrams=[0, 2]), {}, "ngrams must satisfy 1 <= shortest <= longest <= 8"),
        (_altered(ngrams=[1, 9]), {}, "ngrams must satisfy 1 <= shortest <= longest <= 8"),
        (_altered(ngrams=[1, 2, 3]), {}, "ngrams must be a tuple"),
        (_altered(ngrams="12"), {}, "ngrams must be a tuple"),
        (_altered(seed=-1), {}, "seed must be"),
        (_altered(seed=True), {}, "seed must be"),
        (_altered(least=0), {}, "least must be"),
        (_altered(unit=1), {}, "unit must be"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: Any, arrays: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Featurizer.from_settings(settings, arrays)


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ([], ValueError, "at least one item, got none"),
        (np.empty((0, 3)), ValueError, "at least one item"),
        ("one text", TypeError, "in a list, got one str"),
        (b"bytes", TypeError, "in a list, got one bytes"),
        ({"a": 1}, TypeError, "in a list, got one dict"),
        (7, TypeError, "in a list, got 7"),
        (None, TypeError, "in a list, got None"),
        (["a", {"b": 1}], TypeError, "item 0 is of texts, item 1 of dicts"),
        ([{"b": 1}, [1.0]], TypeError, "item 0 is of dicts, item 1 of vectors"),
        (["a", None], TypeError, "item 1 must be a str, a dict or a list of numbers, got None"),
        ([b"a"], TypeError, "item 0 must be a str"),
        ([1.0, 2.0], TypeError, "item 0 must be a str, a dict or a list of numbers, got 1.0"),
        ([{1: 2.0}], TypeError, "item 0: feature names must be str, got 1"),
        ([{"a": 1}, {"a": float("nan")}], ValueError, "item 1: feature 'a' must be finite, got nan"),
        ([{"a": float("-inf")}], ValueError, "must be finite, got -inf"),
        ([{"a": 10**400}], ValueError, "item 0: feature 'a' must be finite, got 1000"),
        ([{"a": {"b": 1}}], TypeError, "feature 'a' must be a number, a bool, a str, a list of str or None"),
        ([{"a": ["b", 1]}], TypeError, "feature 'a' must be"),
        ([{"a": 1j}], TypeError, "feature 'a' must be"),
        ([{"a": b"x"}], TypeError, "feature 'a' must be"),
        ([[1.0], [1.0, 2.0]], TypeError, "lists of numbers of one length"),
        ([["a", "b"]], TypeError, "lists of numbers"),
        ([[1.0, float("nan")]], ValueError, "row 0 has a value that is not finite"),
        ([[]], ValueError, "1 to dim = 10 features, got 0"),
        (np.ones((2, 11)), ValueError, "1 to dim = 10 features, got 11"),
        (np.ones(3), ValueError, r"two dimensions \(items, features\), got shape \(3,\)"),
        (csr_array((np.array([np.inf]), ([0], [0])), shape=(1, 2)), ValueError, "not finite"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_bad_items(items: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        featurize(items, dim=10)


def test_fit_refuses_vectors() -> None:
    with pytest.raises(TypeError, match="fit takes texts or dicts, got vectors"):
        Featurizer().fit([[1.0]])


def test_many_forms_of_several_texts() -> None:
    expected = read(featurize(["a", "b"]))
    assert read(featurize(iter(["a", "b"]))) == expected
    assert read(featurize(np.array(["a", "b"]))) == expected
    assert read(featurize(np.array(["a", "b"], object))) == expected


@given(texts)
def test_explain_names_every_entry_of_the_row(text: str) -> None:
    explained = Featurizer().explain(text)
    assert {column for column, _ in explained.values()} >= {column for column, _ in read(Featurizer()([text]))[0]}
    fitted = Featurizer(columns="vocabulary").fit([text])
    assert sorted(column for column, _ in fitted.explain(text).values()) == list(range(len(explained)))


def test_explain_dicts_and_nothing_else() -> None:
    vector: Any = [1.0]
    fitted = Featurizer(columns="vocabulary").fit([{"price": 2.0, "tags": ["a", "b"]}])
    assert fitted.explain({"price": 1.0, "tags": ["b"], "new": "x"}) == {"price": (2, 1), "tags=b": (1, 1)}
    with pytest.raises(TypeError, match="explain takes one text or dict"):
        fitted.explain(vector)
    with pytest.raises(UnfittedError):
        Featurizer(columns="vocabulary").explain("x")


def test_an_empty_fit_is_nothing_for_hashed_counts() -> None:
    fitted = Featurizer().fit(REVIEWS)
    assert isinstance(fitted.fitted, FittedColumns)
    assert fitted.arrays() == {}
    assert read(fitted(REVIEWS)) == read(Featurizer()(REVIEWS))
