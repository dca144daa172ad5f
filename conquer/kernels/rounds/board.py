"""What rules for a board maximise: a challenger's upper bound at any look, and what an answer does for an order."""

import math

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import part
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.select import pick


@part
def anytime(variance, level):
    """The square of the width that holds at every look, level = 2 ln(1/delta): Robbins' normal mixture."""
    if variance <= 0.0:
        return 0.0
    spread = variance + st.MIXING
    return variance * spread / st.MIXING * (level + (math.log(spread) - math.log(variance)))


@part
def separation(gap, variance):
    """ln(sigma exp(-gap^2 / (2 sigma^2))), sigma^2 = V^2 / (4 + V) being what one answer takes from the variance V."""
    if variance <= 0.0:
        return -math.inf
    scaled = gap / variance
    return math.log(variance) - 0.5 * math.log(4.0 + variance) - 0.5 * (scaled * scaled) * (4.0 + variance)


@part
def pick_pair(state, items, plan, knobs, work, ticket):
    """(a, b, chance): a pair with the largest separation, the better score first; the ticket decides among equals.

    The first pick is among the items of the best pairs, the second among that item's. The K x K values lie in the Gram
    matrix's rows of `work`.
    """
    count = items.rows.size
    values = work[st.GRAM :]
    for i in range(count):
        primitives.contrasts(state, items, i, plan, knobs, values[i])
    for i in range(count):
        values[i, i] = -math.inf
        for j in range(i):
            # Rounding may differ between the two ways round: their larger one is the same for equal items.
            variance = max(values[i, j], values[j, i])
            value = separation(work[st.SCORES, i] - work[st.SCORES, j], variance)
            values[i, j] = value
            values[j, i] = value
    for i in range(count):
        largest = -math.inf
        for j in range(count):
            if values[i, j] > largest:
                largest = values[i, j]
        work[st.VALUES, i] = largest
    a, items_tied = pick(work[st.VALUES], count, -1, ticket, tickets.FIRST)
    b, pairs_tied = pick(values[a], count, a, ticket, tickets.SECOND)
    _, other_way = pick(values[b], count, b, ticket, tickets.SECOND)
    chance = 1.0 / (items_tied * pairs_tied)
    if work[st.SCORES, a] == work[st.SCORES, b]:
        return a, b, chance
    chance += 1.0 / (items_tied * other_way)
    if work[st.SCORES, a] < work[st.SCORES, b]:
        return b, a, chance
    return a, b, chance
