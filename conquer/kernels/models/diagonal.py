"""The diagonal model: scores, widths and steps over a table of w and 1/A, four features to a cache line.

Where features of several items must be matched in a step, 1/A in the table is replaced during the step by minus
the place of the feature in a small list: 1/A is never negative, so a negative number is a place. That takes no memory
and no cache line. A row has each feature once, which `SparseRows` ensures.
"""

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import implements, part
from conquer.kernels.core.sparse import (
    FOUR,
    ONE,
    THREE,
    TWO,
    ZERO,
    dot_column_ahead,
    feature,
    prefetch_features,
    prefetch_row,
    row_bounds,
)
from conquer.kernels.models.differences import GOLDEN, by_place, index_row, place, slot_bits
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.primitives import DiagonalState

W, INVERSE = range(2)  # columns of the table
VALUES, OWN, LEFT, TERMS = range(4)  # lists of numbers of `contrasts`
IDS, LINKS, FOUND, PLACES = range(4)  # and of whole numbers
_WORD = np.uint64(64)


@implements(primitives.unpacked, DiagonalState)
def unpacked(state):
    return DiagonalState(state.table, state.stats, state.work, st.model_constants(state.constants))


@implements(primitives.prepare, DiagonalState)
def prepare(state, items):
    pass


@implements(primitives.widen, DiagonalState)
def widen(state, items):
    pass


@implements(primitives.has_room, DiagonalState)
def has_room(state, items):
    return True


@implements(primitives.scores, DiagonalState)
def scores(state, items, after, out):
    if after.size == 0 and items.rows.size > 0:
        # No earlier round has fetched these rows.
        for i in range(min(2, items.rows.size)):
            prefetch_row(items, i)
        prefetch_features(items, 0, state.table)
    then = after if after.size > 0 else items.rows
    for i in range(items.rows.size):
        out[i] = dot_column_ahead(items, i, then, state.table, W)


@part
def variance(items, i, table):
    data = items.data
    start, stop = row_bounds(items, i)
    a = b = c = d = 0.0
    four = start + (stop - start) // FOUR * FOUR
    for j in range(start, four, FOUR):
        a += data[j] * data[j] * table[feature(items, j), INVERSE]
        b += data[j + ONE] * data[j + ONE] * table[feature(items, j + ONE), INVERSE]
        c += data[j + TWO] * data[j + TWO] * table[feature(items, j + TWO), INVERSE]
        d += data[j + THREE] * data[j + THREE] * table[feature(items, j + THREE), INVERSE]
    for j in range(four, stop):
        a += data[j] * data[j] * table[feature(items, j), INVERSE]
    return (a + b) + (c + d)


@implements(primitives.variances, DiagonalState)
def variances(state, items, out):
    for i in range(items.rows.size):
        out[i] = variance(items, i, state.table)


@implements(primitives.contrasts, DiagonalState)
def contrasts(state, items, pivot, out):
    """Entry by entry; what an item shares with the pivot is found through a table of hashes of the pivot's features.

    No branch depends on whether a feature is shared: the processor would mispredict half of them. Lists are rows of
    two arrays and are read by two numbers: a row taken out would be one more array to count references of.
    """
    table = state.table
    most = ZERO
    for i in range(items.rows.size):
        most = max(most, width(items, i))
    size = np.int64(width(items, pivot))
    bits = slot_bits(size)
    marks, heads = np.zeros(1 << bits, np.uint8), np.empty(1 << bits, np.uint32)
    lists, numbers = np.empty((4, most + ONE)), np.empty((4, most + ONE), np.uint32)
    room = marks, heads, lists, numbers
    shift = _WORD - np.uint64(bits)
    index_pivot(table, items, pivot, room, shift)
    contrasts_with(table, items, pivot, room, shift, out)


@part
def index_pivot(table, items, pivot, room, shift):
    """The pivot's features by place, from 1: their values, x_r^2 / A_r, ids, and the next one of the same hash.

    `marks` says which hashes there are, `heads` the last place of each. Place 0 means no feature, and is 0.
    """
    marks, heads, lists, numbers = room
    lists[VALUES, 0] = lists[OWN, 0] = lists[LEFT, 0] = 0.0
    numbers[LINKS, 0] = 0
    start, stop = row_bounds(items, pivot)
    for j in range(start, stop):
        n, r, value = j - start + ONE, feature(items, j), items.data[j]
        lists[VALUES, n], numbers[IDS, n] = value, r
        lists[OWN, n] = lists[LEFT, n] = value * value * table[r, INVERSE]
        slot = (np.uint64(r) * GOLDEN) >> shift
        numbers[LINKS, n] = heads[slot] * marks[slot]
        heads[slot], marks[slot] = n, 1


@part
def contrasts_with(table, items, pivot, room, shift, out):
    """All rows in one function: numba counts array references at every call."""
    marks, heads, lists, numbers = room
    data = items.data
    size = width(items, pivot) + ONE
    for i in range(items.rows.size):
        if i == pivot:
            continue
        start, stop = row_bounds(items, i)
        # TERMS as if nothing were shared, and which entries may be: their number grows by a 0 or a 1.
        count = ZERO
        for j in range(start, stop):
            r = feature(items, j)
            lists[TERMS, j - start] = data[j] * data[j] * table[r, INVERSE]
            numbers[FOUND, count] = j - start
            count += np.uint64(marks[(np.uint64(r) * GOLDEN) >> shift])
        for k in range(count):
            j = start + numbers[FOUND, k]
            r = feature(items, j)
            n = np.uint64(heads[(np.uint64(r) * GOLDEN) >> shift])
            link = np.uint64(numbers[LINKS, n])
            n = link ^ ((link ^ n) * np.uint64(numbers[IDS, n] == r))
            numbers[IDS, 0] = r  # so that one test, nearly never true, is enough
            while numbers[IDS, n] != r:
                n = np.uint64(numbers[LINKS, n])
            numbers[PLACES, k] = n
            gap = data[j] - lists[VALUES, n]
            lists[TERMS, j - start] = gap * gap * table[r, INVERSE]
            lists[LEFT, n] = 0.0
        a = b = c = d = 0.0
        four = (stop - start) // FOUR * FOUR
        for n in range(ZERO, four, FOUR):
            a += lists[TERMS, n]
            b += lists[TERMS, n + ONE]
            c += lists[TERMS, n + TWO]
            d += lists[TERMS, n + THREE]
        for n in range(four, stop - start):
            a += lists[TERMS, n]
        e = f = g = h = 0.0
        four = size // FOUR * FOUR
        for n in range(ZERO, four, FOUR):
            e += lists[LEFT, n]
            f += lists[LEFT, n + ONE]
            g += lists[LEFT, n + TWO]
            h += lists[LEFT, n + THREE]
        for n in range(four, size):
            e += lists[LEFT, n]
        out[i] = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for k in range(count):
            n = np.uint64(numbers[PLACES, k])
            lists[LEFT, n] = lists[OWN, n]
    out[pivot] = 0.0


@implements(primitives.gram, DiagonalState)
def gram(state, items):
    table = state.table
    for i in range(items.rows.size):
        slots, ids, shift = index_row(items, i)
        values = by_place(items, i)
        for k in range(i, items.rows.size):
            start, stop = row_bounds(items, k)
            cross = 0.0
            for j in range(start, stop):
                r = feature(items, j)
                cross += items.data[j] * values[place(slots, ids, shift, r)] * table[r, INVERSE]
            state.work[st.GRAM + i, k] = cross
            state.work[st.GRAM + k, i] = cross


@implements(primitives.noise, DiagonalState)
def noise(state, items, ticket, out):
    """One normal per feature, so that items sharing a feature share its noise."""
    table = state.table
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        total = 0.0
        for j in range(start, stop):
            r = feature(items, j)
            z = tickets.table_normal(ticket, tickets.FEATURE + np.uint64(r))
            total += items.data[j] * np.sqrt(table[r, INVERSE]) * z
        out[i] = total


@implements(primitives.shift, DiagonalState)
def shift(state, items, mu):
    table = state.table
    size = ZERO
    for i in range(items.rows.size):
        size += width(items, i)
    before = np.empty(size)
    n = ZERO
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        for j in range(start, stop):
            before[n] = table[feature(items, j), W]
            n += ONE
    for i in range(items.rows.size):
        if mu[i] != 0.0:
            start, stop = row_bounds(items, i)
            for j in range(start, stop):
                r = feature(items, j)
                table[r, W] -= mu[i] * items.data[j] * table[r, INVERSE]
    return before


@implements(primitives.unshift, DiagonalState)
def unshift(state, items, before):
    n = ZERO
    for i in range(items.rows.size):
        start, stop = row_bounds(items, i)
        for j in range(start, stop):
            state.table[feature(items, j), W] = before[n]
            n += ONE


@part
def width(items, i):
    """How many entries row i has."""
    start, stop = row_bounds(items, i)
    return stop - start


@part
def place_of(inverse):
    """The place that 1/A was replaced by, 0 for none, without a branch."""
    return np.uint64(np.int64(max(-inverse, 0.0)))


@part
def gather(items, i, weight, table, u, v, spare, last):
    """Append weight * phi_i and 1/A to the lists whose last place is `last`; returns phi_i . w.

    1/A of a feature in the table is then minus the feature's place. A feature that has a place already moves to its
    new one and leaves 0 at the old one. `spare` is a list as long as the others, overwritten.
    """
    data = items.data
    start, stop = row_bounds(items, i)
    shift = last + ONE - start
    a = b = 0.0
    two = start + (stop - start) // TWO * TWO
    for j in range(start, two, TWO):
        r, s = feature(items, j), feature(items, j + ONE)
        a += data[j] * table[r, W]
        v[shift + j] = table[r, INVERSE]
        table[r, INVERSE] = -float(np.int64(shift + j))
        b += data[j + ONE] * table[s, W]
        v[shift + j + ONE] = table[s, INVERSE]
        table[s, INVERSE] = -float(np.int64(shift + j + ONE))
    for j in range(two, stop):
        r = feature(items, j)
        a += data[j] * table[r, W]
        v[shift + j] = table[r, INVERSE]
        table[r, INVERSE] = -float(np.int64(shift + j))
    for j in range(start, stop):
        u[shift + j] = weight * data[j]
    if last > ZERO:
        # Collect the shared features first, without a branch, which would be mispredicted half of the time.
        count = ZERO
        for n in range(last + ONE, last + ONE + stop - start):
            spare[count] = float(np.int64(n))
            count += ONE if v[n] < 0.0 else ZERO
        for k in range(count):
            n = np.uint64(np.int64(spare[k]))
            old = place_of(v[n])
            u[n] += u[old]
            v[n] = v[old]
            u[old] = v[old] = 0.0
    return a + b


@part
def release(items, table, v):
    """Put 1/A back; what has moved within the list is put at its last place."""
    n = ONE
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            table[feature(items, j), INVERSE] = v[n + j - start]
        n += stop - start


@part
def empty_lists(items):
    """Lists (3, n) with room for the entries of some items from place 1 on; place 0 means no feature, and is 0."""
    size = ONE
    for k in range(items.rows.size):
        size += width(items, k)
    lists = np.empty((3, size))
    lists[0, 0] = lists[1, 0] = lists[2, 0] = 0.0
    return lists


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
def discount(u, v, forget, fresh, out):
    """out := 1/A with the share `forget` of A kept in the features of u, A not below its start."""
    for n in range(np.uint64(u.size)):
        out[n] = v[n] if u[n] == 0.0 else (v[n] / forget if v[n] < forget * fresh else fresh)


@part
def advance(u, v, step, update, rate):
    """v := 1/A after the step; step := the change of w (for `coordinate`, `step_each` replaces it)."""
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
def settle(items, i, table, v, step, last):
    """Move w and put 1/A back."""
    start, stop = row_bounds(items, i)
    n = last + ONE - start
    for j in range(start, stop):
        r = feature(items, j)
        table[r, W] += step[n + j]
        table[r, INVERSE] = v[n + j]


@part
def step_each(items, table, u, v, target, step):
    """step := that of the coordinate update: every feature goes towards the target as if it were alone."""
    n = ONE
    for k in range(items.rows.size):
        start, stop = row_bounds(items, k)
        for j in range(start, stop):
            step[n] = (target - u[n] * table[feature(items, j), W]) * u[n] * v[n]
            n += ONE


@implements(primitives.step, DiagonalState)
def step(state, items, weights, target):
    room = empty_lists(items)
    table, stats = state.table, state.stats
    update = state.constants.update
    u, v, change = room[0], room[1], room[2]
    last = ZERO
    margin = 0.0
    for k in range(items.rows.size):
        margin += weights[k] * gather(items, k, weights[k], table, u, v, change, last)
        last += width(items, k)
    loss = target - margin
    before, forget = v, state.constants.forget
    if forget < 1.0:
        discount(u, v, forget, 1.0 / state.constants.lam, change)
        v, change = change, v
    confidence = quadratic(u, v)
    if not (abs(loss) < 1e100 and confidence < 1e200):
        release(items, table, before)
        return st.DIVERGED
    advance(u, v, change, update, loss / (1.0 + confidence) if update == st.IMPLICIT else loss)
    after = quadratic(u, v)
    if update == st.COORDINATE:
        step_each(items, table, u, v, target, change)
    last = ZERO
    for k in range(items.rows.size):
        settle(items, k, table, v, change, last)
        last += width(items, k)
    stats[st.LEARNT] += 1.0
    stats[st.SUM_H] += after
    stats[st.SUM_LOSS_H] += loss * loss * after
    return st.OK
