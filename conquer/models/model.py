"""What every model shares: its settings as the kernels take them, scratch that grows, and calls into the kernels."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_dim, is_real, one_of, positive
from conquer.kernels.models import calls
from conquer.kernels.rounds import settings as st
from conquer.rows import SparseRows, as_rows
from conquer.types import Floats, Ints

PROJECTIONS = {None: st.NO_PROJECTION, "sequential": st.SEQUENTIAL, "exact": st.EXACT}
"""How every item's score is kept within [-1, 1]. `sequential`, the paper's: slab after slab until all hold. `exact`:
Hildreth's method, the true nearest point."""

_FAILURES = {
    st.NOT_CONVERGED: "the projection did not converge within {sweeps} sweeps; the items are nearly dependent",
    st.TOO_LARGE: "the items' values are too large to learn from (above {largest:g}): scale them",
    st.DIVERGED: "the model diverged: its next step is not finite; {remedy}",
    st.IMPRECISE: "the answer was not learnt: A^-1 would lose all precision, with rows up to {longest:g} long and "
    "lam = {lam:g}; {remedy}",
}


_UNLIMITED = 2**62


class CompiledModel:
    """A model whose arithmetic is compiled; subclasses own the arrays.

    `state` is what kernels take: its arrays, its scratch `work` and its `constants`. `stats` counts what was learnt and
    sums what the widths need. `arrays` and `restore` are its file form.
    """

    exact = False
    """Whether its widths are those of the analysis, so that eta may follow a bound."""
    grows = False
    """Whether its arrays grow with the answers, so that only single steps are sure to fit."""
    remedy = "scale the rows down or raise lam"
    """What its users can do when a step overflows or loses precision."""

    def __init__(self, dim: int, *, lam: float, projection: str | None, **constants: Any) -> None:
        self.dim = checked_dim(dim)
        self.lam = positive("lam", lam)
        self.projection = projection
        self.settings: dict[str, Any] = {"lam": self.lam, "projection": projection}
        """The constructor's arguments."""
        self.constants = st.ModelConstants(self.lam, one_of("projection", projection, PROJECTIONS), **constants)
        self.stats: Floats = np.zeros(st.STATS_SIZE)
        self.work: Floats = np.zeros((st.GRAM, 0))
        self.ticket = np.zeros(1, np.uint64)
        """The round's ticket on its way into a kernel: a number of numpy's own would take longer to make."""
        self.user = 0
        """The thread that is inside: scratch is shared, so two at once would choose from each other's numbers."""
        self.squares = _UNLIMITED if projection is not None else 0
        """The largest side of a round's Gram matrix that `work` has rows for."""
        self.state: Any = None

    def reserve(self, X: SparseRows) -> None:
        """Make room for a round of this size."""
        self.reserve_items(X.rows.size)

    def reserve_items(self, count: int) -> None:
        """Make room for a round of `count` items."""
        if self.work.shape[1] < count:
            self._resize(max(count, 2 * self.work.shape[1]))

    def _resize(self, count: int) -> None:
        """Make scratch for `count` items. Everything is made before anything is replaced: memory may run out."""
        self.work = self._work(count)
        self._bind()

    def _bind(self) -> None:
        """Make `state` of the present arrays."""
        raise NotImplementedError

    def _work(self, count: int) -> Floats:
        return np.zeros((st.GRAM + min(count, self.squares), count))

    def need_squares(self, most: int = _UNLIMITED) -> None:
        """Keep room for the K x K matrix of a round, at most `most` rows; without it K may be as large as fits."""
        before, self.squares = self.squares, max(self.squares, most)
        try:
            self._resize(max(2, self.work.shape[1]))
        except MemoryError:
            self.squares = before
            raise

    def draw_size(self, count: int) -> int:
        """In how many dimensions Thompson sampling draws for `count` items."""
        return count

    def enter(self) -> None:
        """Take the model's scratch for this thread, until `user` is 0 again; a RuntimeError where another has it."""
        me = get_ident()
        # Nothing is called between the test and the store, so no other thread gets between them.
        if self.user not in (0, me):
            raise RuntimeError("another thread is using this learner: learners are not thread-safe, use a lock")
        self.user = me

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """The scratch is this thread's within: what a kernel left there is read before another can overwrite it."""
        outer = self.user == get_ident()
        self.enter()
        try:
            yield
        finally:
            if not outer:
                self.user = 0

    def fail(self, status: int, X: SparseRows) -> NoReturn:
        """Raise what a kernel's status means; `X`: the items that it speaks of."""
        raise ArithmeticError(
            _FAILURES[status].format(
                sweeps=self.constants.sweeps,
                largest=st.LARGEST,
                lam=self.lam,
                longest=_longest(X),
                remedy=self.remedy,
            )
        )

    def _measure(self, X: Any, pivot: int, ticket: int = 0) -> Floats:
        rows = as_rows(X, self.dim)
        out = np.empty(len(rows))
        arrays = rows.indptr, rows.indices, rows.data, rows.rows
        with self.in_use():
            self.reserve(rows)
            self.ticket[0] = ticket
            status = calls.measure(self.state, *arrays, self.ticket, pivot, out)
        if status != st.OK:
            self.fail(status, rows)
        return out

    def scores(self, X: Any, ticket: int = 0) -> Floats:
        """(K,): w . phi_i, with projection the projected w's; `ticket`, the round's, orders a sequential one."""
        return self._measure(X, -2, ticket)

    def projected(self, X: Any, ticket: int = 0) -> Floats:
        """(D,): w~, near w and with every |w~ . phi_i| <= 1 for these items; w where that holds already.

        `ticket`, the round's, orders a sequential projection. Without a projection this is w.
        """
        rows = as_rows(X, self.dim)
        entries = [slice(rows.indptr[row], rows.indptr[row + 1]) for row in rows.rows]
        pull = np.zeros(self.dim)
        with self.in_use():
            self.scores(rows, ticket)
            mu = self.work[st.MULTIPLIERS, : len(rows)]
            for k, entry in enumerate(entries):
                pull[rows.indices[entry]] += mu[k] * rows.data[entry]
            return self.weights() - self._inverse_times(pull) if mu.any() else self.weights()

    def _inverse_times(self, x: Floats) -> Floats:
        """(D,): A^-1 x."""
        raise NotImplementedError

    def variances(self, X: Any) -> Floats:
        """(K,): phi_i' A^-1 phi_i."""
        return self._measure(X, -1)

    def contrasts(self, X: Any, pivot: int) -> Floats:
        """(K,): (phi_i - phi_p)' A^-1 (phi_i - phi_p)."""
        rows = as_rows(X, self.dim)
        if not 0 <= pivot < len(rows):
            raise IndexError(f"pivot must be in [0, {len(rows)}), got {pivot}")
        return self._measure(rows, int(pivot))

    def gain(self, mixing: float) -> float:
        """ln det(I + G/mixing), G the sum of u u' over the answers."""
        raise NotImplementedError

    def pairs(self, X: Any) -> tuple[Floats, Floats, Floats | None]:
        """(V, B, L), (K, K) each: x' A^-1 x, ||A^-1 x||^2 and the sum of |A^-1 x| of x = phi_i - phi_j.

        L is None where a model has no columns of its own (a kernel).
        """
        raise ValueError(
            f"only the full and the kernel model know how items vary together; the {type(self).__name__.lower()} one "
            "has no variance of a difference: learn the answers again with model='full' or model='kernel'"
        )

    def update(self, X: Any, weights: Mapping[int, float] | Sequence[float], target: float, ticket: int = 0) -> None:
        """Move along sum_k weights[k] X[k] towards `target`; `ticket` orders a sequential projection."""
        rows = as_rows(X, self.dim)
        pairs = weights if isinstance(weights, Mapping) else dict(enumerate(weights))
        picks = np.array([k for k, value in pairs.items() if value != 0], dtype=np.int64)
        values = np.array([pairs[int(k)] for k in picks], dtype=np.float64)
        if picks.size == 0 or picks.min() < 0 or picks.max() >= len(rows):
            raise ValueError(f"weights must name items in [0, {len(rows)}), got {dict(pairs)!r}")
        if not (np.isfinite(values).all() and is_real(target) and math.isfinite(target)):
            raise ValueError(f"weights and target must be finite numbers, got {dict(pairs)!r} and {target!r}")
        self.move(rows, picks, values, float(target), ticket)

    def move(self, X: SparseRows, picks: Ints, values: Floats, target: float, ticket: int = 0) -> None:
        """`update` with rows of this model and finite numbers."""
        # As `in_use` does, without its generator: this is a step of every answer.
        before = self.user
        self.enter()
        try:
            self.reserve(X)
            self.make_room(X)
            self.ticket[0] = ticket
            status = calls.update(
                self.state, X.indptr, X.indices, X.data, X.rows, self.ticket, X.rows[picks], values, target
            )
        finally:
            self.user = before
        if status != st.OK:
            self.fail(status, X)

    def weights(self) -> Floats:
        """(D,): a copy of w."""
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, by name."""
        raise NotImplementedError

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state of `arrays()`, checked; a fresh model only."""
        raise NotImplementedError

    def make_room(self, X: SparseRows) -> None:
        """Make room for one more step with these items."""


def _longest(X: SparseRows) -> float:
    """The length of the longest of the items."""
    csr = X.csr()
    with np.errstate(over="ignore"):
        return math.sqrt(np.max(csr.multiply(csr).sum(axis=1)))


def check_mergeable(one: CompiledModel, two: CompiledModel) -> None:
    """Raise unless the statistics of the two models add."""
    if type(one) is not type(two):
        raise TypeError(f"models to merge must be of one kind, got {type(one).__name__} and {type(two).__name__}")
    if one.dim != two.dim or one.lam != two.lam:
        raise ValueError(f"models to merge need one dim and lam, got {one.dim}, {one.lam} and {two.dim}, {two.lam}")
    if one.projection is not None or two.projection is not None:
        raise ValueError("with projection the statistics do not add up, so models cannot be merged")
    if one.constants.forget < 1.0 or two.constants.forget < 1.0:
        raise ValueError("with forget below 1 late answers weigh more than early ones, so models cannot be merged")
