"""Betting, compiled: the wealth of the tests that decide which items may still be best and when to stop."""

import math

from conquer.kernels.core.kernel import sized

LARGEST_BET = 0.9


@sized(lambda first, *_: 32 * first.size)
def weigh(first, second, slots, gaps, deviations, answers, tolerance, log, peak, extra):
    """Add answers, in order, to the logarithms of the wealth of K items and of pairs of a leader and another item.

    `gaps` and `deviations` are the difference of the two scores and its standard deviation before the answer. The bet
    is that the lower-scored item loses: log[k] and its maximum peak[k] are those of "nothing beats k". With a
    tolerance >= 0, log[k] + extra[slot of (m, k)] is the wealth of "nothing beats k, and k is better than m by more
    than the tolerance". slots[0] is (first, second), slots[1] (second, first).
    """
    for s in range(first.size):
        i, j, gap, caution, y = first[s], second[s], gaps[s], 0.5 * deviations[s], answers[s]
        lower, won = (j, y) if gap > 0.0 else (i, -y)
        step = math.log1p(min(LARGEST_BET, max(0.0, 0.5 * (abs(gap) - caution))) * won)
        log[lower] += step
        peak[lower] = max(peak[lower], log[lower])
        if tolerance >= 0.0:
            least, half = min(LARGEST_BET, 0.25 * tolerance), 0.5 * tolerance
            bet = min(LARGEST_BET, max(least, 0.5 * (tolerance + gap - caution)))
            extra[slots[0, s]] += math.log1p(bet * (half + y)) - (step if lower == j else 0.0)
            bet = min(LARGEST_BET, max(least, 0.5 * (tolerance - gap - caution)))
            extra[slots[1, s]] += math.log1p(bet * (half - y)) - (step if lower == i else 0.0)
