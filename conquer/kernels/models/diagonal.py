"""The diagonal model: scores, widths and steps over cells of w and 1/A."""

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.hints import borrowed, keep
from conquer.kernels.core.kernel import implements, part
from conquer.kernels.core.normals import normal
from conquer.kernels.core.sparse import (
    FOUR,
    ONE,
    THREE,
    TWO,
    ZERO,
    announce,
    announce_features,
    dot_column_ahead,
    feature,
    row_bounds,
)
from conquer.kernels.models import contrasts as differing
from conquer.kernels.models.cells import (
    INVERSE,
    OF_INVERSE,
    OF_W,
    W,
    add_weights,
    dither,
    empty_lists,
    gather,
    release,
    width,
)
from conquer.kernels.models.differences import by_place, index_row, place
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.primitives import DiagonalState


@implements(primitives.prepare, DiagonalState)
def prepare(state, items, plan, knobs):
    pass


@implements(primitives.widen, DiagonalState)
def widen(state, items, plan, knobs):
    pass


@implements(primitives.has_room, DiagonalState)
def has_room(state, items, plan):
    return True


@implements(primitives.scores, DiagonalState)
def scores(state, items, after, knobs, out):
    if after.size == 0 and items.rows.size > 0:
        # Nobody's scores came before these and fetched their rows.
        for i in range(min(2, items.rows.size)):
            announce(items, i)
        announce_features(items, 0, state.cells)
    then = after if after.size > 0 else items.rows
    for i in range(items.rows.size):
        out[i] = dot_column_ahead(items, i, then, state.cells, W)


@part
def variance(items, i, cells, column):
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        a += data[j] * data[j] * cells[feature(items, j), column]
        b += data[j + ONE] * data[j + ONE] * cells[feature(items, j + ONE), column]
        c += data[j + TWO] * data[j + TWO] * cells[feature(items, j + TWO), column]
        d += data[j + THREE] * data[j + THREE] * cells[feature(items, j + THREE), column]
    for j in range(four, stop):
        a += data[j] * data[j] * cells[feature(items, j), column]
    return (a + b) + (c + d)


@implements(primitives.variances, DiagonalState)
def variances(state, items, plan, knobs, out):
    for i in range(items.rows.size):
        out[i] = variance(items, i, state.cells, INVERSE)


@implements(primitives.contrasts, DiagonalState)
def contrasts(state, items, pivot, plan, knobs, out):
    differing.contrasts(state.cells, items, pivot, out)


@implements(primitives.gram, DiagonalState)
def gram(state, items, plan, knobs, work):
    cells = state.cells
    for i in range(items.rows.size):
        slots, ids, shift = index_row(items, i)
        values = by_place(items, i)
        for k in range(i, items.rows.size):
            start, stop = row_bounds(items, k)
            cross = 0.0
            for j in range(start, stop):
                r = feature(items, j)
                cross += items.data[j] * values[place(slots, ids, shift, r)] * cells[r, INVERSE]
            work[st.GRAM + i, k] = cross
            work[st.GRAM + k, i] = cross


@implements(primitives.noise, DiagonalState)
def noise(state, items, plan, knobs, work, ticket, out):
    """One normal per feature, so that items sharing a feature share its noise."""
    cells = state.cells
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        total = 0.0
        for j in range(start, stop):
            r = feature(items, j)
            z = normal(ticket, tickets.FEATURE + np.uint64(r))
            total += items.data[j] * np.sqrt(cells[r, INVERSE]) * z
        out[i] = total


@implements(primitives.shift, DiagonalState)
def shift(state, items, plan, knobs, mu):
    cells = state.cells
    size = ZERO
    for i in range(items.rows.size):
        size += width(items, i)
    before = np.empty(size)
    n = ZERO
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        for j in range(start, stop):
            before[n] = cells[feature(items, j), W]
            n += ONE
    for i in range(items.rows.size):
        if mu[i] != 0.0:
            start, stop = row_bounds(items, i)
            for j in range(start, stop):
                r = feature(items, j)
                cells[r, W] -= mu[i] * items.data[j] * cells[r, INVERSE]
    return before


@implements(primitives.unshift, DiagonalState)
def unshift(state, items, plan, knobs, mu, before):
    n = ZERO
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        for j in range(start, stop):
            state.cells[feature(items, j), W] = before[n]
            n += ONE


@part
def quadratic(u, v):
    """sum_n u_n^2 v_n over lists."""
    a = b = c = d = 0.0
    size = np.uint64(u.size)
    four = size // FOUR * FOUR
    for n in range(ZERO, four, FOUR):
        a += u[n] * u[n] * v[n]
        b += u[n + ONE] * u[n + ONE] * v[n + ONE]
        c += u[n + TWO] * u[n + TWO] * v[n + TWO]
        d += u[n + THREE] * u[n + THREE] * v[n + THREE]
    for n in range(four, size):
        a += u[n] * u[n] * v[n]
    return (a + b) + (c + d)


@part
def advance(u, v, step, update, rate):
    """v := 1/A after the step; step := by how much w moves, or would if it did not depend on w."""
    if update == st.IMPLICIT:
        for n in range(np.uint64(u.size)):
            step[n] = rate * u[n] * v[n]
            v[n] = v[n] / (1.0 + u[n] * u[n] * v[n])
    elif update == st.PERCEPTRON:
        for n in range(np.uint64(u.size)):
            step[n] = u[n]
    else:
        for n in range(np.uint64(u.size)):
            v[n] = v[n] / (1.0 + u[n] * u[n] * v[n])
            step[n] = rate * u[n] * v[n]


@part
def settle(items, i, cells, v, step, last):
    """Move w and put 1/A back."""
    start, stop = row_bounds(items, i)
    n = last + ONE - start
    for j in range(start, stop):
        r = feature(items, j)
        cells[r, W] += step[n + j]
        cells[r, INVERSE] = v[n + j]


@part
def step_each(items, cells, u, v, target, step):
    """step := that of the coordinate update: every feature goes towards the target as if it were alone."""
    n = ONE
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            step[n] = (target - u[n] * cells[feature(items, j), W]) * u[n] * v[n]
            n += ONE


@implements(primitives.step, DiagonalState)
def step(state, items, weights, target, plan, knobs):
    room = empty_lists(items)
    status = step_with(state, items, weights, target, plan, knobs, borrowed(room))
    keep(room)
    return status


@part
def step_with(state, items, weights, target, plan, knobs, room):
    cells, stats = state.cells, state.stats
    update = plan[st.UPDATE]
    u, v, change = room[0], room[1], room[2]
    last = ZERO
    margin = 0.0
    for k in range(items.rows.size):
        margin += weights[k] * gather(items, k, weights[k], cells, u, v, change, last)
        last += width(items, k)
    loss = target - margin
    confidence = quadratic(u, v)
    if not (abs(loss) < 1e10 * knobs[st.LARGEST] and confidence < 1e200):
        release(items, cells, v)
        return st.DIVERGED
    advance(u, v, change, update, loss / (1.0 + confidence) if update == st.IMPLICIT else loss)
    after = quadratic(u, v)
    if update == st.COORDINATE:
        step_each(items, cells, u, v, target, change)
    count = np.uint64(stats[st.LEARNT])
    if cells.itemsize == 4:
        add_weights(items, cells, 1.0, change)
        dither(items, change, count, OF_W)
        add_weights(items, cells, -1.0, change)
        dither(items, v, count, OF_INVERSE)
    last = ZERO
    for k in range(items.rows.size):
        settle(items, k, cells, v, change, last)
        last += width(items, k)
    stats[st.LEARNT] += 1.0
    stats[st.SUM_H] += after
    stats[st.SUM_LOSS_H] += loss * loss * after
    return st.OK
