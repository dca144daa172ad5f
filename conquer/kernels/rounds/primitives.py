"""What the compiled steps pass around, and the primitives each model supplies for its own state.

A primitive is a name that compiled callers use; the model's file registers one body per state type with
`implements`, so that choosing, learning and the simulation loop are written once for all models.
"""

from typing import NamedTuple

from numpy import float64, int32, int64
from numpy.typing import NDArray

from conquer.kernels.core.kernel import primitive


class Items(NamedTuple):
    indptr: NDArray[int64]
    indices: NDArray[int32]
    data: NDArray[float64]
    rows: NDArray[int64]


class DiagonalState(NamedTuple):
    """cells (D, 2): w and 1/A."""

    cells: NDArray[float64]
    stats: NDArray[float64]


class FullState(NamedTuple):
    """w (D,), inverse (D, D): A^-1; room (2, K, D) for the round's items."""

    w: NDArray[float64]
    inverse: NDArray[float64]
    room: NDArray[float64]
    stats: NDArray[float64]


class DualState(NamedTuple):
    """Stored items (CSR) with the pair they belong to (-1: projection) and their weight in it; the pairs' factor."""

    counts: NDArray[int64]
    indptr: NDArray[int64]
    indices: NDArray[int32]
    data: NDArray[float64]
    owner: NDArray[int64]
    item: NDArray[float64]
    factor: NDArray[float64]
    pair: NDArray[float64]
    room: NDArray[float64]
    dense: NDArray[float64]
    stats: NDArray[float64]


@primitive
def prepare(state, items, plan, knobs):
    """Whatever the other primitives need to know of this round's items; called first."""


@primitive
def scores(state, items, after, knobs, out):
    """out[i] = w . phi_i; `after` are the rows of the items that will be scored next, to be fetched meanwhile."""


@primitive
def widen(state, items, plan, knobs):
    """Whatever variances and gram need; called before the first of them."""


@primitive
def variances(state, items, plan, knobs, out):
    """out[i] = phi_i' A^-1 phi_i."""


@primitive
def contrasts(state, items, pivot, plan, knobs, out):
    """out[i] = (phi_i - phi_p)' A^-1 (phi_i - phi_p), from the difference; what `widen` left behind is lost."""


@primitive
def gram(state, items, plan, knobs, work):
    """work[GRAM + i, j] = phi_i' A^-1 phi_j."""


@primitive
def noise(state, items, plan, knobs, work, ticket, out):
    """out[i] = phi_i . d for one draw d ~ N(0, A^-1), the same for all items, or (phi_i - phi_0) . d.

    The two differ by one number for all items. Equal items get equal bits. What `widen` left behind is lost.
    """


@primitive
def shift(state, items, plan, knobs, mu):
    """w -= A^-1 sum_i mu_i phi_i, after `widen`; returns what `unshift` needs to take it back to the bit."""


@primitive
def unshift(state, items, plan, knobs, mu, before):
    """w as it was before the `shift` that returned `before`, nothing else having moved."""


@primitive
def step(state, items, weights, target, plan, knobs):
    """Move along u = sum_k weights[k] phi_k towards `target`; returns a status, state untouched unless OK."""


@primitive
def has_room(state, items, plan):
    """Whether one more step fits into the arrays."""
