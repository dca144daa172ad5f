"""The inverse of a positive definite matrix, whole or only its diagonal, over the features of one round."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.learner import Arrays
from conquer.rows import SparseRows
from conquer.types import Floats

Columns = Any
"""The features a dense piece stands for: a slice of all, or their ids."""


class FullSpread:
    """S = V^-1, whole: up to a few hundred features.

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

    def gram(self, X: Floats, columns: Columns) -> Floats:
        """(K, K): X S X', symmetric."""
        return _symmetric(X @ self.S @ X.T)

    def add(self, z: Floats, columns: Columns, weight: float) -> None:
        """V += weight z z'."""
        direction = self.S @ z
        self._less(direction, weight / (1.0 + weight * max(0.0, float(z @ direction))))

    def shrink(self, z: Floats, columns: Columns, share: float) -> None:
        """S -= share (S z)(S z)'."""
        self._less(self.S @ z, share)

    def _less(self, direction: Floats, share: float) -> None:
        rest = self.S - np.outer(direction, direction) * share
        _check_spread(rest.diagonal())
        self.S = rest

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"spread": self.S}

    def restore(self, arrays: Arrays) -> None:
        (S,) = adopt(arrays, {"spread": (self.dim, self.dim)})
        if not np.array_equal(S, S.T) or (S.diagonal() <= 0).any():
            raise ValueError("array 'spread' must be symmetric with a positive diagonal")
        self.S = S


class DiagonalSpread:
    """S = V^-1 with V kept diagonal: millions of sparse features, only the round's own looked at.

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

    def gram(self, X: Floats, columns: Columns) -> Floats:
        """(K, K): X S X', symmetric."""
        return _symmetric((X * self.S[columns]) @ X.T)

    def add(self, z: Floats, columns: Columns, weight: float) -> None:
        """V_r += weight z_r^2."""
        old = self.S[columns]
        rest = old / (1.0 + weight * z * z * old)
        _check_spread(rest)
        self.S[columns] = rest

    def shrink(self, z: Floats, columns: Columns, share: float) -> None:
        """S_r -= share (S_r z_r)^2."""
        old = self.S[columns]
        rest = old - share * (old * z) ** 2
        _check_spread(rest)
        self.S[columns] = rest

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"spread": self.S}

    def restore(self, arrays: Arrays) -> None:
        (S,) = adopt(arrays, {"spread": (self.dim,)})
        if (S <= 0).any():
            raise ValueError("array 'spread' must be above 0")
        self.S = S


def _check_spread(diagonal: Floats) -> None:
    """An ArithmeticError where rounding has left nothing of a variance, as with values of very different sizes."""
    if not (diagonal > 0.0).all():
        raise ArithmeticError("the items' values are too far apart in size to learn from: scale them")


def all_features(X: SparseRows) -> Floats:
    """The items as a (K, D) array."""
    columns, values, where = _entries(X)
    dense = np.zeros((len(X), X.dim))
    dense[where, columns] = values
    return dense


def over_features(X: SparseRows) -> tuple[Any, Floats]:
    """The ids of the features these items have, rising, and the items as a (K, ids) array.

    >>> ids, items = over_features(SparseRows([0, 1, 2], [7, 2], [1.0, 3.0], dim=9))
    >>> ids.tolist(), items.tolist()
    ([2, 7], [[0.0, 1.0], [3.0, 0.0]])
    """
    ids, values, where = _entries(X)
    columns, places = np.unique(ids, return_inverse=True)
    dense = np.zeros((len(X), columns.size))
    dense[where, places] = values
    return columns, dense


Spread = FullSpread | DiagonalSpread
SPREADS: dict[str, type[FullSpread] | type[DiagonalSpread]] = {"full": FullSpread, "diagonal": DiagonalSpread}


def _entries(X: SparseRows) -> tuple[NDArray[np.int32], Floats, NDArray[np.int64]]:
    """(feature ids, values, item) of every stored entry of these items."""
    starts = X.indptr[X.rows]
    lengths = X.indptr[X.rows + 1] - starts
    where = np.repeat(np.arange(len(X)), lengths)
    if (lengths == lengths[0]).all():  # dense items, the arena's: half the time
        flat = (starts[:, None] + np.arange(lengths[0])).ravel()
        return X.indices[flat], X.data[flat], where
    ends = np.cumsum(lengths)
    flat = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
    return X.indices[flat], X.data[flat], where


def _symmetric(matrix: Floats) -> Floats:
    return 0.5 * (matrix + matrix.T)
