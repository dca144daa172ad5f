"""The inverse of a positive definite matrix, whole or only its diagonal, over the features of one round."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.estimators.items import all_features, over_features
from conquer.rivals.learner import Arrays, finite
from conquer.rows import SparseRows
from conquer.types import Floats

Columns = Any
"""The features a dense piece stands for: a slice of all, or their ids."""
FARTHEST = 1e14
"""V's sum of eigenvalues over lam, at most: beyond it rounding may cost V^-1 its positive definiteness."""
TOO_FAR = "values as large as {:g} are too large beside lam to learn from: scale the items, or raise lam"


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

    def variances(self, X: Floats, columns: Columns) -> Floats:
        """(n,): x'S x of every row."""
        return np.asarray(np.maximum(((X @ self.S) * X).sum(axis=1), 0.0))

    def add(self, z: Floats, columns: Columns, weight: float) -> None:
        """V += weight z z'."""
        direction = self.S @ z
        self._less(z, direction, weight / (1.0 + weight * max(0.0, float(z @ direction))))

    def shrink(self, z: Floats, columns: Columns, share: float) -> None:
        """S -= share (S z)(S z)'."""
        self._less(z, self.S @ z, share)

    def _less(self, z: Floats, direction: Floats, share: float) -> None:
        rest = self.S - np.outer(direction, direction) * share
        finite(rest)
        _check_spread(rest.diagonal())
        # Along z the least is left, so rounding shows there first: before S is no longer positive definite.
        before = float(z @ direction)
        left = before * (1.0 - share * before)
        if abs(float(z @ rest @ z) - left) > 0.01 * left + 1e-300:
            raise ArithmeticError(TOO_FAR.format(float(np.abs(z).max())))
        self.S = rest

    def kept(self, columns: Columns) -> Floats:
        """What `put_back` needs to undo everything from here on."""
        return self.S

    def put_back(self, columns: Columns, kept: Floats) -> None:
        self.S = kept

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

    def variances(self, X: Floats, columns: Columns) -> Floats:
        """(n,): x'S x of every row."""
        return np.asarray((X * X) @ self.S[columns])

    def add(self, z: Floats, columns: Columns, weight: float) -> None:
        """V_r += weight z_r^2."""
        old = self.S[columns]
        rest = old / (1.0 + weight * z * z * old)
        finite(rest)
        _check_spread(rest)
        self.S[columns] = rest

    def shrink(self, z: Floats, columns: Columns, share: float) -> None:
        """S_r -= share (S_r z_r)^2."""
        old = self.S[columns]
        rest = old - share * (old * z) ** 2
        finite(rest)
        _check_spread(rest)
        self.S[columns] = rest

    def kept(self, columns: Columns) -> Floats:
        """What `put_back` needs to undo everything at these features from here on."""
        return np.asarray(self.S[columns])

    def put_back(self, columns: Columns, kept: Floats) -> None:
        self.S[columns] = kept

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


def inverse(V: Floats, lam: float) -> Floats:
    """(n, n): V^-1, symmetric, for V = lam I and more; an ArithmeticError where rounding would lose lam beside it.

    >>> inverse(np.diag([1.0, 2.0]), 1.0).tolist()
    [[1.0, 0.0], [0.0, 0.5]]
    """
    finite(V)
    if V.diagonal().sum() > FARTHEST * lam:
        raise ArithmeticError(TOO_FAR.format(float(V.diagonal().max() ** 0.5)))
    found = np.linalg.inv(V)
    return np.asarray(0.5 * (found + found.T))


Spread = FullSpread | DiagonalSpread
SPREADS: dict[str, type[FullSpread] | type[DiagonalSpread]] = {"full": FullSpread, "diagonal": DiagonalSpread}
