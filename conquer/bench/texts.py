"""From raw text to rows, beside scikit-learn."""

from dataclasses import asdict
from typing import Any

import numpy as np

from conquer.bench.timing import each, race
from conquer.features.featurizer import Featurizer


def measure(*, quick: bool) -> dict[str, Any]:
    """Documents per second, uni- and bigrams, beside scikit-learn's HashingVectorizer."""
    from sklearn.feature_extraction.text import HashingVectorizer

    rng = np.random.default_rng(0)
    ranks = np.exp(rng.random((500 if quick else 2000, 100)) * np.log(50_000)).astype(int)
    documents = [" ".join(f"word{rank}" for rank in line) for line in ranks.tolist()]
    featurizer = Featurizer(dim=2**20)
    vectorizer = HashingVectorizer(ngram_range=(1, 2), n_features=2**20, binary=True)
    field = {
        "conquer": each(lambda: featurizer(documents), len(documents)),
        "HashingVectorizer": each(lambda: vectorizer.transform(documents), len(documents)),
    }
    turns = race(field, 3 if quick else 7)
    ratio = turns.ratio("HashingVectorizer", "conquer")
    speeds = {name: 1e6 / turns.median(name) for name in field}
    return {"documents_a_second": speeds, "ratio": asdict(ratio), "shown": str(ratio)}
