"""Scores of millions of test sets: one pass over the reviews, then look-ups."""

import numpy as np

from conquer.kernels.core.kernel import sized


@sized(lambda sets, *_: 3 * sets.size)
def mean_shortfall(sets, sizes, scores, worths):
    """Mean over the sets of (best worth - worth of the item with the top score); tied items count as their mean."""
    total = 0.0
    for t in range(sets.shape[0]):
        top, best = -np.inf, -np.inf
        worth, tied = 0.0, 0
        for j in range(sizes[t]):
            item = sets[t, j]
            best = max(best, worths[item])
            if scores[item] > top:
                top, worth, tied = scores[item], worths[item], 1
            elif scores[item] == top:
                worth += worths[item]
                tied += 1
        total += best - worth / tied
    return total / sets.shape[0]


@sized(lambda pool, tickets, sets: 10 * sets.size)
def draw_sets(pool, tickets, sets):
    """Fill `sets` (T, K) with K distinct members of `pool` a row, row t from tickets[t] alone; K <= pool.size."""
    count = sets.shape[1]
    for t in range(sets.shape[0]):
        state = tickets[t]
        for j in range(count):
            while True:
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                fresh = pool[int((state >> np.uint64(33)) * np.uint64(pool.size) >> np.uint64(31))]
                seen = False
                for i in range(j):
                    if sets[t, i] == fresh:
                        seen = True
                if not seen:
                    break
            sets[t, j] = fresh


@sized(lambda sets, *_: 3 * sets.size)
def equal_pairs(sets, sizes, worths):
    """The share of item pairs within a set whose worths are equal."""
    pairs, equal = 0, 0
    for t in range(sets.shape[0]):
        for i in range(sizes[t]):
            for j in range(i):
                pairs += 1
                if worths[sets[t, i]] == worths[sets[t, j]]:
                    equal += 1
    return equal / max(pairs, 1)
