"""The kernel model: stored items, the Cholesky factor of lam I + Gram of the shown half-differences, and its solves.

With p = the sum of the projections' multipliers times their items, w = U' alpha + p / lam where
(lam I + G) alpha = answers - U p / lam. A row that others are multiplied with is written to `dense` first.
"""

import math

import numpy as np

from conquer.kernels.core.kernel import implements, inlined, part
from conquer.kernels.core.sparse import dot, feature, inner, row_bounds
from conquer.kernels.models.differences import less_row
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.choice import draw_from_gram
from conquer.kernels.rounds.primitives import DualState

ITEMS, PAIRS, ENTRIES = range(3)  # counts
COEFFICIENT, SQUARE = range(2)  # columns of item
RHS, ALPHA, NORM = range(3)  # rows of pair
KU, SOLVED, OWN = range(3)  # layers of room; OWN holds p . phi_i and phi_i . phi_i
SHIFT, SELF = range(2)


@part
def scatter(items, i, dense):
    start, stop = row_bounds(items, i)
    for j in range(start, stop):
        dense[feature(items, j)] = items.data[j]


@part
def unscatter(items, i, dense):
    start, stop = row_bounds(items, i)
    for j in range(start, stop):
        dense[feature(items, j)] = 0.0


@inlined
def stored_dot(stored, q, dense):
    total = 0.0
    for j in range(np.uint64(stored.indptr[q]), np.uint64(stored.indptr[q + 1])):
        total += stored.data[j] * dense[feature(stored, j)]
    return total


@inlined
def meet(others, start, stop, dense):
    """||y - x||^2 over the features of y, entries start to stop of others, and how many of them the scattered x has."""
    total = 0.0
    met = np.int64(0)
    for j in range(start, stop):
        value = dense[feature(others, j)]
        gap = others.data[j] - value
        total += gap * gap
        met += value != 0.0
    return total, met


@part
def beyond(total, others, start, stop, items, i, dense):
    """The sum of `meet` and what row i of items, which is scattered and stays so, has beside y."""
    first, last = row_bounds(items, i)
    for j in range(start, stop):
        dense[feature(others, j)] = 0.0
    for j in range(first, last):
        rest = dense[feature(items, j)]
        total += rest * rest
        dense[feature(items, j)] = items.data[j]
    return total


@part
def item_distance(items, i, j, dense):
    """||phi_i - phi_j||^2, phi_j being scattered."""
    start, stop = row_bounds(items, i)
    first, last = row_bounds(items, j)
    total, met = meet(items, start, stop, dense)
    return beyond(total, items, start, stop, items, j, dense) if met < np.int64(last - first) else total


@part
def combined(items, weights, dense):
    """u = sum_k weights[k] phi_k as one row: what the items share has cancelled in it and is not there."""
    size = 0
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        size += np.int64(stop - start)
        for j in range(start, stop):
            dense[feature(items, j)] += weights[k] * items.data[j]
    indptr, indices, data = np.zeros(2, np.int64), np.empty(size, np.int32), np.empty(size)
    end = 0
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            value = dense[feature(items, j)]
            if value != 0.0:
                indices[end], data[end] = items.indices[j], value
                dense[feature(items, j)] = 0.0
                end += 1
    indptr[1] = end
    return primitives.Items(indptr, indices, data, np.zeros(1, np.int64))


@part
def kernel(constants, between, xx, yy):
    """k(x, y) from x.y, x.x and y.y, for rbf from ||x - y||^2; rbf and poly have k(x, x) = 1."""
    if constants.kernel == st.LINEAR:
        return between
    scale = constants.scale
    if constants.kernel == st.RBF:
        return math.exp(-scale * between)
    return ((scale * between + 1.0) / math.sqrt((scale * xx + 1.0) * (scale * yy + 1.0))) ** constants.degree


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
    """Drop a pair: its row and column of the factor (a rank-one update corrects the rows below) and its items."""
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


@implements(primitives.unpacked, DualState)
def unpacked(state):
    return DualState(
        state.counts,
        state.indptr,
        state.indices,
        state.data,
        state.owner,
        state.item,
        state.factor,
        state.pair,
        state.room,
        state.dense,
        state.stats,
        state.work,
        st.model_constants(state.constants),
    )


@implements(primitives.prepare, DualState)
def prepare(state, items):
    """k_U(phi_i), p . phi_i and phi_i . phi_i for every item of the round."""
    pairs = state.counts[PAIRS]
    stored = primitives.Items(state.indptr, state.indices, state.data, state.owner)
    for i in range(items.rows.size):
        ku, own = state.room[KU, i], state.room[OWN, i]
        for s in range(pairs):
            ku[s] = 0.0
        scatter(items, i, state.dense)
        own[SELF] = dot(items, i, state.dense)
        own[SHIFT] = 0.0
        first, last = row_bounds(items, i)
        size = np.int64(last - first)
        for q in range(state.counts[ITEMS]):
            if state.constants.kernel == st.RBF:
                start, stop = np.uint64(state.indptr[q]), np.uint64(state.indptr[q + 1])
                between, met = meet(stored, start, stop, state.dense)
                if met < size:  # never for dense rows
                    between = beyond(between, stored, start, stop, items, i, state.dense)
            else:
                between = stored_dot(stored, q, state.dense)
            value = state.item[q, COEFFICIENT] * kernel(state.constants, between, state.item[q, SQUARE], own[SELF])
            if state.owner[q] >= 0:
                ku[state.owner[q]] += value
            else:
                own[SHIFT] += value
        unscatter(items, i, state.dense)


@implements(primitives.scores, DualState)
def scores(state, items, after, out):
    pairs = state.counts[PAIRS]
    for i in range(items.rows.size):
        out[i] = inner(state.room[KU, i], state.pair[ALPHA], pairs) + state.room[OWN, i, SHIFT] / state.constants.lam


@implements(primitives.widen, DualState)
def widen(state, items):
    for i in range(items.rows.size):
        forward(state.factor, state.counts[PAIRS], state.room[KU, i], state.room[SOLVED, i])


@part
def self_kernel(state, i):
    square = state.room[OWN, i, SELF]
    return kernel(state.constants, square, square, square) if state.constants.kernel != st.RBF else 1.0


@part
def item_kernel(state, items, i, j):
    """k(phi_i, phi_j), phi_j being scattered."""
    rbf = state.constants.kernel == st.RBF
    between = item_distance(items, i, j, state.dense) if rbf else dot(items, i, state.dense)
    return kernel(state.constants, between, state.room[OWN, i, SELF], state.room[OWN, j, SELF])


@implements(primitives.variances, DualState)
def variances(state, items, out):
    pairs = state.counts[PAIRS]
    for i in range(items.rows.size):
        solved = state.room[SOLVED, i]
        out[i] = max(0.0, self_kernel(state, i) - inner(solved, solved, pairs)) / state.constants.lam


@part
def prepare_gaps(state, items, pivot):
    """The items phi_i - phi_p, ready for variances and gram: where the kernel is linear they are items themselves."""
    gaps = less_row(items, pivot)
    primitives.prepare(state, gaps)
    primitives.widen(state, gaps)
    return gaps


@implements(primitives.contrasts, DualState)
def contrasts(state, items, pivot, out):
    if state.constants.kernel == st.LINEAR:
        primitives.variances(state, prepare_gaps(state, items, pivot), out)
        return
    primitives.widen(state, items)
    pairs, solved = state.counts[PAIRS], state.room[SOLVED, pivot]
    scatter(items, pivot, state.dense)
    for i in range(items.rows.size):
        if state.constants.kernel == st.RBF:
            # 2 - 2 k without its cancellation.
            total = -2.0 * math.expm1(-state.constants.scale * item_distance(items, i, pivot, state.dense))
        else:
            total = 2.0 - 2.0 * item_kernel(state, items, i, pivot)
        other = state.room[SOLVED, i]
        for r in range(pairs):
            gap = other[r] - solved[r]
            total -= gap * gap
        out[i] = 0.0 if i == pivot else max(0.0, total) / state.constants.lam
    unscatter(items, pivot, state.dense)


@implements(primitives.gram, DualState)
def gram(state, items):
    pairs = state.counts[PAIRS]
    for i in range(items.rows.size):
        scatter(items, i, state.dense)
        for j in range(i, items.rows.size):
            value = item_kernel(state, items, j, i)
            value -= inner(state.room[SOLVED, i], state.room[SOLVED, j], pairs)
            state.work[st.GRAM + i, j] = value / state.constants.lam
            state.work[st.GRAM + j, i] = value / state.constants.lam
        unscatter(items, i, state.dense)


@implements(primitives.noise, DualState)
def noise(state, items, ticket, out):
    count = items.rows.size
    if state.constants.kernel == st.LINEAR:
        primitives.gram(state, prepare_gaps(state, items, 0))
    else:
        primitives.widen(state, items)
        primitives.gram(state, items)
        own = state.work[st.GRAM, 0]
        for i in range(1, count):
            for j in range(1, count):
                state.work[st.GRAM + i, j] -= state.work[st.GRAM + i, 0] + state.work[st.GRAM, j] - own
        for i in range(count):
            state.work[st.GRAM + i, 0] = state.work[st.GRAM, i] = 0.0
    draw_from_gram(state.work, count, ticket, out)


@implements(primitives.has_room, DualState)
def has_room(state, items):
    entries = 0
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        entries += np.int64(stop - start)
    return (
        state.counts[PAIRS] + 1 <= state.factor.shape[0]
        and state.counts[ITEMS] + 2 * items.rows.size <= state.owner.size
        and state.counts[ENTRIES] + 2 * entries <= state.data.size
    )


@implements(primitives.shift, DualState)
def shift(state, items, mu):
    """Items with a multiplier join p; the answers that alpha explains change by what p already explains."""
    pairs = state.counts[PAIRS]
    before = np.empty((3, pairs + 2))
    before[2, 0], before[2, 1] = state.counts[ITEMS], state.counts[ENTRIES]
    for s in range(pairs):
        before[0, s], before[1, s] = state.pair[RHS, s], state.pair[ALPHA, s]
    for i in range(items.rows.size):
        if mu[i] != 0.0:
            store(state, items, i, -1, -mu[i])
            for s in range(pairs):
                state.pair[RHS, s] += mu[i] * state.room[KU, i, s] / state.constants.lam
            scatter(items, i, state.dense)
            for j in range(items.rows.size):
                state.room[OWN, j, SHIFT] -= mu[i] * item_kernel(state, items, j, i)
            unscatter(items, i, state.dense)
    solve(state)
    return before


@implements(primitives.unshift, DualState)
def unshift(state, items, before):
    pairs = state.counts[PAIRS]
    state.counts[ITEMS], state.counts[ENTRIES] = int(before[2, 0]), int(before[2, 1])
    for s in range(pairs):
        state.pair[RHS, s], state.pair[ALPHA, s] = before[0, s], before[1, s]


@implements(primitives.step, DualState)
def step(state, items, weights, target):
    if state.constants.kernel != st.LINEAR:
        return extend(state, items, weights, target)
    # One row with what the items share gone: the products of two items of 1e9 would leave nothing of the rest.
    row = combined(items, weights, state.dense)
    primitives.prepare(state, row)
    return extend(state, row, np.ones(1), target)


@part
def extend(state, items, weights, target):
    """The step along sum_k weights[k] phi_k, stored as these items; they are prepared."""
    pairs, lam = state.counts[PAIRS], state.constants.lam
    row = state.factor[pairs]
    ku = state.room[KU, 0]
    margin, pushed, square = 0.0, 0.0, 0.0
    for k in range(items.rows.size):
        margin += weights[k] * inner(state.room[KU, k], state.pair[ALPHA], pairs)
        pushed += weights[k] * state.room[OWN, k, SHIFT]
        scatter(items, k, state.dense)
        for j in range(items.rows.size):
            square += weights[k] * weights[j] * item_kernel(state, items, j, k)
        unscatter(items, k, state.dense)
    loss = target - margin - pushed / lam
    if not (abs(loss) < 1e100 and square < 1e200):
        return st.DIVERGED
    if st.RESOLVED * square > lam:
        return st.IMPRECISE
    # No solution is longer than the right-hand side over lam, before a pair is dropped and after.
    right = target - pushed / lam
    length = right * right
    for s in range(pairs):
        length += state.pair[RHS, s] * state.pair[RHS, s]
    if not math.sqrt(length) < 1e200 * lam:
        return st.DIVERGED
    # k_U(u) takes the place of the first item's: prepare() overwrites it before the next read.
    for s in range(pairs):
        total = 0.0
        for k in range(items.rows.size):
            total += weights[k] * state.room[KU, k, s]
        ku[s] = total
    forward(state.factor, pairs, ku, row)
    rest = max(0.0, square - inner(row, row, pairs))
    row[pairs] = math.sqrt(lam + rest)
    state.pair[RHS, pairs] = right
    state.pair[NORM, pairs] = max(0.0, square)
    for k in range(items.rows.size):
        store(state, items, k, pairs, weights[k])
    state.counts[PAIRS] = pairs + 1
    solve(state)
    if state.constants.budget > 0 and pairs + 1 > state.constants.budget:
        forget(state, weakest(state))
        solve(state)
    after = rest / (lam + rest)
    state.stats[st.LEARNT] += 1.0
    state.stats[st.SUM_H] += after
    state.stats[st.SUM_LOSS_H] += loss * loss * after
    return st.OK
