"""The diagonal model: w, A, 1/A and a scratch cell side by side, one cache line for two features."""

import math

import numpy as np

from conquer.kernels import state as st
from conquer.kernels import tickets
from conquer.kernels.compiling import implements, part
from conquer.kernels.normals import normal
from conquer.kernels.sparse import FOUR, ONE, THREE, TWO, dot_column, dot_column_ahead, feature, row_bounds
from conquer.kernels.state import Diagonal

W, A, INVERSE, SCRATCH = range(4)


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
    for i in range(items.rows.size):
        out[i] = dot_column_ahead(items, i, state.cells, W)


@part
def variance(items, i, cells):
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        a += data[j] * data[j] * cells[feature(items, j), INVERSE]
        b += data[j + ONE] * data[j + ONE] * cells[feature(items, j + ONE), INVERSE]
        c += data[j + TWO] * data[j + TWO] * cells[feature(items, j + TWO), INVERSE]
        d += data[j + THREE] * data[j + THREE] * cells[feature(items, j + THREE), INVERSE]
    for j in range(four, stop):
        a += data[j] * data[j] * cells[feature(items, j), INVERSE]
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
        cells[r, SCRATCH] = items.data[j] * cells[r, INVERSE]


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
        a += data[j] * data[j] * cells[feature(items, j), INVERSE]
        e += data[j] * cells[feature(items, j), SCRATCH]
        b += data[j + ONE] * data[j + ONE] * cells[feature(items, j + ONE), INVERSE]
        f += data[j + ONE] * cells[feature(items, j + ONE), SCRATCH]
        c += data[j + TWO] * data[j + TWO] * cells[feature(items, j + TWO), INVERSE]
        g += data[j + TWO] * cells[feature(items, j + TWO), SCRATCH]
        d += data[j + THREE] * data[j + THREE] * cells[feature(items, j + THREE), INVERSE]
        h += data[j + THREE] * cells[feature(items, j + THREE), SCRATCH]
    for j in range(four, stop):
        a += data[j] * data[j] * cells[feature(items, j), INVERSE]
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
            total += items.data[j] * math.sqrt(cells[r, INVERSE]) * z
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


@part
def margin_and_confidence(items, i, cells, pending):
    """phi_i . w and phi_i' A^-1 u in one pass, u being in the scratch cells."""
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    e = f = g = h = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        r, s, t, v = feature(items, j), feature(items, j + ONE), feature(items, j + TWO), feature(items, j + THREE)
        a += data[j] * cells[r, W]
        e += data[j] * cells[r, SCRATCH] * inverse(cells, r, pending)
        b += data[j + ONE] * cells[s, W]
        f += data[j + ONE] * cells[s, SCRATCH] * inverse(cells, s, pending)
        c += data[j + TWO] * cells[t, W]
        g += data[j + TWO] * cells[t, SCRATCH] * inverse(cells, t, pending)
        d += data[j + THREE] * cells[v, W]
        h += data[j + THREE] * cells[v, SCRATCH] * inverse(cells, v, pending)
    for j in range(four, stop):
        r = feature(items, j)
        a += data[j] * cells[r, W]
        e += data[j] * cells[r, SCRATCH] * inverse(cells, r, pending)
    return (a + b) + (c + d), (e + f) + (g + h)


@part
def advance_implicit(items, i, cells, rate):
    """The implicit update of the features of item i that have not had it; returns its part of u' A^-1 u after it.

    Without branches: where u is 0 the step changes nothing, and clears it for features that two items share.
    """
    start, stop = row_bounds(items, i)
    after = 0.0
    for j in range(start, stop):
        r = feature(items, j)
        u = cells[r, SCRATCH]
        cells[r, SCRATCH] = 0.0
        cells[r, W] += rate * u * cells[r, INVERSE]
        cells[r, A] += u * u
        cells[r, INVERSE] = 1.0 / cells[r, A]  # of the stored A, as a restored model has it
        after += u * u * cells[r, INVERSE]
    return after


@part
def advance(items, i, cells, rate, target, update, pending, exposed):
    """Any update of the features of item i that have not had it; returns its part of u' A^-1 u after it."""
    start, stop = row_bounds(items, i)
    after = 0.0
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
            cells[r, INVERSE] = widened(cells[r, INVERSE], u) if pending else 1.0 / cells[r, A]
        share = u * inverse(cells, r, pending)
        if update == st.MARGIN:
            cells[r, W] += rate * share
        elif update == st.COORDINATE:
            cells[r, W] = (before * cells[r, W] + target * u) / now
        after += u * share
    return after


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
        # u' A^-1 u = sum over the entries of u's parts, so features that two items share need no merging.
        part_margin, part_confidence = margin_and_confidence(items, picks[k], cells, pending)
        margin += weights[k] * part_margin
        confidence += weights[k] * part_confidence
    loss = target - margin
    if not (abs(loss) < 1e10 * knobs[st.LARGEST] and confidence < 1e200):
        for k in range(picks.size):
            clear(items, picks[k], cells)
        return st.DIVERGED
    rate = loss / (1.0 + max(confidence, 0.0)) if update == st.IMPLICIT else loss
    after = 0.0
    for k in range(picks.size):
        if update == st.IMPLICIT and not pending:
            after += advance_implicit(items, picks[k], cells, rate)
        else:
            after += advance(items, picks[k], cells, rate, target, update, pending, exposed)
    stats[st.LEARNT] += 1.0
    stats[st.SUM_H] += after
    stats[st.SUM_LOSS_H] += loss * loss * after
    return st.OK


@part
def inverse(cells, r, pending):
    """1/A of answered pairs."""
    return 1.0 / cells[r, A] if pending else cells[r, INVERSE]


@part
def widened(inverse, u):
    """1/(A + u^2) from 1/A, where the cell of A itself counts answered pairs only."""
    return inverse / (1.0 + u * u * inverse)


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
                cells[r, INVERSE] = widened(cells[r, INVERSE], u)
    state.stats[st.EXPOSED] += 1.0
