"""Small parts of a round: the largest value (the ticket breaks ties), eta now, a draw from the items' Gram matrix."""

import math

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import jit, part
from conquer.kernels.rounds import settings as st


@part
def pick(values, count, skip, ticket, counter):
    """(position, ties): a largest of the values but `skip`'s; among equal ones the ticket decides.

    Values that are not numbers never win; where none is, every position is as good as the other.
    """
    best = -math.inf
    ties = 0
    for i in range(count):
        if i != skip:
            if values[i] > best:
                best = values[i]
                ties = 1
            elif values[i] == best:
                ties += 1
    anything = ties == 0
    if anything:
        ties = count - (1 if skip >= 0 else 0)
    left = tickets.below(ticket, counter, ties) if ties > 1 else 0
    for i in range(count):
        if i != skip and (anything or values[i] == best):
            if left == 0:
                return i, ties
            left -= 1
    return -1, ties


@jit
def pick_once(values, count, skip, ticket, counter):
    return pick(values, count, skip, ticket, counter)


@part
def current_eta(plan, knobs, stats):
    """The factor under the root of every width: constant, or twice the paper's or our running bound."""
    mode = plan[st.ETA_MODE]
    if mode == st.CONSTANT:
        return knobs[st.ETA]
    start = 0.5 * knobs[st.LAM] * (knobs[st.RADIUS] * knobs[st.RADIUS]) + 2.0 * knobs[st.DRIFT]
    if mode == st.THEORY:
        t = 1.0 + stats[st.LEARNT]
        return 2.0 * (start + 2.0 * stats[st.SUM_H] + 36.0 * math.log((t + 4.0) / knobs[st.DELTA]))
    return 2.0 * (start + 0.5 * stats[st.SUM_LOSS_H] + math.log(1.0 / knobs[st.DELTA]))


@jit
def eta_now(plan, knobs, stats):
    return current_eta(plan, knobs, stats)


@part
def draw_from_gram(work, count, ticket, out):
    """out ~ N(0, G) for the Gram matrix in `work`, which it overwrites by a factor that skips null directions.

    Items that G cannot tell apart get one number, to the bit.
    """
    twins = np.empty(count, np.int64)
    for i in range(count):
        twins[i] = i
        own = work[st.GRAM + i, i]
        for j in range(i - 1, -1, -1):
            if work[st.GRAM + i, j] == own and work[st.GRAM + j, j] == own:
                twins[i] = j
    for i in range(count):
        for j in range(i + 1):
            total = work[st.GRAM + i, j]
            if i == j:
                scale = abs(total)
            for k in range(j):
                total -= work[st.GRAM + i, k] * work[st.GRAM + j, k]
            if i == j:
                work[st.GRAM + i, i] = math.sqrt(total) if total > 1e-12 * scale else 0.0
            elif work[st.GRAM + j, j] > 0.0:
                work[st.GRAM + i, j] = total / work[st.GRAM + j, j]
            else:
                work[st.GRAM + i, j] = 0.0
        total = 0.0
        for j in range(i + 1):
            total += work[st.GRAM + i, j] * tickets.normal(ticket, tickets.FEATURE + np.uint64(j))
        out[i] = total if twins[i] == i else out[twins[i]]
