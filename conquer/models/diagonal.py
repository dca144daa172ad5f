"""The diagonal model: millions of sparse features at 16 bytes each, or 8."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import one_of
from conquer.files import adopt
from conquer.kernels.models import diagonal_calls
from conquer.kernels.models.cells import INVERSE, W
from conquer.kernels.rounds import settings as st
from conquer.models.cells import fresh_cells
from conquer.models.model import CompiledModel, check_mergeable
from conquer.types import Floats

UPDATES = {"implicit": st.IMPLICIT, "margin": st.MARGIN, "coordinate": st.COORDINATE}
STORAGES = {"float64": 8, "float32": 4}
_NUMBERED = 1 << 24
"""How many whole numbers float32 tells apart."""


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
    form; wants lam >= 1/2 for unit rows) or "coordinate" (the paper's line read per coordinate; its statistics add).
    `storage`: "float64", or "float32" for half the memory. Sums are float64 either way, but what a step makes of a
    feature is rounded to float32, up or down by chance: after n steps of a feature its A is off by 6e-8 sqrt(n) of
    itself (one standard deviation, at most), 6e-5 after a million.

    >>> model = Diagonal(3)
    >>> model.update([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], {0: 0.5, 1: -0.5}, +1)
    >>> model.weights().round(3).tolist()
    [0.333, -0.333, 0.0]
    """

    calls = diagonal_calls
    remedy = "a larger lam or update='implicit' keeps it finite"

    def __init__(
        self,
        dim: int,
        *,
        lam: float = 1.0,
        update: str = "implicit",
        projection: str | None = None,
        storage: str = "float64",
    ) -> None:
        super().__init__(dim, lam=lam, projection=projection)
        self.plan[st.UPDATE] = one_of("update", update, UPDATES)
        self.settings |= {"update": update, "storage": storage}
        size = one_of("storage", storage, STORAGES)
        if size == 4:
            if not 1e-15 <= self.lam <= 1e15:
                raise ValueError(f"lam must be in [1e-15, 1e15] with storage='float32', got {self.lam}")
            if self.dim > _NUMBERED:
                raise ValueError(f"storage='float32' takes at most {_NUMBERED:,} features, got {self.dim:,}")
            # Neither A nor w leaves the range of float32, and the places of features in a step stay whole numbers.
            self.knobs[[st.LARGEST, st.MOST]] = 1e12, _NUMBERED
        self.cells = fresh_cells(self.dim, size, 1.0 / self.lam)
        self.state = (self.cells, self.stats)
        self.fresh = float(self.cells[0, INVERSE])
        """1/A of a feature that nothing has moved."""

    def weights(self) -> Floats:
        """(D,): a copy of w."""
        return self.cells[:, W].astype(np.float64)

    def _inverse_times(self, x: Floats) -> Floats:
        product: Floats = x * self.cells[:, INVERSE]
        return product

    def precision(self) -> Floats:
        """(D,): the diagonal of A."""
        return 1.0 / self.cells[:, INVERSE].astype(np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The features that have moved, ids ascending: w and 1/A."""
        moved = (self.cells[:, W] != 0.0) | (self.cells[:, INVERSE] != self.fresh)
        ids = np.flatnonzero(moved).astype(np.int32)
        w, inverse = (self.cells[ids, column].astype(np.float64) for column in (W, INVERSE))
        return {"ids": ids, "weights": w, "inverse": inverse, "stats": self.stats}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        ids = checked_feature_ids(arrays, self.dim)
        shapes = {"weights": ids.shape, "inverse": ids.shape, "stats": self.stats.shape}
        w, inverse, stats = adopt(arrays, shapes, copy=False)
        if (inverse <= 0).any() or (inverse > self.fresh).any() or (stats < 0).any():
            raise ValueError(f"1/A must be above 0, at most 1/lam = {self.fresh}, and statistics not negative")
        self._check_fits(w, inverse)
        self.cells[ids, W], self.cells[ids, INVERSE] = w, inverse
        self.stats[:] = stats

    def _check_fits(self, w: Floats, inverse: Floats) -> None:
        """Raise where the cells cannot hold these weights and 1/A."""
        limits = np.finfo(self.cells.dtype)
        # Written so that NaN does not fit.
        if not (np.abs(w) <= limits.max).all() or not (inverse >= limits.tiny).all():
            raise ValueError(f"weights and 1/A must fit into {self.cells.dtype}")

    def merge(self, other: "Diagonal") -> None:
        """Add what `other` learnt from other answers: A - lam and b = A w add. Coordinate updates only."""
        check_mergeable(self, other)
        if self.plan[st.UPDATE] != st.COORDINATE or other.plan[st.UPDATE] != st.COORDINATE:
            raise ValueError("only update='coordinate' has statistics that add; margin and implicit depend on order")
        mine, theirs = self.precision(), other.precision()
        total = mine + (theirs - 1.0 / other.fresh)
        w, inverse = (mine * self.weights() + theirs * other.weights()) / total, 1.0 / total
        self._check_fits(w, inverse)
        self.cells[:, W], self.cells[:, INVERSE] = w, inverse
        self.stats += other.stats
