from collections import Counter
from typing import Any

import numpy as np
import pytest
from features.literal import read, texts
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from conquer.features.hashing import hash_texts
from conquer.features.text import ngrams, tokens
from conquer.features.vocabulary import KINDS, Vocabulary, fit_columns, rarity, restrict, tabulate
from conquer.rows import SparseRows

WORDS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12).map(" ".join), min_size=1, max_size=8)


def _by_hand(items: list[str], low: int, high: int) -> tuple[list[str], list[list[tuple[int, float]]]]:
    """The n-grams by falling document frequency, ties by first occurrence, and the rows of counts."""
    counted = [Counter(ngrams(tokens(text), low, high)) for text in items]
    frequency = Counter(gram for row in counted for gram in row)
    order = sorted(frequency, key=lambda gram: -frequency[gram])
    column = {gram: number for number, gram in enumerate(order)}
    return order, [[(column[gram], float(count)) for gram, count in row.items()] for row in counted]


@given(WORDS | st.lists(texts, min_size=1, max_size=5), st.integers(1, 2), st.integers(0, 1))
def test_tabulate_counts_by_falling_frequency(items: list[str], low: int, more: int) -> None:
    order, rows = _by_hand(items, low, low + more)
    vocabulary, counts = tabulate(items, ngrams=(low, low + more))
    assert len(vocabulary) == len(order)
    assert counts.dim == max(1, len(order))
    assert read(counts) == rows


@given(WORDS, WORDS, st.integers(1, 4), st.integers(1, 20))
def test_unknown_and_rare_features_have_no_column(items: list[str], others: list[str], least: int, most: int) -> None:
    order, _ = _by_hand(items, 1, 2)
    frequency = Counter(gram for text in items for gram in set(ngrams(tokens(text))))
    kept = [gram for gram in order if frequency[gram] >= least][:most]
    pieces = [hash_texts([text]) for text in items]
    fitted = fit_columns(pieces, kind="idf", vocabulary=True, dim=most, least=least)
    vocabulary = fitted.vocabulary
    assert vocabulary is not None
    assert fitted.idf is not None
    assert fitted.idf.tolist() == rarity(np.array([frequency[gram] for gram in kept]), len(items)).tolist()
    indptr, indices, _ = vocabulary.entries(hash_texts(others))
    assert len(vocabulary) == len(kept)
    for number, text in enumerate(others):
        expected = [kept.index(gram) for gram in Counter(ngrams(tokens(text))) if gram in kept]
        assert indices[indptr[number] : indptr[number + 1]].tolist() == expected


def test_more_distinct_features_than_asked_for_are_refused() -> None:
    pieces = [hash_texts([f"word{k} tea"], ngrams=(1, 1)) for k in range(4)]
    assert len(fit_columns(pieces, kind="counts", vocabulary=True, dim=9, least=1, most=5).vocabulary or ()) == 5
    with pytest.raises(ValueError, match="more than 4 distinct features"):
        fit_columns(pieces, kind="counts", vocabulary=True, dim=9, least=1, most=4)


def test_a_repeated_key_is_refused() -> None:
    with pytest.raises(ValueError, match="entry 2 a second time"):
        Vocabulary(np.array([3, 4, 3], np.uint64))


ROWS = st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 5), max_size=6), min_size=1, max_size=8)


def _rows(rows: list[dict[int, int]]) -> SparseRows:
    indptr = np.cumsum([0] + [len(row) for row in rows])
    return SparseRows(
        indptr, [c for row in rows for c in row], [float(v) for row in rows for v in row.values()], dim=10
    )


def _restricted(dense: Any, training: list[int], kind: str) -> Any:
    seen = (dense[training] > 0).sum(axis=0)
    values = np.where(seen > 0, dense, 0.0)
    if kind in ("binary", "idf"):
        values = np.sign(values)
    if kind in ("tfidf", "idf"):
        values = values * (np.log((1 + len(training)) / (1 + seen)) + 1)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(norms > 0, norms, 1.0)


@given(ROWS, st.data(), st.sampled_from([*KINDS]))
def test_restrict_knows_only_the_training_rows(rows: list[dict[int, int]], data: Any, kind: Any) -> None:
    X = _rows(rows)
    training = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True))
    expected = _restricted(X.dense(), training, kind)
    restricted = restrict(X, training, kind)
    np.testing.assert_allclose(restricted.dense(), expected, atol=1e-12)
    assert np.isin(restricted.indices, X.indices).all()
    view = X.take(np.arange(len(rows))[::-1])
    turned = restrict(view, len(rows) - 1 - np.array(training, np.int64), kind)
    assert read(turned) == read(restricted)[::-1]


def test_restrict_keeps_the_order_of_entries() -> None:
    X = SparseRows([0, 3], [7, 2, 5], [1.0, 1.0, 1.0], dim=8)
    assert restrict(X, [0], "counts", unit=False).indices.tolist() == [7, 2, 5]


def test_signs_of_hashed_counts_survive() -> None:
    X = SparseRows([0, 2], [0, 1], [-3.0, 2.0], dim=2)
    assert restrict(X, [0], "binary", unit=False).data.tolist() == [-1.0, 1.0]
    assert restrict(X, [0], "idf", unit=False).data.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(("kind", "presence"), [("tfidf", False), ("idf", True)])
def test_rarity_is_the_usual_one(kind: Any, presence: bool) -> None:
    items = ["good food good", "bad food", "not so good at all", "nothing"]
    usual = TfidfVectorizer(analyzer=lambda text: ngrams(tokens(text)), binary=presence)
    X = usual.fit_transform(items).toarray()
    vocabulary, counts = tabulate(items)
    ours = restrict(counts, np.arange(len(items)), kind).dense()
    assert ours.shape == X.shape
    np.testing.assert_allclose(ours @ ours.T, X @ X.T, atol=1e-12)
    assert len(vocabulary) == len(usual.vocabulary_)


def test_what_all_documents_have_weighs_1() -> None:
    assert rarity(np.array([9]), 9).tolist() == [1.0]


@pytest.mark.parametrize(
    ("training", "error", "message"),
    [
        ([3], IndexError, r"must be in \[0, 2\)"),
        ([-1], IndexError, r"must be in \[0, 2\)"),
        ([0.5], TypeError, "rows must be int64, got float64"),
        ([[0]], ValueError, "rows must have one dimension"),
    ],
)
def test_bad_training_rows(training: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        restrict(_rows([{0: 1}, {1: 1}]), training, "counts")


def test_bad_kind() -> None:
    bad: Any = "tf"
    with pytest.raises(ValueError, match="one of binary, counts, tfidf, idf, got 'tf'"):
        restrict(_rows([{0: 1}]), [0], bad)
