"""Dense arrays of a round's items, and the inverse covariance V^-1 over their features, full or diagonal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.estimator import Measured
from conquer.rivals.learner import Arrays, finite
from conquer.rows import SparseRows
from conquer.types import Floats

Columns = slice | NDArray[np.int32]
"""The features of a dense array's columns: a slice of all of them, or their ids."""
LARGEST_RATIO = 1e14
"""The largest trace of V over lam: beyond it, rounding may cost V^-1 its positive definiteness."""
TOO_LARGE = "values as large as {:g} are too large for lam: scale the items, or raise lam"


def all_features(X: SparseRows) -> Floats:
    """The items as a (K, D) array."""
    columns, values, where = _entries(X)
    dense = np.zeros((len(X), X.dim))
    dense[where, columns] = values
    return dense


def over_features(X: SparseRows) -> tuple[NDArray[np.int32], Floats]:
    """The sorted ids of the features these items have, and the items as a (K, ids) array.

    >>> ids, items = over_features(SparseRows([0, 1, 2], [7, 2], [1.0, 3.0], dim=9))
    >>> ids.tolist(), items.tolist()
    ([2, 7], [[0.0, 1.0], [3.0, 0.0]])
    """
    ids, values, where = _entries(X)
    columns, places = np.unique(ids, return_inverse=True)
    dense = np.zeros((len(X), columns.size))
    dense[where, places] = values
    return columns, dense


def _entries(X: SparseRows) -> tuple[NDArray[np.int32], Floats, NDArray[np.int64]]:
    """(feature ids, values, item) of every stored entry of these items."""
    starts = X.indptr[X.rows]
    lengths = X.indptr[X.rows + 1] - starts
    ends = np.cumsum(lengths)
    flat = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
    return X.indices[flat], X.data[flat], np.repeat(np.arange(len(X)), lengths)


@lru_cache(maxsize=64)
def pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All i < j below `count`, as two arrays."""
    return np.triu_indices(count, 1)


def between(items: Floats, squares: Callable[[Floats], Floats]) -> Floats:
    """(K, K): `squares` of the differences x_i - x_j, 0 on the diagonal.

    The differences themselves are squared: g_ii + g_jj - 2 g_ij cancels where the items share a large value.

    >>> between(np.array([[1e9, 0.0], [1e9, 0.5]]), lambda Z: (Z * Z).sum(axis=1)).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    rows, columns = pairs(len(items))
    found = np.zeros((len(items), len(items)))
    step = max(1, 2**18 // max(1, items.shape[1]))  # bounds the memory at a few megabytes
    for start in range(0, rows.size, step):
        i, j = rows[start : start + step], columns[start : start + step]
        found[i, j] = found[j, i] = squares(items[i] - items[j])
    return found


class FullSpread:
    """S = V^-1 as a full matrix, for up to a few hundred features.

    >>> spread = FullSpread(2, lam=1.0)
    >>> spread.add(np.array([1.0, 0.0]), slice(None), 1.0)
    >>> spread.S.tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """

    def __init__(self, dim: int, lam: float) -> None:
        self.dim = dim
        self.S: Floats = np.eye(dim) / lam

    def local(self, X: SparseRows) -> tuple[Columns, Floats]:
        """All features, and the items as a (K, D) array."""
        return slice(None), all_features(X)

    def times(self, z: Floats, columns: Columns) -> Floats:
        """S z."""
        return self.S @ z

    def variances(self, X: Floats, columns: Columns) -> Floats:
        """(n,): x'S x of every row."""
        return np.asarray(np.maximum(((X @ self.S) * X).sum(axis=1), 0.0))

    def add(self, z: Floats, columns: Columns, weight: float) -> None:
        """V += weight z z'."""
        direction = self.S @ z
        self._subtract(z, direction, weight / (1.0 + weight * max(0.0, float(z @ direction))))

    def shrink(self, z: Floats, columns: Columns, share: float) -> None:
        """S -= share (S z)(S z)'."""
        self._subtract(z, self.S @ z, share)

    def _subtract(self, z: Floats, direction: Floats, share: float) -> None:
        rest = self.S - np.outer(direction, direction) * share
        finite(rest)
        _check_positive(rest.diagonal())
        # The variance shrinks most along z, so rounding errors show there before S loses positive definiteness.
        before = float(z @ direction)
        expected = before * (1.0 - share * before)
        if abs(float(z @ rest @ z) - expected) > 0.01 * expected + 1e-300:
            raise ArithmeticError(TOO_LARGE.format(float(np.abs(z).max())))
        self.S = rest

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"spread": self.S}

    def restore(self, arrays: Arrays) -> None:
        (S,) = adopt(arrays, {"spread": (self.dim, self.dim)})
        if not np.array_equal(S, S.T) or (S.diagonal() <= 0).any():
            raise ValueError("array 'spread' must be symmetric with a positive diagonal")
        self.S = S


class DiagonalSpread:
    """S = V^-1 with V kept diagonal, for millions of sparse features: a step touches only those of its round.

    >>> spread = DiagonalSpread(2, lam=2.0)
    >>> spread.add(np.array([1.0]), np.array([1]), 2.0)
    >>> spread.S.tolist()
    [0.5, 0.25]
    """

    def __init__(self, dim: int, lam: float) -> None:
        self.dim = dim
        self.S: Floats = np.full(dim, 1.0 / lam)

    def local(self, X: SparseRows) -> tuple[Columns, Floats]:
        """The ids of the features of these items, and the items as a (K, ids) array."""
        return over_features(X)

    def times(self, z: Floats, columns: Columns) -> Floats:
        """S z."""
        return np.asarray(self.S[columns] * z)

    def variances(self, X: Floats, columns: Columns) -> Floats:
        """(n,): x'S x of every row."""
        return np.asarray((X * X) @ self.S[columns])

    def add(self, z: Floats, columns: Columns, weight: float) -> None:
        """V_r += weight z_r^2."""
        old = self.S[columns]
        self._replace(columns, old / (1.0 + weight * z * z * old))

    def shrink(self, z: Floats, columns: Columns, share: float) -> None:
        """S_r -= share (S_r z_r)^2."""
        old = self.S[columns]
        self._replace(columns, old - share * (old * z) ** 2)

    def _replace(self, columns: Columns, values: Floats) -> None:
        finite(values)
        _check_positive(values)
        self.S[columns] = values

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"spread": self.S}

    def restore(self, arrays: Arrays) -> None:
        (S,) = adopt(arrays, {"spread": (self.dim,)})
        if (S <= 0).any():
            raise ValueError("array 'spread' must be above 0")
        self.S = S


Spread = FullSpread | DiagonalSpread
SPREADS: dict[str, type[FullSpread] | type[DiagonalSpread]] = {"full": FullSpread, "diagonal": DiagonalSpread}


class Posterior:
    """theta (D,) beside its spread V^-1, which starts at I/lam: scores, widths and files."""

    def __init__(self, dim: int, *, lam: float, model: str) -> None:
        self.dim = dim
        self.theta: Floats = np.zeros(dim)
        self.spread: Spread = SPREADS[model](dim, lam)

    def scores(self, X: SparseRows) -> Floats:
        columns, items = self.spread.local(X)
        return np.asarray(items @ self.theta[columns])

    def measure(self, X: SparseRows) -> Measured:
        columns, items = self.spread.local(X)
        squares = between(items, lambda Z: self.spread.variances(Z, columns))
        return items @ self.theta[columns], self.spread.variances(items, columns), squares

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"theta": self.theta, **self.spread.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (theta,) = adopt(arrays, {"theta": (self.dim,)})
        self.spread.restore(arrays)
        self.theta = theta


@contextmanager
def rolled_back(spread: Spread, columns: Columns) -> Iterator[None]:
    """Undo the block's changes of the spread at these columns if it ends in an ArithmeticError."""
    before = spread.S[columns].copy()
    try:
        yield
    except ArithmeticError:
        spread.S[columns] = before
        raise


def _check_positive(diagonal: Floats) -> None:
    """Raise where rounding has left a variance of 0, as with values of very different sizes."""
    if not (diagonal > 0.0).all():
        raise ArithmeticError("the items' values are too far apart in size to learn from: scale them")


def inverse(V: Floats, lam: float) -> Floats:
    """(n, n): the symmetric V^-1 of a V that is at least lam I; an ArithmeticError where rounding would lose lam."""
    finite(V)
    if V.diagonal().sum() > LARGEST_RATIO * lam:
        raise ArithmeticError(TOO_LARGE.format(float(V.diagonal().max() ** 0.5)))
    found = np.linalg.inv(V)
    return np.asarray(0.5 * (found + found.T))
