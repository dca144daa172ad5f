"""The kernel model: stored items, the Cholesky factor of lam I + Gram of the shown half-differences, and its solves.

With p = the sum of the projections' multipliers times their items, w = U' alpha + p / lam where
(lam I + G) alpha = answers - U p / lam.
"""

import math

import numpy as np

from conquer.kernels.core.kernel import implements, part
from conquer.kernels.core.sparse import dot, inner, row_bounds
from conquer.kernels.models.differences import beyond, combined, item_distance, less_row, meet
from conquer.kernels.models.pairs import (
    ALPHA,
    COEFFICIENT,
    ENTRIES,
    ITEMS,
    KU,
    NORM,
    OWN,
    PAIRS,
    RHS,
    SELF,
    SHIFT,
    SOLVED,
    SQUARE,
    forget,
    forward,
    kernel,
    solve,
    store,
    weakest,
)
from conquer.kernels.models.scattered import scatter, stored_dot, unscatter
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.primitives import DualState
from conquer.kernels.rounds.select import draw_from_gram


@implements(primitives.prepare, DualState)
def prepare(state, items, plan, knobs):
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
            if plan[st.KERNEL] == st.RBF:
                start, stop = np.uint64(state.indptr[q]), np.uint64(state.indptr[q + 1])
                between, met = meet(stored, start, stop, state.dense)
                if met < size:  # never for dense rows
                    between = beyond(between, stored, start, stop, items, i, state.dense)
            else:
                between = stored_dot(stored, q, state.dense)
            value = state.item[q, COEFFICIENT] * kernel(plan, knobs, between, state.item[q, SQUARE], own[SELF])
            if state.owner[q] >= 0:
                ku[state.owner[q]] += value
            else:
                own[SHIFT] += value
        unscatter(items, i, state.dense)


@implements(primitives.scores, DualState)
def scores(state, items, after, knobs, out):
    pairs = state.counts[PAIRS]
    for i in range(items.rows.size):
        out[i] = inner(state.room[KU, i], state.pair[ALPHA], pairs) + state.room[OWN, i, SHIFT] / knobs[st.LAM]


@implements(primitives.widen, DualState)
def widen(state, items, plan, knobs):
    for i in range(items.rows.size):
        forward(state.factor, state.counts[PAIRS], state.room[KU, i], state.room[SOLVED, i])


@part
def self_kernel(state, i, plan, knobs):
    square = state.room[OWN, i, SELF]
    return kernel(plan, knobs, square, square, square) if plan[st.KERNEL] != st.RBF else 1.0


@part
def item_kernel(state, items, i, j, plan, knobs):
    """k(phi_i, phi_j), phi_j being scattered."""
    between = item_distance(items, i, j, state.dense) if plan[st.KERNEL] == st.RBF else dot(items, i, state.dense)
    return kernel(plan, knobs, between, state.room[OWN, i, SELF], state.room[OWN, j, SELF])


@implements(primitives.variances, DualState)
def variances(state, items, plan, knobs, out):
    pairs = state.counts[PAIRS]
    for i in range(items.rows.size):
        solved = state.room[SOLVED, i]
        out[i] = max(0.0, self_kernel(state, i, plan, knobs) - inner(solved, solved, pairs)) / knobs[st.LAM]


@part
def prepare_gaps(state, items, pivot, plan, knobs):
    """The items phi_i - phi_p, ready for variances and gram: where the kernel is linear they are items themselves."""
    gaps = less_row(items, pivot)
    primitives.prepare(state, gaps, plan, knobs)
    primitives.widen(state, gaps, plan, knobs)
    return gaps


@implements(primitives.contrasts, DualState)
def contrasts(state, items, pivot, plan, knobs, out):
    if plan[st.KERNEL] == st.LINEAR:
        primitives.variances(state, prepare_gaps(state, items, pivot, plan, knobs), plan, knobs, out)
        return
    primitives.widen(state, items, plan, knobs)
    pairs, solved = state.counts[PAIRS], state.room[SOLVED, pivot]
    scatter(items, pivot, state.dense)
    for i in range(items.rows.size):
        if plan[st.KERNEL] == st.RBF:
            # 2 - 2 k without its cancellation.
            total = -2.0 * math.expm1(-knobs[st.SCALE] * item_distance(items, i, pivot, state.dense))
        else:
            total = 2.0 - 2.0 * item_kernel(state, items, i, pivot, plan, knobs)
        other = state.room[SOLVED, i]
        for r in range(pairs):
            gap = other[r] - solved[r]
            total -= gap * gap
        out[i] = 0.0 if i == pivot else max(0.0, total) / knobs[st.LAM]
    unscatter(items, pivot, state.dense)


@implements(primitives.gram, DualState)
def gram(state, items, plan, knobs, work):
    pairs = state.counts[PAIRS]
    for i in range(items.rows.size):
        scatter(items, i, state.dense)
        for j in range(i, items.rows.size):
            value = item_kernel(state, items, j, i, plan, knobs)
            value -= inner(state.room[SOLVED, i], state.room[SOLVED, j], pairs)
            work[st.GRAM + i, j] = value / knobs[st.LAM]
            work[st.GRAM + j, i] = value / knobs[st.LAM]
        unscatter(items, i, state.dense)


@implements(primitives.noise, DualState)
def noise(state, items, plan, knobs, work, ticket, out):
    count = items.rows.size
    if plan[st.KERNEL] == st.LINEAR:
        primitives.gram(state, prepare_gaps(state, items, 0, plan, knobs), plan, knobs, work)
    else:
        primitives.widen(state, items, plan, knobs)
        primitives.gram(state, items, plan, knobs, work)
        own = work[st.GRAM, 0]
        for i in range(1, count):
            for j in range(1, count):
                work[st.GRAM + i, j] -= work[st.GRAM + i, 0] + work[st.GRAM, j] - own
        for i in range(count):
            work[st.GRAM + i, 0] = work[st.GRAM, i] = 0.0
    draw_from_gram(work, count, ticket, out)


@implements(primitives.has_room, DualState)
def has_room(state, items, plan):
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
def shift(state, items, plan, knobs, mu):
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
                state.pair[RHS, s] += mu[i] * state.room[KU, i, s] / knobs[st.LAM]
            scatter(items, i, state.dense)
            for j in range(items.rows.size):
                state.room[OWN, j, SHIFT] -= mu[i] * item_kernel(state, items, j, i, plan, knobs)
            unscatter(items, i, state.dense)
    solve(state)
    return before


@implements(primitives.unshift, DualState)
def unshift(state, items, plan, knobs, mu, before):
    pairs = state.counts[PAIRS]
    state.counts[ITEMS], state.counts[ENTRIES] = int(before[2, 0]), int(before[2, 1])
    for s in range(pairs):
        state.pair[RHS, s], state.pair[ALPHA, s] = before[0, s], before[1, s]


@implements(primitives.step, DualState)
def step(state, items, weights, target, plan, knobs):
    if plan[st.KERNEL] != st.LINEAR:
        return extend(state, items, weights, target, plan, knobs)
    # One row with what the items share gone: the products of two items of 1e9 would leave nothing of the rest.
    whole = combined(items, weights, state.dense)
    primitives.prepare(state, whole, plan, knobs)
    return extend(state, whole, np.ones(1), target, plan, knobs)


@part
def extend(state, items, weights, target, plan, knobs):
    """The step along sum_k weights[k] phi_k, stored as these items; they are prepared."""
    pairs, lam = state.counts[PAIRS], knobs[st.LAM]
    row = state.factor[pairs]
    ku = state.room[KU, 0]
    margin, pushed, square = 0.0, 0.0, 0.0
    for k in range(items.rows.size):
        margin += weights[k] * inner(state.room[KU, k], state.pair[ALPHA], pairs)
        pushed += weights[k] * state.room[OWN, k, SHIFT]
        scatter(items, k, state.dense)
        for j in range(items.rows.size):
            square += weights[k] * weights[j] * item_kernel(state, items, j, k, plan, knobs)
        unscatter(items, k, state.dense)
    loss = target - margin - pushed / lam
    if not (abs(loss) < 1e100 and square < 1e200):
        return st.DIVERGED
    if st.RESOLVED * square > lam:
        return st.UNHELD
    # No solution is longer than the right-hand side over lam, before a pair is dropped and after.
    right = target - pushed / lam
    length = right * right
    for s in range(pairs):
        length += state.pair[RHS, s] * state.pair[RHS, s]
    if not math.sqrt(length) < 1e200 * lam:
        return st.DIVERGED
    # k_U(u) takes the place of the first item's: prepare() fills it anew before anyone looks again.
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
    if plan[st.BUDGET] > 0 and pairs + 1 > plan[st.BUDGET]:
        forget(state, weakest(state))
        solve(state)
    after = rest / (lam + rest)
    state.stats[st.LEARNT] += 1.0
    state.stats[st.SUM_H] += after
    state.stats[st.SUM_LOSS_H] += loss * loss * after
    return st.OK
