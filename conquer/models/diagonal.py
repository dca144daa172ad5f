"""Models over a table of w and 1/A, 16 bytes a feature: the diagonal model for millions of features; the perceptron."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, one_of
from conquer.files import adopt
from conquer.kernels.models.diagonal import INVERSE, W
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.primitives import DiagonalState
from conquer.models.model import CompiledModel, check_mergeable
from conquer.models.tables import aligned_table, fresh_table
from conquer.types import Floats

UPDATES = {"implicit": st.IMPLICIT, "margin": st.MARGIN, "coordinate": st.COORDINATE}


def checked_feature_ids(arrays: Mapping[str, NDArray[Any]], dim: int) -> NDArray[np.int32]:
    """The stored feature ids: int32, rising, within [0, dim)."""
    ids = arrays.get("ids")
    if ids is None or ids.dtype != np.int32 or ids.ndim != 1:
        raise ValueError(f"array 'ids' must be int32 with one dimension, got {ids!r}")
    if ids.size and (ids[0] < 0 or ids[-1] >= dim or (np.diff(ids) <= 0).any()):
        raise ValueError(f"feature ids must rise within [0, {dim})")
    return ids


class Diagonal(CompiledModel):
    """w and a diagonal A over `dim` features.

    `update`: "implicit" (the full step from a diagonal A: contracts for every lam), "margin" (the paper's table
    form; needs lam >= 1/2 for unit rows) or "coordinate" (the paper's line read per coordinate; its statistics add).
    `forget`, f in (0, 1]: before a step A_r of every feature r of u becomes max(lam, f A_r); other features stay.

    >>> model = Diagonal(3)
    >>> model.update([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], {0: 0.5, 1: -0.5}, +1)
    >>> model.weights().round(3).tolist()
    [0.333, -0.333, 0.0]
    """

    remedy = "a larger lam or update='implicit' keeps it finite"

    def __init__(
        self,
        dim: int,
        *,
        lam: float = 1.0,
        update: str = "implicit",
        projection: str | None = None,
        forget: float = 1.0,
    ) -> None:
        share = number("forget", forget, 0, 1, above=True)
        code = one_of("update", update, UPDATES)
        super().__init__(dim, lam=lam, projection=projection, update=code, forget=share)
        self.settings |= {"update": update, "forget": self.constants.forget}
        self.table = fresh_table(self.dim, 1.0 / self.lam)
        self.fresh = float(self.table[0, INVERSE])
        """1/A of a feature that no step has changed."""
        self._bind()

    def _bind(self) -> None:
        self.state = DiagonalState(self.table, self.stats, self.work, np.array(self.constants))

    def weights(self) -> Floats:
        """(D,): a copy of w."""
        return self.table[:, W].copy()

    def _inverse_times(self, x: Floats) -> Floats:
        product: Floats = x * self.table[:, INVERSE]
        return product

    def precision(self) -> Floats:
        """(D,): the diagonal of A."""
        return 1.0 / self.table[:, INVERSE]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The features that have moved, ids ascending: w and 1/A."""
        moved = (self.table[:, W] != 0.0) | (self.table[:, INVERSE] != self.fresh)
        ids = np.flatnonzero(moved).astype(np.int32)
        w, inverse = (self.table[ids, column] for column in (W, INVERSE))
        return {"ids": ids, "weights": w, "inverse": inverse, "stats": self.stats}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        ids = checked_feature_ids(arrays, self.dim)
        shapes = {"weights": ids.shape, "inverse": ids.shape, "stats": self.stats.shape}
        w, inverse, stats = adopt(arrays, shapes, copy=False)
        if (inverse <= 0).any() or (inverse > self.fresh).any() or (stats < 0).any():
            raise ValueError(f"1/A must be above 0, at most 1/lam = {self.fresh}, and statistics not negative")
        self._check_fits(w, inverse)
        self.table[ids, W], self.table[ids, INVERSE] = w, inverse
        self.stats[:] = stats

    def _check_fits(self, w: Floats, inverse: Floats) -> None:
        """Raise where the table cannot hold these weights and 1/A."""
        if not np.isfinite(w).all() or not (inverse >= np.finfo(np.float64).tiny).all():  # also refuses NaN
            raise ValueError("weights and 1/A must be finite numbers, and 1/A not below the smallest normal one")

    def merge(self, other: "Diagonal") -> None:
        """Add what `other` learnt from other answers: A - lam and b = A w add. Coordinate updates only."""
        check_mergeable(self, other)
        if self.constants.update != st.COORDINATE or other.constants.update != st.COORDINATE:
            raise ValueError("only update='coordinate' has statistics that add; margin and implicit depend on order")
        mine, theirs = self.precision(), other.precision()
        total = mine + (theirs - 1.0 / other.fresh)
        w, inverse = (mine * self.weights() + theirs * other.weights()) / total, 1.0 / total
        self._check_fits(w, inverse)
        self.table[:, W], self.table[:, INVERSE] = w, inverse
        self.stats += other.stats


class Perceptron(CompiledModel):
    """Banditron's model: w += sum_k weights[k] X[k], whatever the target. Memory is touched only where w has moved.

    >>> model = Perceptron(2)
    >>> model.update([[1.0, 2.0]], {0: 1.0}, +1)
    >>> model.weights().tolist()
    [1.0, 2.0]
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim, lam=1.0, projection=None, update=st.PERCEPTRON)
        self.table = aligned_table(self.dim)
        self._bind()

    def _bind(self) -> None:
        self.state = DiagonalState(self.table, self.stats, self.work, np.array(self.constants))

    def weights(self) -> Floats:
        """(D,): a copy of w."""
        return self.table[:, W].copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The features that have moved: ids and w."""
        ids = np.flatnonzero(self.table[:, W]).astype(np.int32)
        return {"ids": ids, "weights": self.table[ids, W], "stats": self.stats}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        ids = checked_feature_ids(arrays, self.dim)
        w, stats = adopt(arrays, {"weights": ids.shape, "stats": self.stats.shape}, copy=False)
        self.table[ids, W] = w
        self.stats[:] = stats
