"""Which of two arguments convinces more, on topics that were never seen: words, length, vectors of the user's.

The estimator is the full model's ridge, in its dual form: scores are s = K a over the arguments, K the products of
their rows, where (lam I + L K) a = g with the sums L and g of the votes. No matrix of features is needed.
"""

from collections.abc import Callable, Sequence
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
    """The votes of one file: sums over them, its texts, and for each vote the places of winner and loser."""

    def __init__(self, path: Path) -> None:
        self.name = path.name.partition(".")[0]
        self.sums = PairCounts()
        winners: list[Ints] = []
        for block in read_votes(path, content="texts").blocks():
            self.sums.add_block(block)
            winners.append(self._decided(block))
        self.texts = [str(name) for name in self.sums.names]
        self.pairs = np.concatenate(winners, axis=1)
        """(2, N): the places of winner and loser."""

    def _decided(self, block: VoteBlock) -> Ints:
        first, second = self.sums.places(block.first), self.sums.places(block.second)
        return np.stack([np.where(block.values > 0, first, second), np.where(block.values > 0, second, first)])


def lengths(texts: Sequence[str]) -> Floats:
    """(N, 2): how long each text is, as a logarithm and as a root."""
    counts = np.array([float(len(text)) for text in texts])
    return np.stack([np.log1p(counts), np.sqrt(counts)], axis=1)


def words_and_length(training: Sequence[str], texts: Sequence[str]) -> Floats:
    """(N, N): products of rows of words and pairs of words, by tf-idf of the training texts, and of their lengths."""
    rows = Featurizer(dim=2**18, kind="tfidf").fit(list(training))(list(texts)).csr()
    return np.asarray((rows @ rows.T).toarray()) + length_alone(training, texts)


def length_alone(training: Sequence[str], texts: Sequence[str]) -> Floats:
    """(N, N): products of the texts' lengths, on the scale of the training texts."""
    known, found = lengths(training), lengths(texts)
    scaled = (found - known.mean(axis=0)) / known.std(axis=0)
    return np.asarray(scaled @ scaled.T)


Products = Callable[[Sequence[str], Sequence[str]], Floats]


def left_out(topics: list[Topic], products: Products, told: Callable[[int], None]) -> list[dict[str, Any]]:
    """For every topic: how many of its votes are predicted by a fit of all others, with lam chosen among those.

    `known` is how many of the others' votes that lam predicts when they are left out by fifths.
    """
    rows = []
    for k, topic in enumerate(topics):
        training = [other for other in topics if other is not topic]
        folds = [training[start::_FOLDS] for start in range(_FOLDS)]
        right = np.zeros(len(LAMS))
        for fold in folds:
            right += _right([other for other in training if other not in fold], fold, products, LAMS)
        lam, known = LAMS[int(right.argmax())], int(right.max())
        count = _right(training, [topic], products, (lam,))[0]
        row = {"topic": topic.name, "votes": topic.pairs.shape[1], "right": int(count), "lam": lam, "known": known}
        rows.append(row)
        told(k + 1)
    return rows


def best_known(found: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """For every topic the row of those features that predict most votes of the other topics (`known`).

    >>> best_known([[{"right": 7, "known": 80}], [{"right": 6, "known": 90}]])
    [{'right': 6, 'known': 90}]
    """
    return [max(rows, key=lambda row: row["known"]) for rows in zip(*found, strict=True)]


def _right(training: list[Topic], tested: list[Topic], products: Products, lams: Sequence[float]) -> Floats:
    """How many votes of the tested topics are predicted, for each lam."""
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
    """(L, g) of several topics side by side: no vote is between two of them."""
    from scipy.sparse import block_diag

    found = [part.laplacian(len(part.names)) for part in parts]
    return block_diag([L for L, _ in found], format="csr"), np.concatenate([g for _, g in found])
