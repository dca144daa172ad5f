"""The length of a text has a column of its own, beside the row of length 1."""

import numpy as np
import pytest

from conquer.features.featurizer import Featurizer

TEXTS = ["so good", "x" * 402, "so good " * 300]


def expected(text):
    return (np.log1p(len(text)) - 6) / 4


@pytest.mark.parametrize(
    "settings", [{}, {"kind": "tfidf"}, {"columns": "vocabulary", "kind": "counts"}, {"unit": False}]
)
def test_rows_are_those_without_it_and_a_last_column(settings):
    plain, long = Featurizer(dim=256, **settings), Featurizer(dim=256, length=True, **settings)
    if settings.get("kind"):
        plain, long = plain.fit(TEXTS), long.fit(TEXTS)
    for context in (None, "tea time"):
        found, without = (one(TEXTS, context).csr().toarray() for one in (long, plain))
        np.testing.assert_array_equal(found[:, :-1], without[:, :-1])
        np.testing.assert_allclose(found[:, -1] - without[:, -1], [expected(text) for text in TEXTS], atol=1e-12)


def test_only_texts_have_a_length():
    long, plain = Featurizer(dim=64, length=True), Featurizer(dim=64)
    for items in ([{"price": 1.0}, {"price": 2.0}], [[1.0, 2.0], [3.0, 4.0]]):
        np.testing.assert_array_equal(long(items).csr().toarray(), plain(items).csr().toarray())
    parts = [{"text": text, "features": {"price": 1.0}} for text in TEXTS]
    found, without = (one(parts).csr().toarray() for one in (long, plain))
    np.testing.assert_allclose((found - without)[:, -1], [expected(text) for text in TEXTS], atol=1e-12)


def test_it_is_explained_saved_and_checked():
    long = Featurizer(dim=64, length=True)
    assert long.explain("so good")["length of the text"] == (63, 1)
    assert "length of the text" not in Featurizer(dim=64).explain("so good")
    again = Featurizer.from_settings(long.settings())
    np.testing.assert_array_equal(again(TEXTS).data, long(TEXTS).data)
    with pytest.raises(TypeError, match="length must be True or False"):
        Featurizer(length=1)
