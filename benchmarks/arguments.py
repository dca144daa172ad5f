"""Which of two arguments is more convincing, on topics never seen: by words, length, and vectors of the user.

The estimator is the full model's ridge regression in its dual form: scores are s = K a over the arguments, K the
products of their rows, where (lam I + L K) a = g with the sums L and g of the votes. No feature matrix is needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conquer.data.votes import VoteBlock, read_votes
from conquer.features.featurizer import Featurizer
from conquer.fitting.vote_sums import PairCounts
from conquer.types import Floats, Ints

LAMS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_FOLDS = 5


class Topic:
    """The votes of one file: their sums, the texts, and for each vote the positions of winner and loser."""

    def __init__(self, path: Path) -> None:
        self.name = path.name.partition(".")[0]
        self.sums = PairCounts()
        winners: list[Ints] = []
        for block in read_votes(path, content="texts").blocks():
            self.sums.add_block(block)
            winners.append(self._decided(block))
        self.texts = [str(name) for name in self.sums.names]
        self.pairs = np.concatenate(winners, axis=1)
        """(2, N): the positions of winner and loser."""

    def _decided(self, block: VoteBlock) -> Ints:
        first, second = self.sums.places(block.first), self.sums.places(block.second)
        return np.stack([np.where(block.values > 0, first, second), np.where(block.values > 0, second, first)])


def lengths(texts: Sequence[str]) -> Floats:
    """(N, 2): logarithm and square root of the length of each text."""
    counts = np.array([float(len(text)) for text in texts])
    return np.stack([np.log1p(counts), np.sqrt(counts)], axis=1)


def words_and_length(training: Sequence[str], texts: Sequence[str]) -> Floats:
    """(N, N): products of rows of words and pairs of words, by tf-idf of the training texts, and of their lengths."""
    rows = Featurizer(dim=2**18, kind="tfidf").fit(list(training))(list(texts)).csr()
    return np.asarray((rows @ rows.T).toarray()) + length_alone(training, texts)


def length_alone(training: Sequence[str], texts: Sequence[str]) -> Floats:
    """(N, N): products of the texts' lengths, on the scale of the training texts."""
    seen, found = lengths(training), lengths(texts)
    scaled = (found - seen.mean(axis=0)) / seen.std(axis=0)
    return np.asarray(scaled @ scaled.T)


Products = Callable[[Sequence[str], Sequence[str]], Floats]
"""(training texts, N texts) -> (N, N) products of the texts' rows."""


@dataclass(frozen=True, slots=True)
class TopicResult:
    """The predictions for one topic that was left out of a fit."""

    topic: str
    votes: int
    right: int
    lam: float
    validated: int


def left_out(topics: list[Topic], products: Products, progress: Callable[[int], None]) -> list[TopicResult]:
    """For every topic: how many of its votes a fit to all other topics predicts, with lam chosen on those.

    `validated` is how many votes of the other topics that lam predicts in five-fold cross-validation.
    """
    rows = []
    for k, topic in enumerate(topics):
        training = [other for other in topics if other is not topic]
        folds = [training[start::_FOLDS] for start in range(_FOLDS)]
        right = np.zeros(len(LAMS))
        for fold in folds:
            right += _right([other for other in training if other not in fold], fold, products, LAMS)
        lam, validated = LAMS[int(right.argmax())], int(right.max())
        count = _right(training, [topic], products, (lam,))[0]
        rows.append(TopicResult(topic.name, topic.pairs.shape[1], int(count), lam, validated))
        progress(k + 1)
    return rows


def best_validated(found: Sequence[list[TopicResult]]) -> list[TopicResult]:
    """For every topic the result of those features that predict most votes of the other topics."""
    return [max(rows, key=lambda row: row.validated) for rows in zip(*found, strict=True)]


def _right(training: list[Topic], tested: list[Topic], products: Products, lams: Sequence[float]) -> Floats:
    """The number of votes of the tested topics that are predicted, for each lam."""
    known = [text for topic in training for text in topic.texts]
    unseen = [text for topic in tested for text in topic.texts]
    K = products(known, [*known, *unseen])
    size = len(known)
    L, g = _block_diagonal([topic.sums for topic in training])
    pulled = L @ K[:size, :size]
    found = []
    for lam in lams:
        scores = K[size:, :size] @ np.linalg.solve(lam * np.eye(size) + pulled, g)
        found.append(_predicted(tested, scores))
    return np.array(found, float)


def _predicted(tested: list[Topic], scores: Floats) -> int:
    total, start = 0, 0
    for topic in tested:
        own = scores[start : start + len(topic.texts)]
        total += int((own[topic.pairs[0]] > own[topic.pairs[1]]).sum())
        start += len(topic.texts)
    return total


def _block_diagonal(parts: list[PairCounts]) -> tuple[Any, Floats]:
    """(L, g) of several topics side by side, because no vote is between two of them."""
    from scipy.sparse import block_diag

    found = [part.laplacian(len(part.names)) for part in parts]
    return block_diag([L for L, _ in found], format="csr"), np.concatenate([g for _, g in found])


TEXTS = "texts"


class TextVectors:
    """An array of a file with a vector for every text."""

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
                raise ValueError(f"no vector of the text {text!r:.80}")
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
    """{label: its products} of an .npz file with `texts` (N,) and named arrays (N, D)."""
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
