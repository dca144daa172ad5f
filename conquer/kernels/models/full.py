"""The full model: A^-1 itself, kept by rank-one steps written as scaled row additions.

BLAS is not used: its results depend on the thread count and the processor.
"""

import math

import numpy as np

from conquer.kernels.core.kernel import implements, part
from conquer.kernels.core.sparse import dot, feature, inner, row_bounds
from conquer.kernels.models.differences import less_row
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.choice import draw_from_gram
from conquer.kernels.rounds.primitives import FullState

# Columns handled together: a block of every item's product stays in the nearest cache.
BLOCK = 512


@implements(primitives.unpacked, FullState)
def unpacked(state):
    constants = st.model_constants(state.constants)
    return FullState(state.w, state.inverse, state.room, state.stats, state.work, constants)


@implements(primitives.prepare, FullState)
def prepare(state, items):
    pass


@implements(primitives.has_room, FullState)
def has_room(state, items):
    return True


@implements(primitives.scores, FullState)
def scores(state, items, after, out):
    for i in range(items.rows.size):
        out[i] = dot(items, i, state.w)


@part
def add_rows(matrix, x, y, count):
    """y[i] += matrix x[i] for `count` vectors; each entry of y sums in ascending order whatever the block.

    Four rows at a time: a quarter of the loads and stores of y, and the same bits as one after the other.
    """
    dim = matrix.shape[0]
    four = dim // 4 * 4
    for start in range(0, dim, BLOCK):
        # Unsigned, or the inner loops would not vectorise.
        low, high = np.uint64(start), np.uint64(min(start + BLOCK, dim))
        for j in range(0, four, 4):
            one, two, three, last = matrix[j], matrix[j + 1], matrix[j + 2], matrix[j + 3]
            for i in range(count):
                p, q, r, s = x[i, j], x[i, j + 1], x[i, j + 2], x[i, j + 3]
                if p != 0.0 or q != 0.0 or r != 0.0 or s != 0.0:
                    target = y[i]
                    for c in range(low, high):
                        target[c] = (((target[c] + p * one[c]) + q * two[c]) + r * three[c]) + s * last[c]
        for j in range(four, dim):
            one = matrix[j]
            for i in range(count):
                p, target = x[i, j], y[i]
                for c in range(low, high):
                    target[c] += p * one[c]


@part
def fill_zero(vector):
    for r in range(vector.size):
        vector[r] = 0.0


@implements(primitives.widen, FullState)
def widen(state, items):
    """room[0] := the items, room[1] := A^-1 items."""
    x, y = state.room[0], state.room[1]
    for i in range(items.rows.size):
        fill_zero(x[i])
        fill_zero(y[i])
        start, stop = row_bounds(items, i)
        for j in range(start, stop):
            x[i, feature(items, j)] = items.data[j]
    add_rows(state.inverse, x, y, items.rows.size)


@implements(primitives.variances, FullState)
def variances(state, items, out):
    for i in range(items.rows.size):
        out[i] = max(0.0, dot(items, i, state.room[1, i]))


@implements(primitives.contrasts, FullState)
def contrasts(state, items, pivot, out):
    gaps = less_row(items, pivot)
    primitives.widen(state, gaps)
    primitives.variances(state, gaps, out)


@implements(primitives.gram, FullState)
def gram(state, items):
    for i in range(items.rows.size):
        for j in range(i, items.rows.size):
            value = dot(items, j, state.room[1, i])
            state.work[st.GRAM + i, j] = value
            state.work[st.GRAM + j, i] = value


@implements(primitives.noise, FullState)
def noise(state, items, ticket, out):
    """Drawn in the smaller space: of K items from their Gram matrix, of D features from A^-1 itself."""
    dim = state.w.size
    if dim < items.rows.size:
        drawn = np.empty(dim)
        for i in range(dim):
            for j in range(dim):
                state.work[st.GRAM + i, j] = state.inverse[i, j]
        draw_from_gram(state.work, dim, ticket, drawn)
        for i in range(items.rows.size):
            out[i] = dot(items, i, drawn)
        return
    gaps = less_row(items, 0)
    primitives.widen(state, gaps)
    primitives.gram(state, gaps)
    draw_from_gram(state.work, items.rows.size, ticket, out)


@implements(primitives.shift, FullState)
def shift(state, items, mu):
    before = state.w.copy()
    for i in range(items.rows.size):
        if mu[i] != 0.0:
            for r in range(state.w.size):
                state.w[r] -= mu[i] * state.room[1, i, r]
    return before


@implements(primitives.unshift, FullState)
def unshift(state, items, before):
    for r in range(state.w.size):
        state.w[r] = before[r]


@part
def holds(matrix, u, gain, confidence):
    """Whether the matrix stays positive, as far as its digits go, when it is shrunk along u.

    What is left of u' matrix u is confidence / (1 + confidence). The rounded terms of that sum are at most `spread`^2
    in total. A positive matrix has gain[i]^2 <= matrix[i, i] confidence.
    """
    spread = 0.0
    for i in range(u.size):
        spread += abs(u[i]) * math.sqrt(matrix[i, i])
    # Where squares are no longer normal numbers, gain is measured by the spread itself.
    small = spread < 1e-140
    most = 2.0 * spread if small else math.sqrt(2.0 * max(0.0, confidence))
    within = True
    for i in range(u.size):
        within &= abs(gain[i]) <= most * math.sqrt(matrix[i, i])
    return within and (small or confidence >= st.RESOLVED * spread * spread * (1.0 + confidence))


@part
def direction(matrix, items, weights, u, gain):
    """u := sum_k weights[k] phi_k, gain := matrix u; returns u . gain."""
    fill_zero(u[0])
    fill_zero(gain[0])
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            u[0, feature(items, j)] += weights[k] * items.data[j]
    add_rows(matrix, u, gain, 1)
    return inner(u[0], gain[0], u.shape[1])


@part
def kept(matrix, forget, confidence):
    """The share of A along u that a step keeps: `forget`, or 1 where 1 / confidence or A^-1 would overflow."""
    widest = 0.0
    for i in range(matrix.shape[0]):
        widest = max(widest, matrix[i, i])
    return forget if confidence > 1e-280 and widest < st.WIDEST * forget else 1.0


@part
def shrink(matrix, gain, weight, rest):
    """matrix -= weight gain gain' / rest, exactly symmetric; a weight below 0 widens it."""
    root = math.sqrt(rest) / math.sqrt(abs(weight))
    sign = 1.0 if weight > 0.0 else -1.0
    dim = matrix.shape[0]
    for i in range(dim):
        gain[i] /= root
    for i in range(dim):
        scale = sign * gain[i]
        if scale != 0.0:
            row = matrix[i]
            for c in range(dim):
                row[c] -= scale * gain[c]
            row[i] = max(0.0, row[i])


@implements(primitives.step, FullState)
def step(state, items, weights, target):
    u, gain = state.room[0], state.room[1]
    confidence = direction(state.inverse, items, weights, u, gain)
    loss = target - inner(u[0], state.w, state.w.size)
    if not (abs(loss) < 1e100 and confidence < 1e200):
        return st.DIVERGED
    if not holds(state.inverse, u[0], gain[0], confidence):
        return st.IMPRECISE
    confidence = max(0.0, confidence)
    rate = loss / (1.0 + confidence)
    for r in range(state.w.size):
        state.w[r] += rate * gain[0, r]
    # A += weight u u', which divides u' A^-1 u by `rest` = 1 + weight * confidence.
    forget, weight = state.constants.forget, 1.0
    if forget < 1.0:
        forget = kept(state.inverse, forget, confidence)
    if forget < 1.0:
        weight = forget - (1.0 - forget) / confidence
    rest = forget * (1.0 + confidence)
    if weight != 0.0:
        shrink(state.inverse, gain[0], weight, rest)
    after = confidence / rest
    state.stats[st.LEARNT] += 1.0
    state.stats[st.SUM_H] += after
    state.stats[st.SUM_LOSS_H] += loss * loss * after
    return st.OK
