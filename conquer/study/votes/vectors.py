"""Vectors that a user has made of the arguments, as products for `left_out`: alone, by a kernel, beside the words."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from conquer.study.votes.arguments import Products, words_and_length
from conquer.types import Floats

TEXTS = "texts"


class TextVectors:
    """One array of a file: a vector for every text."""

    def __init__(self, texts: Sequence[str], vectors: Floats) -> None:
        self.places = {text: place for place, text in enumerate(texts)}
        self.vectors = np.asarray(vectors, dtype=np.float64)
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.places) or not np.isfinite(self.vectors).all():
            raise ValueError(
                f"vectors must be finite, one row for each of {len(self.places)} texts, got shape {self.vectors.shape}"
            )

    def of(self, training: Sequence[str], texts: Sequence[str]) -> Floats:
        """(N, D): the texts' vectors, centred and scaled so that the training texts have mean 0 and mean square 1."""
        for text in texts:
            if text not in self.places:
                raise ValueError(f"there is no vector of the text {text!r:.80}")
        known, found = (self.vectors[[self.places[text] for text in some]] for some in (training, texts))
        middle = known.mean(axis=0)
        return np.asarray((found - middle) / np.sqrt(((known - middle) ** 2).sum(axis=1).mean()))

    def alone(self, training: Sequence[str], texts: Sequence[str]) -> Floats:
        """(N, N): products of the vectors."""
        rows = self.of(training, texts)
        return np.asarray(rows @ rows.T)

    def kernel(self, training: Sequence[str], texts: Sequence[str]) -> Floats:
        """(N, N): the rbf kernel of the vectors, of width 1 at the training texts' root mean square."""
        rows = self.of(training, texts)
        squares = (rows * rows).sum(axis=1)
        return np.asarray(np.exp(-0.5 * np.maximum(squares[:, None] + squares - 2.0 * rows @ rows.T, 0.0)))

    def with_words(self, training: Sequence[str], texts: Sequence[str]) -> Floats:
        """(N, N): products of the vectors, the words and the lengths side by side."""
        return self.alone(training, texts) + words_and_length(training, texts)


def read_vectors(path: Path) -> dict[str, Products]:
    """{what a row of the table is called: its products} of an .npz file: `texts` (N,), and arrays (N, D) by name."""
    with np.load(path, allow_pickle=False) as file:
        names = [name for name in file.files if name != TEXTS]
        if TEXTS not in file.files or not names:
            raise ValueError(f"{path} must hold {TEXTS!r} and at least one array of vectors, got {file.files}")
        texts = file[TEXTS].tolist()
        arrays = {name: TextVectors(texts, file[name]) for name in names}
    found: dict[str, Products] = {}
    for name, vectors in arrays.items():
        called = name.replace("_", " ")
        found[f"vectors ({called})"] = vectors.alone
        found[f"vectors ({called}), rbf kernel"] = vectors.kernel
        found[f"vectors ({called}), words and length"] = vectors.with_words
    return found
