"""Projection of a round's scores on |s_i| <= 1, in the K-dimensional dual."""

import math

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import part
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.active import finish

# Slab after slab converges slowly where items are nearly dependent; what is not done by then is solved at once.
PATIENCE = 1000


@part
def violation(scores, count):
    largest = 0.0
    for i in range(count):
        largest = max(largest, abs(scores[i]) - 1.0)
    return largest


@part
def project(plan, knobs, work, count, ticket):
    """Multipliers mu and projected scores s - G mu with |s_i| <= 1, in `work`; returns a status.

    Sequential: slab after slab in the ticket's order until none is violated. Exact: Hildreth's method, which
    also takes steps back and so ends at the nearest feasible point. Where that takes too long, `finish` goes to
    the nearest feasible point at once: from the start for exact, from where the slabs have led for sequential.
    """
    s, mu, order = work[st.SCORES], work[st.MULTIPLIERS], work[st.SPARE]
    exact = plan[st.PROJECTION] == st.EXACT
    start = np.empty(count)
    for i in range(count):
        start[i] = s[i]
        j = tickets.below(ticket, tickets.ORDER + np.uint64(i), i + 1)
        order[i] = order[j]
        order[j] = i
    for _ in range(min(PATIENCE, int(knobs[st.SWEEPS]))):
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
        if moved <= knobs[st.TOLERANCE] and violation(s, count) <= knobs[st.TOLERANCE]:
            return st.OK
        if not math.isfinite(moved):
            return st.DIVERGED
    more = np.zeros(count)
    for i in range(count):
        if exact:
            more[i] = mu[i]
        else:
            start[i] = s[i]
    status = finish(work, start, more, knobs)
    for i in range(count):
        mu[i] = more[i] if exact else mu[i] + more[i]
    return status
