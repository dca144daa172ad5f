"""How well a model tells items apart: V = x' A^-1 x and B = ||A^-1 x||^2 for the differences x of all pairs of items,
the sum of |A^-1 x|, and how much the answers have told.

What items share cancels before anything is squared: v_i + v_j - 2 cross would lose every digit of it.
"""

from typing import Any

import numpy as np

from conquer.rows import SparseRows
from conquer.types import Floats, Ints

_BLOCK = 4096
"""Columns made dense at a time: rows of texts have very many, nearly all empty."""


def squared_distances(points: Any, metric: str = "sqeuclidean") -> Floats:
    """(K, K): ||p_i - p_j||^2 of the rows of an array or of a sparse matrix, each from its differences.

    With metric="cityblock" the sum of |p_i - p_j|.

    >>> squared_distances(np.array([[0.0, 1e9], [3.0, 1e9]])).tolist()
    [[0.0, 9.0], [9.0, 0.0]]
    """
    from scipy.spatial.distance import pdist, squareform

    count, dim = points.shape
    total = np.zeros(count * (count - 1) // 2)
    if count > 1:
        for start in range(0, dim, _BLOCK):
            block = points[:, start : start + _BLOCK]
            total += pdist(block if isinstance(block, np.ndarray) else block.toarray(), metric)
    return np.asarray(squareform(total), np.float64).reshape(count, count)


def alike(X: SparseRows) -> Ints:
    """(K,): for every row the first row that equals it: a matrix product may round two equal rows differently."""
    rows, first = X.csr(), dict[bytes, int]()
    rows.sort_indices()
    rows.eliminate_zeros()
    parts = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    keys = (rows.indices[a:b].tobytes() + b"," + rows.data[a:b].tobytes() for a, b in parts)
    return np.array([first.setdefault(key, k) for k, key in enumerate(keys)], np.int64)


def compact(X: SparseRows) -> Any:
    """The rows as a scipy CSR matrix of only the columns that they have."""
    from scipy.sparse import csr_array

    rows = X.csr()
    columns, places = np.unique(rows.indices, return_inverse=True)
    return csr_array((rows.data, places, rows.indptr), shape=(len(X), max(1, columns.size)))


def less_first(X: SparseRows) -> SparseRows:
    """The rows minus the first of them: what all share is gone."""
    rows = X.csr()
    gaps = rows - rows[np.zeros(len(X), np.int64)]
    return SparseRows(gaps.indptr, gaps.indices, gaps.data, X.dim)


def from_inverse(inverse: Floats, X: SparseRows) -> tuple[Floats, Floats, Floats]:
    """(V, B, L), (K, K) each, of the full model; L is the sum of |A^-1 x|."""
    same = alike(X)
    gaps = less_first(X).dense()
    narrowed, moved = (gaps @ root(inverse))[same], (gaps @ inverse)[same]
    return squared_distances(narrowed), squared_distances(moved), squared_distances(moved, "cityblock")


def log_det(matrix: Floats) -> float:
    """ln det of a symmetric positive matrix."""
    return 2.0 * float(np.log(np.linalg.cholesky(matrix).diagonal()).sum())


def root(matrix: Floats) -> Floats:
    """L with L L' = matrix, which is positive up to rounding.

    >>> root(np.array([[4.0, 0.0], [0.0, 0.0]])).round(6).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    try:
        return np.asarray(np.linalg.cholesky(matrix), np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        spanned: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
        return spanned


def polynomial_gaps(X: SparseRows, scale: float, degree: float) -> Floats:
    """(K, K): 2 - 2 k(phi_i, phi_j), k the polynomial kernel with k(x, x) = 1."""
    rows = X.csr()
    between = 1.0 + scale * (rows @ rows.T).toarray()
    own = np.sqrt(between.diagonal())
    gaps: Floats = np.maximum(0.0, 2.0 - 2.0 * (between / np.outer(own, own)) ** degree)
    return gaps


def from_factor(factor: Floats, once: Floats, own: Floats, same: Ints, lam: float) -> tuple[Floats, Floats]:
    """(V, B), (K, K) each, of the kernel model: V = (k(d, d) - s'k)/lam and B = (V - s's)/lam for each difference d.

    Here k are the kernels of d with the stored pairs and s = (lam I + G)^-1 k. `factor` F (t, t) is the Cholesky factor
    of lam I + G, `once` (K, t) F^-1 k of the items, `own` (K, K) k(d, d), `same` what `alike` says.
    """
    from scipy.linalg import solve_triangular

    V = own.copy()
    squares = np.zeros_like(own)
    if once.shape[1]:
        V -= squared_distances(once[same])
        squares += squared_distances(solve_triangular(factor, once.T, lower=True, trans="T").T[same])
    V = np.maximum(0.0, V) / lam
    V[same[:, None] == same] = 0.0
    return V, np.maximum(0.0, V - squares) / lam
