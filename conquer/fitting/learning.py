"""The learner that votes are learnt by: which model, how large, and its state from sums."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from conquer.fitting.contents import Moments, one_thread
from conquer.fitting.counts import PairCounts
from conquer.fitting.solving import settle_diagonal, settle_full
from conquer.kernels.rounds import settings as st
from conquer.models.full import Full
from conquer.registry import find, make
from conquer.rows import SparseRows
from conquer.types import Learner

FULL_DIM = 2048
"""The most features for which a full model is taken unasked: 34 MB, and boards need one."""
_PAIRS = 1 << 16


def learner_of(algorithm: str, model: str | None, dim: int, parameters: Mapping[str, Any]) -> Learner:
    """A fresh learner. Without a model named it is full up to FULL_DIM features, else the algorithm's default.

    >>> learner_of("gnr", None, 100, {}).parameters["model"], learner_of("gnr", None, 10**6, {}).parameters["model"]
    ('full', 'diagonal')
    """
    row = find(algorithm)
    ours = row.policy is not None and "full" in row.models and "lam" in row.takes
    diagonal = {"update", "storage"} & set(parameters)
    if model is None and ours and dim <= FULL_DIM and not diagonal:
        model = "full"
    learner = make(algorithm, dim=dim, model=model, **parameters)
    if not learner.duels:
        raise ValueError(f"{learner.name} learns whether one item is the best; votes say which of two is better")
    return learner


def settle_moments(learner: Learner, sums: Moments) -> None:
    """Give a fresh learner what sums over rows say."""
    settle = settle_full if type(learner.model) is Full else settle_diagonal
    with one_thread():
        settle(learner.model, sums.squares, sums.gains, sums.votes)
    _count(learner, sums.votes)


def settle_counts(learner: Learner, sums: PairCounts, rows: SparseRows) -> None:
    """Give a fresh learner what counts of pairs say of things with these rows: A - lam I = X'LX and b = X'g."""
    matrix = rows.csr()
    laplacian, gains = sums.laplacian(len(rows))
    pulled = np.asarray(matrix.T @ gains)
    with one_thread():
        if type(learner.model) is Full:
            squares = _squares(matrix, laplacian)
            settle_full(learner.model, squares, pulled, sums.votes)
        else:
            settle_diagonal(learner.model, _diagonal(matrix, sums), pulled, sums.votes)
    _count(learner, sums.votes)


def _squares(matrix: Any, laplacian: Any) -> Any:
    """(D, D): X'LX, exactly symmetric."""
    if matrix.nnz > 0.1 * matrix.shape[0] * matrix.shape[1]:
        dense = matrix.toarray()
        squares = dense.T @ (laplacian @ dense)
    else:
        squares = (matrix.T @ (laplacian @ matrix)).toarray()
    return np.ascontiguousarray(0.5 * (squares + squares.T))


def _diagonal(matrix: Any, sums: PairCounts) -> Any:
    """(D,): the sum of rho^2 u^2, from the differences of pairs, some thousand at a time."""
    total = np.zeros(matrix.shape[1])
    low, high = sums.pairs >> 32, sums.pairs & 0xFFFFFFFF
    for start in range(0, low.size, _PAIRS):
        some = slice(start, start + _PAIRS)
        rows = (matrix[low[some]] - matrix[high[some]]) * 0.5
        total += rows.multiply(rows).T @ sums.squares[some]
    return total


def _count(learner: Learner, votes: int) -> None:
    """The learner's own count of answers is the model's."""
    if int(learner.model.stats[st.LEARNT]) != votes:
        raise ArithmeticError(f"{votes} votes cannot be counted exactly")
