"""The diagonal model: w, A, 1/sqrt(A) and a scratch cell side by side, one cache line for two features."""

import math

import numpy as np

from conquer.kernels import state as st
from conquer.kernels import tickets
from conquer.kernels.compiling import implements, part
from conquer.kernels.normals import normal
from conquer.kernels.sparse import FOUR, ONE, THREE, TWO, dot_column, dot_column_ahead, feature, row_bounds
from conquer.kernels.state import Diagonal

W, A, ROOT, SCRATCH = range(4)


@implements(st.prepare, Diagonal)
def prepare(state, items, plan, knobs):
    pass


@implements(st.widen, Diagonal)
def widen(state, items, plan, knobs):
    pass


@implements(st.has_room, Diagonal)
def has_room(state, items, plan):
    return True


@implements(st.scores, Diagonal)
def scores(state, items, knobs, out):
    count = items.rows.size
    for i in range(count):
        out[i] = dot_column_ahead(items, i, min(i + 1, count - 1), state.cells, W)


@part
def variance(items, i, cells):
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        a += (data[j] * cells[feature(items, j), ROOT]) ** 2
        b += (data[j + ONE] * cells[feature(items, j + ONE), ROOT]) ** 2
        c += (data[j + TWO] * cells[feature(items, j + TWO), ROOT]) ** 2
        d += (data[j + THREE] * cells[feature(items, j + THREE), ROOT]) ** 2
    for j in range(four, stop):
        a += (data[j] * cells[feature(items, j), ROOT]) ** 2
    return (a + b) + (c + d)


@implements(st.variances, Diagonal)
def variances(state, items, plan, knobs, out):
    for i in range(items.rows.size):
        out[i] = variance(items, i, state.cells)


@part
def spread_pivot(items, pivot, cells):
    """Put phi_p / A into the scratch cells, so that one pass over a row gives its product with the pivot."""
    start, stop = row_bounds(items, pivot)
    for j in range(start, stop):
        r = feature(items, j)
        cells[r, SCRATCH] = items.data[j] * cells[r, ROOT] * cells[r, ROOT]


@part
def clear(items, i, cells):
    start, stop = row_bounds(items, i)
    for j in range(start, stop):
        cells[feature(items, j), SCRATCH] = 0.0


@part
def variance_and_cross(items, i, cells):
    """phi_i' A^-1 phi_i and phi_i' A^-1 phi_p in one pass, the pivot being spread."""
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    e = f = g = h = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        a += (data[j] * cells[feature(items, j), ROOT]) ** 2
        e += data[j] * cells[feature(items, j), SCRATCH]
        b += (data[j + ONE] * cells[feature(items, j + ONE), ROOT]) ** 2
        f += data[j + ONE] * cells[feature(items, j + ONE), SCRATCH]
        c += (data[j + TWO] * cells[feature(items, j + TWO), ROOT]) ** 2
        g += data[j + TWO] * cells[feature(items, j + TWO), SCRATCH]
        d += (data[j + THREE] * cells[feature(items, j + THREE), ROOT]) ** 2
        h += data[j + THREE] * cells[feature(items, j + THREE), SCRATCH]
    for j in range(four, stop):
        a += (data[j] * cells[feature(items, j), ROOT]) ** 2
        e += data[j] * cells[feature(items, j), SCRATCH]
    return (a + b) + (c + d), (e + f) + (g + h)


@implements(st.contrasts, Diagonal)
def contrasts(state, items, pivot, plan, knobs, out):
    cells = state.cells
    spread_pivot(items, pivot, cells)
    own = variance(items, pivot, cells)
    for i in range(items.rows.size):
        if i == pivot:
            out[i] = 0.0
        else:
            other, cross = variance_and_cross(items, i, cells)
            out[i] = max(0.0, other + own - 2.0 * cross)
    clear(items, pivot, cells)


@implements(st.gram, Diagonal)
def gram(state, items, plan, knobs, work):
    for i in range(items.rows.size):
        spread_pivot(items, i, state.cells)
        for j in range(i, items.rows.size):
            value = dot_column(items, j, state.cells, SCRATCH)
            work[st.GRAM + i, j] = value
            work[st.GRAM + j, i] = value
        clear(items, i, state.cells)


@implements(st.noise, Diagonal)
def noise(state, items, plan, knobs, work, ticket, out):
    """One normal per feature, so that items sharing a feature share its noise."""
    cells = state.cells
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        total = 0.0
        for j in range(start, stop):
            r = feature(items, j)
            z = normal(ticket, tickets.FEATURE + np.uint64(r))
            total += items.data[j] * cells[r, ROOT] * z
        out[i] = total


@implements(st.shift, Diagonal)
def shift(state, items, plan, knobs, mu):
    cells = state.cells
    for i in range(items.rows.size):
        if mu[i] != 0.0:
            start, stop = row_bounds(items, i)
            for j in range(start, stop):
                r = feature(items, j)
                cells[r, W] -= mu[i] * items.data[j] / cells[r, A]


@part
def gather(items, picks, weights, cells):
    """Put u = sum_k weights[k] phi_picks[k] into the scratch cells."""
    for k in range(picks.size):
        start, stop = row_bounds(items, picks[k])
        for j in range(start, stop):
            cells[feature(items, j), SCRATCH] += weights[k] * items.data[j]


@implements(st.step, Diagonal)
def step(state, items, picks, weights, target, plan, knobs, exposed):
    cells, stats = state.cells, state.stats
    update = plan[st.UPDATE]
    gather(items, picks, weights, cells)
    # Where no pair waits for its answer, the widths' A is A itself, and its inverse needs no division.
    pending = stats[st.EXPOSED] > 0.0
    margin = 0.0
    confidence = 0.0
    for k in range(picks.size):
        margin += weights[k] * dot_column(items, picks[k], cells, W)
        if update == st.IMPLICIT:
            # u' A^-1 u = sum over the entries of u's parts, so features that two items share need no merging.
            start, stop = row_bounds(items, picks[k])
            own = 0.0
            for j in range(start, stop):
                r = feature(items, j)
                own += items.data[j] * cells[r, SCRATCH] * inverse(cells, r, pending)
            confidence += weights[k] * own
    loss = target - margin
    if not (abs(loss) < 1e100 and confidence < 1e200):
        for k in range(picks.size):
            clear(items, picks[k], cells)
        return st.DIVERGED
    rate = loss / (1.0 + max(confidence, 0.0)) if update == st.IMPLICIT else loss
    after = 0.0
    for k in range(picks.size):
        start, stop = row_bounds(items, picks[k])
        for j in range(start, stop):
            r = feature(items, j)
            u = cells[r, SCRATCH]
            if u == 0.0:
                continue
            cells[r, SCRATCH] = 0.0
            if update == st.PERCEPTRON:
                cells[r, W] += u
                continue
            before = cells[r, A]
            now = before + u * u
            if update == st.IMPLICIT:
                cells[r, W] += rate * u * inverse(cells, r, pending)
            cells[r, A] = now
            if not exposed:
                cells[r, ROOT] = widened(cells[r, ROOT], u) if pending else 1.0 / math.sqrt(now)
            share = u * inverse(cells, r, pending)
            if update == st.MARGIN:
                cells[r, W] += rate * share
            elif update == st.COORDINATE:
                cells[r, W] = (before * cells[r, W] + target * u) / now
            after += u * share
    stats[st.LEARNT] += 1.0
    stats[st.SUM_H] += after
    stats[st.SUM_LOSS_H] += loss * loss * after
    return st.OK


@part
def inverse(cells, r, pending):
    """1/A of answered pairs."""
    return 1.0 / cells[r, A] if pending else cells[r, ROOT] * cells[r, ROOT]


@part
def widened(root, u):
    """1/sqrt(A + u^2) from 1/sqrt(A), where A itself counts answered pairs only."""
    return 1.0 / math.sqrt(1.0 / (root * root) + u * u)


@implements(st.expose, Diagonal)
def expose(state, items, picks, weights, plan, knobs):
    cells = state.cells
    gather(items, picks, weights, cells)
    for k in range(picks.size):
        start, stop = row_bounds(items, picks[k])
        for j in range(start, stop):
            r = feature(items, j)
            u = cells[r, SCRATCH]
            if u != 0.0:
                cells[r, SCRATCH] = 0.0
                cells[r, ROOT] = widened(cells[r, ROOT], u)
    state.stats[st.EXPOSED] += 1.0
