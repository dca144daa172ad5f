"""The work of every contender: sparse items with Zipf-distributed features, in rounds drawn from a seed."""

import numpy as np
from numpy.typing import NDArray

from conquer.rows import Rounds, SparseRows
from conquer.types import Floats, Ints

PAPER_DIM = 6_255_811
"""Features of the paper's 33 domains together."""


def zipf_items(items: int, nonzeros: int, dim: int, *, seed: int) -> SparseRows:
    """(items, dim) unit rows of `nonzeros` distinct features each; feature r occurs in proportion to 1/(r + 1).

    Frequent features have small ids, as a vocabulary numbers them; entries are in random order within a row.

    >>> zipf_items(3, 5, 100, seed=0).indptr.tolist()
    [0, 5, 10, 15]
    """
    if not 1 <= nonzeros <= dim:
        raise ValueError(f"nonzeros must be in [1, {dim}], got {nonzeros}")
    rng = np.random.default_rng(seed)
    indices = np.empty((items, nonzeros), np.int32)
    todo = np.arange(items)
    short = _distinct(rng, items, nonzeros, dim, indices)
    while (todo := todo[short]).size:
        part = np.empty((todo.size, nonzeros), np.int32)
        short = _distinct(rng, todo.size, nonzeros, dim, part)
        indices[todo] = part
    data = rng.random((items, nonzeros)) + 0.1
    data /= np.sqrt((data * data).sum(axis=1, keepdims=True))
    indptr = np.arange(items + 1, dtype=np.int64) * nonzeros
    return SparseRows(indptr, indices.ravel(), data.ravel(), dim)


def _distinct(
    rng: np.random.Generator, items: int, nonzeros: int, dim: int, out: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Fill `out` with distinct features of each item in random order; returns which items came out short."""
    # A rank whose logarithm is uniform follows Zipf's law; frequent ranks repeat, so more are drawn than needed.
    spare = min(4 * nonzeros, nonzeros + nonzeros // 2 + 64)
    ranks = np.minimum(np.exp(rng.random((items, spare)) * np.log(dim + 1.0)).astype(np.int32) - 1, dim - 1)
    ranks = np.maximum(ranks, 0)
    order = np.argsort(ranks, axis=1, kind="stable")
    inverse = np.take_along_axis(ranks, order, axis=1)
    fresh = np.ones(ranks.shape, np.bool_)
    np.put_along_axis(fresh, order[:, 1:], inverse[:, 1:] != inverse[:, :-1], axis=1)
    count = fresh.cumsum(axis=1)
    enough: NDArray[np.bool_] = count[:, -1] >= nonzeros
    taken = fresh & (count <= nonzeros) & enough[:, None]
    out[enough] = ranks[taken].reshape(-1, nonzeros)
    return ~enough


def draw_rounds(X: SparseRows, rounds: int, count: int, *, seed: int) -> Rounds:
    """`rounds` rounds of `count` distinct rows of X with uniform rewards in [-1, 1]."""
    rng = np.random.default_rng(seed)
    sets: Ints = rng.integers(0, len(X), (rounds, count))
    for t in np.flatnonzero((np.diff(np.sort(sets, axis=1), axis=1) == 0).any(axis=1)):
        sets[t] = rng.choice(len(X), count, replace=False)
    rewards: Floats = rng.random(len(X)) * 2.0 - 1.0
    return Rounds(X, sets, rewards)
