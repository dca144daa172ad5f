"""The kernel model: CONQUER in the dual, for tastes that are not linear in the features."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import one_of, positive, whole
from conquer.files import adopt
from conquer.kernels.models.dual import ALPHA, COEFFICIENT, ENTRIES, ITEMS, NORM, PAIRS, RHS, SOLVED, SQUARE
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.primitives import DualState
from conquer.models.model import CompiledModel, check_mergeable
from conquer.rows import SparseRows, as_rows
from conquer.types import Floats, Ints

KERNELS = {"linear": st.LINEAR, "rbf": st.RBF, "poly": st.POLY}


class Kernel(CompiledModel):
    """Scores k_U(x)' (lam I + G)^-1 y over the shown half-differences U; t^2 work per answer, t the stored pairs.

    `kernel`: "linear" (equals the full model), "rbf" exp(-scale ||x - y||^2), "poly" (scale x.y + 1)^degree, the last
    two with k(x, x) = 1. `budget`: the largest number of stored pairs. Beyond it the pair with the smallest
    |alpha| ||u|| is dropped; ties drop the oldest; the newest is kept.

    >>> model = Kernel(2, kernel="linear")
    >>> model.update([[1.0, 0.0], [0.0, 1.0]], {0: 0.5, 1: -0.5}, +1)
    >>> model.scores([[1.0, 0.0]]).round(3).tolist()
    [0.333]
    """

    exact, grows = True, True
    indptr: Ints
    owner: Ints
    indices: NDArray[np.int32]
    data: Floats
    item: Floats
    pair: Floats
    factor: Floats

    def __init__(
        self,
        dim: int,
        *,
        lam: float = 1.0,
        kernel: str = "rbf",
        scale: float = 1.0,
        degree: int = 2,
        budget: int | None = None,
        projection: str | None = None,
    ) -> None:
        if budget is not None and projection is not None:
            raise ValueError("budget bounds the stored pairs, and projection stores items besides: choose one")
        super().__init__(
            dim,
            lam=lam,
            projection=projection,
            kernel=one_of("kernel", kernel, KERNELS),
            scale=positive("scale", scale),
            degree=float(whole("degree", degree, 1, 20)),
            budget=0 if budget is None else whole("budget", budget, 1),
        )
        self.settings |= {"kernel": kernel, "scale": float(scale), "degree": int(degree), "budget": budget}
        self.counts: Ints = np.zeros(3, np.int64)
        self.dense = np.zeros(self.dim)
        self._allocate(pairs=16, items=64, entries=1024)

    def _allocate(self, pairs: int, items: int, entries: int) -> None:
        """Arrays of these capacities, holding what the present ones hold.

        All are made before any is replaced: memory may run out between.
        """
        count = max(2, self.work.shape[1])
        work, room = self._work(count), np.zeros((3, count, pairs))
        indptr, owner = np.zeros(items + 1, np.int64), np.zeros(items, np.int64)
        indices, data = np.zeros(entries, np.int32), np.zeros(entries)
        item, pair, factor = np.zeros((items, 2)), np.zeros((3, pairs)), np.zeros((pairs, pairs))
        if self.state is not None:
            used_items, used_pairs, used = self.counts
            indptr[: used_items + 1], owner[:used_items] = self.indptr[: used_items + 1], self.owner[:used_items]
            indices[:used], data[:used] = self.indices[:used], self.data[:used]
            item[:used_items], pair[:, :used_pairs] = self.item[:used_items], self.pair[:, :used_pairs]
            factor[:used_pairs, :used_pairs] = self.factor[:used_pairs, :used_pairs]
        self.indptr, self.indices, self.data, self.owner = indptr, indices, data, owner
        self.item, self.factor, self.pair, self.work, self.room = item, factor, pair, work, room
        self._bind()

    def _resize(self, count: int) -> None:
        self.work, self.room = self._work(count), np.zeros((3, count, self.factor.shape[0]))
        self._bind()

    def _bind(self) -> None:
        arrays = self.indptr, self.indices, self.data, self.owner, self.item, self.factor, self.pair
        constants = np.array(self.constants)
        self.state = DualState(self.counts, *arrays, self.room, self.dense, self.stats, self.work, constants)

    def make_room(self, X: SparseRows) -> None:
        entries = int((X.indptr[X.rows + 1] - X.indptr[X.rows]).sum())
        needs = (
            int(self.counts[PAIRS]) + 1,
            int(self.counts[ITEMS]) + 2 * len(X),
            int(self.counts[ENTRIES]) + 2 * entries,
        )
        has = (self.factor.shape[0], self.owner.size, self.data.size)
        if any(need > have for need, have in zip(needs, has, strict=True)):
            pairs, items, room = (
                max(2 * have, need) if need > have else have for need, have in zip(needs, has, strict=True)
            )
            self._allocate(pairs, items, room)

    def gain(self, mixing: float) -> float:
        from conquer.models.separation import log_det  # only boards need it

        count = int(self.counts[PAIRS])
        factor = np.tril(self.factor[:count, :count])
        return max(0.0, log_det(np.eye(count) + (factor @ factor.T - self.lam * np.eye(count)) / mixing))

    def pairs(self, X: Any) -> tuple[Floats, Floats, Floats | None]:
        from conquer.models import separation  # only boards need it

        rows, kind = as_rows(X, self.dim), self.constants.kernel
        scale, degree = self.constants.scale, self.constants.degree
        met = separation.less_first(rows) if kind == st.LINEAR else rows
        with self.in_use():
            self.variances(met)  # fills room[SOLVED]
            count = int(self.counts[PAIRS])
            once, factor = self.room[SOLVED, : len(rows), :count].copy(), np.tril(self.factor[:count, :count])
        if kind == st.POLY:
            own = separation.polynomial_gaps(rows, scale, degree)
        else:
            own = separation.squared_distances(separation.compact(rows))
            own = own if kind == st.LINEAR else -2.0 * np.expm1(-scale * own)  # 2 - 2 k without its cancellation
        return *separation.from_factor(factor, once, own, separation.alike(rows), self.lam), None

    def weights(self) -> Floats:
        """(D,): w, where the kernel is linear; with projection not the projected one, which depends on a round."""
        owner = self._stored()[1]
        return self._spread(np.where(owner < 0, 1.0 / self.lam, self.pair[ALPHA, owner]))

    def _stored(self) -> tuple[Ints, Ints]:
        """(items,) each: how many entries an item has, and the pair it belongs to; a linear kernel's only."""
        if self.constants.kernel != st.LINEAR:
            raise ValueError("only a linear kernel has weights over the features")
        items = int(self.counts[ITEMS])
        return np.diff(self.indptr[: items + 1]), self.owner[:items]

    def _spread(self, factors: Floats) -> Floats:
        """(D,): the sum of the stored items, each times its coefficient and its factor."""
        sizes, owner = self._stored()
        each = factors * self.item[: owner.size, COEFFICIENT]
        values = self.data[: int(self.counts[ENTRIES])] * np.repeat(each, sizes)
        return np.bincount(self.indices[: values.size], values, self.dim).astype(np.float64)

    def _inverse_times(self, x: Floats) -> Floats:
        # (x - U' (lam I + G)^-1 U x) / lam.
        sizes, owner = self._stored()
        pairs, entries = int(self.counts[PAIRS]), int(self.counts[ENTRIES])
        terms = self.data[:entries] * x[self.indices[:entries]]
        products = np.bincount(np.repeat(np.arange(owner.size), sizes), terms, owner.size)
        mine = owner >= 0
        met = np.bincount(owner[mine], (products * self.item[: owner.size, COEFFICIENT])[mine], pairs)
        factor = np.tril(self.factor[:pairs, :pairs])
        solved = np.linalg.solve(factor.T, np.linalg.solve(factor, met))
        return (x - self._spread(np.where(mine, np.append(solved, 0.0)[owner], 0.0))) / self.lam

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The stored items as sparse rows, each with its pair and weight, the answers and the packed factor."""
        items, pairs, entries = self.counts
        return {
            "indptr": self.indptr[: items + 1],
            "indices": self.indices[:entries],
            "data": self.data[:entries],
            "owner": self.owner[:items],
            "item": self.item[:items],
            "factor": self.factor[np.tril_indices(pairs)],
            "pair": np.ascontiguousarray(self.pair[:, :pairs]),
            "stats": self.stats,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        rows = SparseRows(arrays["indptr"], arrays["indices"], arrays["data"], self.dim)
        items, entries, owner = len(rows), rows.data.size, arrays["owner"]
        pairs = int(arrays["pair"].shape[1]) if arrays["pair"].ndim == 2 else -1
        if rows.indptr[0] != 0 or rows.indptr[-1] != entries or owner.dtype != np.int64 or owner.shape != (items,):
            raise ValueError(f"the stored items must be packed rows with one int64 owner each, got {owner.shape}")
        if items and (owner.min() < -1 or owner.max() >= pairs):
            raise ValueError(f"owners must be in [-1, {pairs}), got [{owner.min()}, {owner.max()}]")
        shapes = {
            "item": (items, 2),
            "pair": (3, pairs),
            "factor": (pairs * (pairs + 1) // 2,),
            "stats": self.stats.shape,
        }
        item, pair, factor, stats = adopt(arrays, shapes, copy=False)
        with np.errstate(over="ignore"):  # beyond all numbers they are not those of the items, which is refused below
            squares = np.add.reduceat(np.append(rows.data**2, 0.0), rows.indptr[:-1]) if items else np.empty(0)
        squares[np.diff(rows.indptr) == 0] = 0.0
        if not np.allclose(item[:, SQUARE], squares, rtol=1e-9, atol=0.0) or (pairs and (pair[NORM] < 0).any()):
            raise ValueError("the stored squares must be those of the stored items, and norms not negative")
        if (stats < 0).any() or (pairs and (factor[np.cumsum(np.arange(1, pairs + 1)) - 1] <= 0).any()):
            raise ValueError("the factor's diagonal must be above 0 and statistics not negative")
        self._allocate(max(pairs, 16), max(items, 64), max(entries, 1024))
        self.indptr[: items + 1], self.indices[:entries], self.data[:entries] = rows.indptr, rows.indices, rows.data
        self.owner[:items], self.item[:items], self.pair[:, :pairs] = owner, item, pair
        self.factor[np.tril_indices(pairs)] = factor
        self.counts[:], self.stats[:] = (items, pairs, entries), stats

    def merge(self, other: "Kernel") -> None:
        """Learn the other's pairs as well: with the same kernel, the order of pairs does not matter."""
        check_mergeable(self, other)
        if self.constants != other.constants or self.constants.budget > 0:
            raise ValueError("kernel models merge only with one kernel and without a budget")
        items, pairs, entries = (int(n) for n in other.counts)
        stored = SparseRows(other.indptr[: items + 1], other.indices[:entries], other.data[:entries], self.dim)
        before, alpha = self.counts.copy(), self.pair[ALPHA, : self.counts[PAIRS]].copy()
        stats = self.stats.copy()
        merged = False
        try:
            for pair in range(pairs):
                mine = np.flatnonzero(other.owner[:items] == pair)
                self.update(stored.take(mine), other.item[mine, COEFFICIENT].tolist(), float(other.pair[RHS, pair]))
            merged = True
        finally:
            if not merged:  # pairs are only ever added here, so the old counts are the old model
                self.counts[:], self.pair[ALPHA, : alpha.size], self.stats[:] = before, alpha, stats
