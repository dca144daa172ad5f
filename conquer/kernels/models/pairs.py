"""The pairs that the kernel model stores, and the Cholesky factor of lam I + their Gram matrix."""

import math

from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import inner, row_bounds
from conquer.kernels.rounds import settings as st

ITEMS, PAIRS, ENTRIES = range(3)  # counts
COEFFICIENT, SQUARE = range(2)  # columns of item
RHS, ALPHA, NORM = range(3)  # rows of pair
KU, SOLVED, OWN = range(3)  # layers of room; OWN holds p . phi_i / and phi_i . phi_i
SHIFT, SELF = range(2)


@part
def kernel(plan, knobs, between, xx, yy):
    """k(x, y) from x.y, x.x and y.y, for rbf from ||x - y||^2; rbf and poly have k(x, x) = 1."""
    kind = plan[st.KERNEL]
    if kind == st.LINEAR:
        return between
    scale = knobs[st.SCALE]
    if kind == st.RBF:
        return math.exp(-scale * between)
    degree = knobs[st.DEGREE]
    return ((scale * between + 1.0) / math.sqrt((scale * xx + 1.0) * (scale * yy + 1.0))) ** degree


@part
def forward(factor, count, right, out):
    """out := factor^-1 right."""
    for r in range(count):
        out[r] = (right[r] - inner(factor[r], out, r)) / factor[r, r]


@part
def backward(factor, count, out):
    """out := factor'^-1 out."""
    for r in range(count - 1, -1, -1):
        out[r] /= factor[r, r]
        value, row = out[r], factor[r]
        for c in range(r):
            out[c] -= value * row[c]


@part
def store(state, items, i, owner, coefficient):
    q, end = state.counts[ITEMS], state.counts[ENTRIES]
    start, stop = row_bounds(items, i)
    for j in range(start, stop):
        state.indices[end] = items.indices[j]
        state.data[end] = items.data[j]
        end += 1
    state.indptr[q + 1] = end
    state.owner[q] = owner
    state.item[q, COEFFICIENT] = coefficient
    state.item[q, SQUARE] = state.room[OWN, i, SELF]
    state.counts[ITEMS] = q + 1
    state.counts[ENTRIES] = end


@part
def solve(state):
    pairs = state.counts[PAIRS]
    forward(state.factor, pairs, state.pair[RHS], state.pair[ALPHA])
    backward(state.factor, pairs, state.pair[ALPHA])


@part
def weakest(state):
    """The pair with the smallest |alpha| ||u||, the oldest of equals; the newest always stays."""
    best, where = math.inf, 0
    for s in range(state.counts[PAIRS] - 1):
        value = abs(state.pair[ALPHA, s]) * math.sqrt(state.pair[NORM, s])
        if value < best:
            best, where = value, s
    return where


@part
def forget(state, gone):
    """Drop a pair: its row and column of the factor (the rows below take over what it carried) and its items."""
    pairs = state.counts[PAIRS]
    factor = state.factor
    carried = state.room[SOLVED, 0]
    for r in range(gone + 1, pairs):
        carried[r - 1] = factor[r, gone]
        for c in range(gone):
            factor[r - 1, c] = factor[r, c]
        for c in range(gone + 1, r + 1):
            factor[r - 1, c - 1] = factor[r, c]
        for line in range(3):
            state.pair[line, r - 1] = state.pair[line, r]
    pairs -= 1
    state.counts[PAIRS] = pairs
    for c in range(gone, pairs):
        length = math.sqrt(factor[c, c] * factor[c, c] + carried[c] * carried[c])
        cosine, sine = length / factor[c, c], carried[c] / factor[c, c]
        factor[c, c] = length
        for r in range(c + 1, pairs):
            factor[r, c] = (factor[r, c] + sine * carried[r]) / cosine
            carried[r] = cosine * carried[r] - sine * factor[r, c]
    kept, end = 0, 0
    for q in range(state.counts[ITEMS]):
        owner = state.owner[q]
        start, stop = state.indptr[q], state.indptr[q + 1]
        if owner != gone:
            for j in range(start, stop):
                state.indices[end] = state.indices[j]
                state.data[end] = state.data[j]
                end += 1
            state.indptr[kept + 1] = end
            state.owner[kept] = owner - 1 if owner > gone else owner
            state.item[kept, COEFFICIENT] = state.item[q, COEFFICIENT]
            state.item[kept, SQUARE] = state.item[q, SQUARE]
            kept += 1
    state.counts[ITEMS] = kept
    state.counts[ENTRIES] = end
