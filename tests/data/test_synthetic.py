"""Made-up reviews: reproducible, counted right, and learnable only with bigrams."""

import itertools
from collections import Counter

import numpy as np
import pytest

from conquer.data import synthetic


def test_ngrams_are_what_the_words_say() -> None:
    documents = synthetic.generate("baby products", 40, seed=1)
    rows, keys = documents.ngrams()
    for i, text in enumerate(documents.texts()):
        words = text.split()
        numbers = documents.tokens[documents.indptr[i] : documents.indptr[i + 1]]
        assert [synthetic.word(number) for number in numbers] == words
        expected = Counter(words) + Counter(itertools.pairwise(words))
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        found = Counter()
        for column, count in zip(rows.indices[entries], rows.data[entries], strict=True):
            first, second = divmod(int(keys[column]), 2**20)
            term = (synthetic.word(first - 1), synthetic.word(second)) if first else synthetic.word(second)
            found[term] += int(count)
        assert found == expected
    assert (np.diff(keys) > 0).all()
    assert np.unique(rows.indices).size == rows.dim


def test_words_are_spelt_apart() -> None:
    spelt = {synthetic.word(number) for number in range(150_443)}
    assert len(spelt) == 150_443


def test_domains_seeds_and_sizes_differ() -> None:
    one = synthetic.generate("baby products", 100)
    assert np.array_equal(one.tokens, synthetic.generate("baby products", 100).tokens)
    assert np.array_equal(one.tokens, synthetic.generate("baby products", 200).tokens[: one.tokens.size])
    assert not np.array_equal(one.tokens[:50], synthetic.generate("books", 100).tokens[:50])
    assert not np.array_equal(one.tokens[:50], synthetic.generate("baby products", 100, seed=1).tokens[:50])


def test_bigrams_carry_what_unigrams_cannot() -> None:
    """Ridge on all n-grams ranks better than ridge on words alone: the planted pairs have no sign of their own."""
    from scipy.sparse.linalg import lsqr

    documents = synthetic.generate("electronics", 4000)
    rows, keys = documents.ngrams()
    counts = rows.csr()
    correlations = []
    for matrix in (counts[:, keys < 2**20], counts):
        weights = lsqr(matrix[:3000], documents.stars[:3000] - 3.0, damp=3.0, iter_lim=50)[0]
        correlations.append(np.corrcoef(matrix[3000:] @ weights, documents.stars[3000:])[0, 1])
    assert correlations[0] > 0.5
    assert correlations[1] > correlations[0] + 0.01


@pytest.mark.parametrize(
    "call",
    [
        lambda: synthetic.generate("nothing", 5),
        lambda: synthetic.generate("baby products", 0),
        lambda: synthetic.word(-1),
    ],
)
def test_refusals(call) -> None:
    with pytest.raises(ValueError):
        call()
