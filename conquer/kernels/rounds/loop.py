"""The simulation, compiled: the laws of judges' answers, and all rounds in one loop over the steps of single calls."""

import math
from typing import NamedTuple

import numpy as np
from numpy import float64, int64, uint64
from numpy.typing import NDArray

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import jit, part
from conquer.kernels.core.sparse import prefetch
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.answer import learn
from conquer.kernels.rounds.choice import choose, forecast

CHOSEN, LEARNED = range(2)  # positions of the cursor
LINEAR, NOISY, LOGISTIC, PERFECT, RATERS = range(5)  # laws of answers


class World(NamedTuple):
    """The rounds, the tickets of policy and judge, and how answers are given (law, scale) and learnt (delay, batch)."""

    sets: NDArray[int64]
    sizes: NDArray[int64]
    rewards: NDArray[float64]
    ratings: NDArray[float64]
    tickets: NDArray[uint64]
    judge_tickets: NDArray[uint64]
    law: int
    scale: float
    delay: int
    batch: int


class Log(NamedTuple):
    """What happened: picks (T, 2), query (T,), reals (T, 2) = (chance, answer); cursor = (chosen, learned).

    With reals (T, 4) the other two are the forecast made before the answer: gap and standard deviation.
    """

    picks: NDArray[int64]
    query: NDArray[int64]
    reals: NDArray[float64]
    cursor: NDArray[int64]


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


@part
def round_items(items, world, t):
    return primitives.Items(items.indptr, items.indices, items.data, world.sets[t, : world.sizes[t]])


@part
def due(world, chosen, learned, total):
    """How many rounds' answers must have been learnt before the next choice."""
    if chosen == total:
        return total
    return max(learned, chosen - world.delay) if chosen % world.batch == 0 else learned


@part
def answer_round(world, t, a, b, query):
    members = world.sets[t]
    if query == st.NONE:
        return 0.0
    if query == st.BEST:
        return is_best(world.rewards, members, world.sizes[t], a)
    one, two = members[a], members[b]
    rated = world.ratings.shape[1] > 0
    return prefer(
        world.law,
        world.scale,
        world.rewards[one],
        world.rewards[two],
        world.ratings[one if rated else 0],
        world.ratings[two if rated else 0],
        world.judge_tickets[t],
    )


@part
def loop(state, items, rule, world, log, limit):
    """Run until `limit` rounds are chosen (and, at the end, all are learnt) or the state is full; returns a status."""
    total = world.sets.shape[0]
    cursor = log.cursor
    while cursor[LEARNED] < total:
        t = cursor[LEARNED]
        if t < due(world, cursor[CHOSEN], t, total):
            if log.query[t] != st.NONE:
                now = round_items(items, world, t)
                if not primitives.has_room(state, now):
                    return st.FULL
                a, b, answer = log.picks[t, 0], log.picks[t, 1], log.reals[t, 1]
                status = learn(state, now, rule, world.tickets[t], a, b, answer)
                if status != st.OK:
                    return status
            cursor[LEARNED] = t + 1
        elif cursor[CHOSEN] >= limit:
            return st.OK
        else:
            t = cursor[CHOSEN]
            now = round_items(items, world, t)
            after = round_items(items, world, min(t + 1, total - 1)).rows
            for i in range(after.size):
                prefetch(world.rewards, np.uint64(after[i]))  # the judge will ask for two of them
            status, a, b, query, chance = choose(state, now, after, rule, world.tickets[t])
            if status != st.OK:
                return status
            log.picks[t, 0], log.picks[t, 1], log.query[t], log.reals[t, 0] = a, b, query, chance
            log.reals[t, 1] = answer_round(world, t, a, b, query)
            if log.reals.shape[1] == 4 and query == st.DUEL:
                gap, variance = forecast(state, now, a, b, world.tickets[t])
                log.reals[t, 2], log.reals[t, 3] = gap, math.sqrt(variance)
            cursor[CHOSEN] = t + 1
    return st.OK
