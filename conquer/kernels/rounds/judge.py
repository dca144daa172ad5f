"""Who answers, compiled: the laws of answers given two rewards and a ticket of the judge's own stream."""

import math

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import jit, part

LINEAR, NOISY, LOGISTIC, PERFECT, RATERS = range(5)


@part
def count_ratings(ratings):
    count = 0
    while count < ratings.size and not math.isnan(ratings[count]):
        count += 1
    return count


@part
def prefer(law, scale, first, second, first_ratings, second_ratings, ticket):
    """+1 the first is preferred, -1 the second, 0 a tie."""
    if law == LINEAR:
        return 1.0 if tickets.uniform(ticket, tickets.FIRST) < 0.5 * (1.0 + 0.5 * (first - second)) else -1.0
    if law == LOGISTIC:
        power = -scale * (first - second)
        chance = 1.0 / (1.0 + (math.exp(power) if power < 709.0 else math.inf))
        return 1.0 if tickets.uniform(ticket, tickets.FIRST) < chance else -1.0
    if law == PERFECT:
        return 1.0 if first > second else (-1.0 if second > first else 0.0)
    if law == NOISY:
        one = 1.0 if tickets.uniform(ticket, tickets.FIRST) < 0.5 * (1.0 + first) else -1.0
        two = 1.0 if tickets.uniform(ticket, tickets.SECOND) < 0.5 * (1.0 + second) else -1.0
        if one == two:
            return 1.0 if tickets.uniform(ticket, tickets.FEATURE) < 0.5 else -1.0
        return one if one > two else -1.0
    one = first_ratings[tickets.below(ticket, tickets.FIRST, count_ratings(first_ratings))]
    two = second_ratings[tickets.below(ticket, tickets.SECOND, count_ratings(second_ratings))]
    return 1.0 if one > two else (-1.0 if two > one else 0.0)


@part
def is_best(rewards, members, count, shown):
    """+1 if no item of the round has a larger reward than the one shown, else -1."""
    for i in range(count):
        if rewards[members[i]] > rewards[members[shown]]:
            return -1.0
    return 1.0


@jit
def prefer_once(law, scale, first, second, first_ratings, second_ratings, ticket):
    return prefer(law, scale, first, second, first_ratings, second_ratings, ticket)
