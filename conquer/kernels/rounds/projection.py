"""Projection of a round's scores on |s_i| <= 1, in the K-dimensional dual.

`project` projects on one constraint |s_i| <= 1 (a slab) after another. Where that takes too long, `finish` finds
the nearest feasible scores by an active set: which slabs are tight is found by exchanges, and the rest is one solve.
"""

import math

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import part
from conquer.kernels.rounds import settings as st

# Slab after slab converges slowly where items are nearly dependent; what is not done by then is solved at once.
PATIENCE = 1000

# A direction with less than this of its item's own variance is rounding, not information.
_NULL = 1e-13
_EPS = 2.0**-52


@part
def residual(work, start, mu, out):
    """out := start - G mu; returns the size of the sums' terms, below whose rounding a difference means nothing."""
    size = 0.0
    for i in range(start.size):
        total, terms = start[i], abs(start[i])
        for j in range(start.size):
            if mu[j] != 0.0:
                total -= work[st.GRAM + i, j] * mu[j]
                terms += abs(work[st.GRAM + i, j] * mu[j])
        out[i] = total
        size = max(size, terms)
    return size


@part
def substitute(factor, size, x):
    """x := (L L')^-1 x over the first `size` rows of L."""
    for r in range(size):
        for c in range(r):
            x[r] -= factor[r, c] * x[c]
        x[r] /= factor[r, r]
    for r in range(size - 1, -1, -1):
        x[r] /= factor[r, r]
        for c in range(r):
            x[c] -= factor[r, c] * x[r]


@part
def factorise(work, active, size, factor):
    """L of G over the active items; returns how many come before the first that depends on those before it."""
    for r in range(size):
        i = active[r]
        for c in range(r + 1):
            total = work[st.GRAM + i, active[c]]
            for k in range(c):
                total -= factor[r, k] * factor[c, k]
            if c < r:
                factor[r, c] = total / factor[c, c]
            elif total > _NULL * work[st.GRAM + i, i]:
                factor[r, r] = math.sqrt(total)
            else:
                return r
    return size


@part
def cut(mu, active, sides, size, step, most):
    """mu += t step, t <= most the largest that changes no multiplier's sign; returns the position now at 0, or -1."""
    t, where = most, -1
    for r in range(size):
        if step[r] * sides[r] < 0.0:
            limit = abs(mu[active[r]] / step[r])
            if limit < t:
                t, where = limit, r
    if t < math.inf:
        for r in range(size):
            mu[active[r]] += t * step[r]
    if where >= 0:
        mu[active[where]] = 0.0
    return where


@part
def drop(active, sides, size, where):
    for r in range(where, size - 1):
        active[r] = active[r + 1]
        sides[r] = sides[r + 1]


@part
def along_null(work, mu, rest, active, sides, alone, factor, step):
    """Move in the null space of G until a multiplier is 0; returns its position. `alone` depends on those before."""
    j = active[alone]
    for r in range(alone):
        step[r] = work[st.GRAM + active[r], j]
    substitute(factor, alone, step)
    slope = sides[alone] - rest[j]
    for r in range(alone):
        step[r] = -step[r]
        slope += step[r] * (sides[r] - rest[active[r]])
    step[alone] = 1.0
    # Downhill; a new item can only go to its own side.
    way = sides[alone] if mu[j] == 0.0 or slope == 0.0 else -math.copysign(1.0, slope)
    for r in range(alone + 1):
        step[r] *= way
    where = cut(mu, active, sides, alone + 1, step, math.inf)
    if where < 0 and mu[j] != 0.0:
        for r in range(alone + 1):
            step[r] = -step[r]
        where = cut(mu, active, sides, alone + 1, step, math.inf)
    return alone if where < 0 else where


@part
def settle_active(work, start, mu, rest, active, sides, size, factor, step):
    """Solve for the active items, dropping those whose multiplier would turn its sign; returns how many are left."""
    while size > 0:
        residual(work, start, mu, rest)
        free = factorise(work, active, size, factor)
        if free < size:
            where = along_null(work, mu, rest, active, sides, free, factor, step)
            mu[active[where]] = 0.0
        else:
            for r in range(size):
                step[r] = rest[active[r]] - sides[r]
            substitute(factor, size, step)
            where = cut(mu, active, sides, size, step, 1.0)
            if where < 0:
                return size
        drop(active, sides, size, where)
        size -= 1
    return size


@part
def finish(work, start, mu, sweeps):
    """mu, and start - G mu in work[SCORES]: the feasible scores nearest to `start` in the metric of A.

    mu is where to begin. Lawson and Hanson's exchanges: the most violated item joins the active ones, those whose
    multiplier would turn its sign leave. Returns a status.
    """
    count = start.size
    rest = work[st.SCORES]
    active, sides = np.empty(count, np.int64), np.empty(count)
    factor, step = np.empty((count, count)), np.empty(count)
    barred = np.zeros(count, np.bool_)
    size = 0
    for i in range(count):
        if mu[i] != 0.0 and work[st.GRAM + i, i] > 0.0:
            active[size], sides[size] = i, math.copysign(1.0, mu[i])
            size += 1
        else:
            mu[i] = 0.0
    for _ in range(sweeps):
        size = settle_active(work, start, mu, rest, active, sides, size, factor, step)
        # A second solve takes away what the first one's rounding left.
        size = settle_active(work, start, mu, rest, active, sides, size, factor, step)
        terms = residual(work, start, mu, rest)
        if not math.isfinite(terms):
            return st.DIVERGED
        room = st.TOLERANCE + 64.0 * _EPS * terms
        worst, most, largest = -1, room, room
        for i in range(count):
            beyond = abs(rest[i]) - 1.0
            if beyond > largest:
                largest = beyond
            if beyond > most and not barred[i] and mu[i] == 0.0 and work[st.GRAM + i, i] > 0.0:
                worst, most = i, beyond
        if worst < 0:
            return st.OK if largest <= room else st.NOT_CONVERGED
        active[size], sides[size] = worst, math.copysign(1.0, rest[worst])
        size += 1
        size = settle_active(work, start, mu, rest, active, sides, size, factor, step)
        if mu[worst] == 0.0:
            barred[worst] = True
        else:
            for i in range(count):
                barred[i] = False
    return st.NOT_CONVERGED


@part
def violation(scores, count):
    largest = 0.0
    for i in range(count):
        largest = max(largest, abs(scores[i]) - 1.0)
    return largest


@part
def project(constants, work, count, ticket):
    """Multipliers mu and projected scores s - G mu with |s_i| <= 1, in `work`; returns a status.

    Sequential: slab after slab in the ticket's order until none is violated. Exact: Hildreth's method, which
    also takes steps back and so ends at the nearest feasible point. Where that takes too long, `finish` goes to
    the nearest feasible point at once: from the start for exact, from where the slabs have led for sequential.
    """
    s, mu, order = work[st.SCORES], work[st.MULTIPLIERS], work[st.SPARE]
    exact = constants.projection == st.EXACT
    start = np.empty(count)
    for i in range(count):
        start[i] = s[i]
        j = tickets.below(ticket, tickets.ORDER + np.uint64(i), i + 1)
        order[i] = order[j]
        order[j] = i
    for _ in range(min(PATIENCE, constants.sweeps)):
        moved = 0.0
        for position in range(count):
            i = int(order[position])
            own = work[st.GRAM + i, i]
            if own <= 0.0:
                continue
            low, high = (s[i] - 1.0) / own, (s[i] + 1.0) / own
            back = -mu[i] if exact else 0.0
            delta = max(min(back, high), low)
            if delta != 0.0:
                mu[i] += delta
                for j in range(count):
                    s[j] -= work[st.GRAM + j, i] * delta
                moved = max(moved, abs(delta) * own)
        if moved <= st.TOLERANCE and violation(s, count) <= st.TOLERANCE:
            return st.OK
        if not math.isfinite(moved):
            return st.DIVERGED
    more = np.zeros(count)
    for i in range(count):
        if exact:
            more[i] = mu[i]
        else:
            start[i] = s[i]
    status = finish(work, start, more, constants.sweeps)
    for i in range(count):
        mu[i] = more[i] if exact else mu[i] + more[i]
    return status
