"""What the compiled steps pass around, and the primitives each model supplies for its own state.

A primitive is a name that compiled callers use; the model's file registers one body per state type with
`implements`, so that choosing, learning and the simulation loop are written once for all models.
"""

from typing import NamedTuple

from numpy import float64, int32, int64
from numpy.typing import NDArray

from conquer.kernels.core.kernel import primitive
from conquer.kernels.rounds.settings import ModelConstants

Constants = ModelConstants | NDArray[float64]


class Items(NamedTuple):
    """Rows of a CSR matrix: the items of a round."""

    indptr: NDArray[int64]
    indices: NDArray[int32]
    data: NDArray[float64]
    rows: NDArray[int64]


class DiagonalState(NamedTuple):
    """table (D, 2): w and 1/A."""

    table: NDArray[float64]
    stats: NDArray[float64]
    work: NDArray[float64]
    constants: Constants


class FullState(NamedTuple):
    """w (D,) and inverse (D, D): A^-1; room (2, K, D) for the round's items."""

    w: NDArray[float64]
    inverse: NDArray[float64]
    room: NDArray[float64]
    stats: NDArray[float64]
    work: NDArray[float64]
    constants: Constants


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
    work: NDArray[float64]
    constants: Constants


@primitive
def unpacked(state):
    """The state with `constants` as a record; as Python passes it, they are an array."""


@primitive
def prepare(state, items):
    """Compute what the other primitives need of this round's items; called first."""


@primitive
def scores(state, items, after, out):
    """out[i] = w . phi_i; `after` are the rows of the items that will be scored next, for prefetching."""


@primitive
def widen(state, items):
    """Compute what variances and gram need; called before the first of them."""


@primitive
def variances(state, items, out):
    """out[i] = phi_i' A^-1 phi_i."""


@primitive
def contrasts(state, items, pivot, out):
    """out[i] = (phi_i - phi_p)' A^-1 (phi_i - phi_p), from the difference; overwrites the result of `widen`."""


@primitive
def gram(state, items):
    """work[GRAM + i, j] = phi_i' A^-1 phi_j."""


@primitive
def noise(state, items, ticket, out):
    """out[i] = phi_i . d for one draw d ~ N(0, A^-1), the same for all items, or (phi_i - phi_0) . d.

    The two differ by one number for all items. Equal items get equal bits. Overwrites the result of `widen`.
    """


@primitive
def shift(state, items, mu):
    """w -= A^-1 sum_i mu_i phi_i, after `widen`; returns what `unshift` needs to restore w to the bit."""


@primitive
def unshift(state, items, before):
    """Restore w from before the `shift` that returned `before`, nothing else having moved."""


@primitive
def step(state, items, weights, target):
    """Move along u = sum_k weights[k] phi_k towards `target`; returns a status, state untouched unless OK."""


@primitive
def has_room(state, items):
    """Whether one more step fits into the arrays."""
