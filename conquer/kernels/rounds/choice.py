"""Choosing, compiled: a round's scores and widths, the rules over them, and the choice, once for every model."""

import math

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import jit, part
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.projection import project, violation


@part
def pick(values, count, skip, ticket, counter):
    """(position, ties): a largest of the values but `skip`'s; among equal ones the ticket decides.

    NaN never wins; if all are NaN, every position is a tie.
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
def current_eta(rule, lam, stats):
    """The factor under the root of every width: constant, or twice the paper's or our running bound."""
    if rule.eta_mode == st.CONSTANT:
        return rule.eta
    start = 0.5 * lam * (rule.radius * rule.radius) + 2.0 * rule.drift
    if rule.eta_mode == st.THEORY:
        t = 1.0 + stats[st.LEARNT]
        return 2.0 * (start + 2.0 * stats[st.SUM_H] + 36.0 * math.log((t + 4.0) / rule.delta))
    return 2.0 * (start + 0.5 * stats[st.SUM_LOSS_H] + math.log(1.0 / rule.delta))


@jit
def eta_now(rule, lam, stats):
    return current_eta(st.rule_constants(rule), lam, stats)


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
def pick_pair(state, items, ticket):
    """(a, b, chance): a pair with the largest separation, the better score first; the ticket decides among equals.

    The first pick is among the items of the best pairs, the second among that item's. The K x K values lie in the Gram
    matrix's rows of `work`.
    """
    count = items.rows.size
    work = state.work
    values = work[st.GRAM :]
    for i in range(count):
        primitives.contrasts(state, items, i, values[i])
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


@part
def fill_scores(state, items, after, ticket):
    """Fill work[SCORES], projected if the model projects; returns a status. `after`: as in `scores`."""
    count, work, projection = items.rows.size, state.work, state.constants.projection
    primitives.prepare(state, items)
    primitives.scores(state, items, after, work[st.SCORES])
    for i in range(count):
        work[st.MULTIPLIERS, i] = 0.0
    if projection == st.NO_PROJECTION or violation(work[st.SCORES], count) <= 0.0:
        return st.OK
    primitives.widen(state, items)
    primitives.gram(state, items)
    return project(state.constants, work, count, ticket)


@part
def fill_values(code, eta, lam, count, work):
    """work[VALUES] := what the rule maximises; work[WIDTHS] holds the rule's squared widths over eta.

    For CHALLENGER, WIDTHS holds variances and eta is the level of the width.
    """
    for i in range(count):
        if code == st.UCB or code == st.RELATIVE_UCB:
            work[st.VALUES, i] = work[st.SCORES, i] + math.sqrt(eta * work[st.WIDTHS, i])
        elif code == st.CHALLENGER:
            # The penalty pulls a difference of ids by about lam V: without this an item asked seldom is starved.
            pull = lam * work[st.WIDTHS, i]
            work[st.VALUES, i] = work[st.SCORES, i] + (pull + math.sqrt(anytime(work[st.WIDTHS, i], eta)))
        elif code == st.WORST:
            work[st.VALUES, i] = -work[st.SCORES, i]
        elif code == st.UNIFORM:
            work[st.VALUES, i] = 0.0
        else:
            work[st.VALUES, i] = work[st.SCORES, i]


@part
def ordered(projection, work, count):
    """Whether the scores themselves depend on the ticket: the order of a sequential projection that moved them."""
    moved = False
    if projection == st.SEQUENTIAL:
        for i in range(count):
            moved |= work[st.MULTIPLIERS, i] != 0.0
    return moved


@part
def choose(state, items, after, rule, ticket):
    """(status, a, b, query, chance): a is shown first; b second (a duel), or the greedy item (Banditron), or -1.

    `chance` is the probability of this choice, NaN where it has no closed form. `after` are the rows of the next
    round, where they are known, for prefetching.
    """
    count, work, projection = items.rows.size, state.work, state.constants.projection
    first, second = rule.first, rule.second
    if first != st.UNIFORM or second != st.UNIFORM:
        status = fill_scores(state, items, after, ticket)
        if status != st.OK:
            return status, -1, -1, st.NONE, math.nan
    if first == st.SEPARATION:
        a, b, chance = pick_pair(state, items, ticket)
        return st.OK, a, b, st.DUEL, math.nan if ordered(projection, work, count) else chance
    eta = current_eta(rule, state.constants.lam, state.stats)
    if first == st.UCB or second == st.UCB:
        primitives.widen(state, items)
        primitives.variances(state, items, work[st.WIDTHS])
    fill_values(first, eta, state.constants.lam, count, work)
    a, ties = pick(work[st.VALUES], count, -1, ticket, tickets.FIRST)
    chance = math.nan if ordered(projection, work, count) else 1.0 / ties
    if second == st.ALONE:
        return st.OK, a, -1, st.BEST, chance
    if second == st.EXPLORE:
        gamma = rule.gamma
        draw = tickets.uniform(ticket, tickets.SECOND)
        shown = min(int(draw / gamma * count), count - 1) if draw < gamma else a
        if work[st.VALUES, shown] != work[st.VALUES, a]:
            chance = 0.0
        return st.OK, shown, a, st.BEST, (1.0 - gamma) * chance + gamma / count
    if second == st.THOMPSON:
        primitives.noise(state, items, ticket, work[st.VALUES])
        for i in range(count):
            work[st.VALUES, i] = work[st.SCORES, i] + math.sqrt(eta) * work[st.VALUES, i]
        chance = math.nan
    else:
        if second == st.RELATIVE_UCB or second == st.CHALLENGER:
            primitives.contrasts(state, items, a, work[st.WIDTHS])
        if second == st.CHALLENGER:
            eta = st.CHALLENGE
        if second != first or second == st.RELATIVE_UCB:
            fill_values(second, eta, state.constants.lam, count, work)
    b, ties = pick(work[st.VALUES], count, a, ticket, tickets.SECOND)
    chance /= ties
    if rule.gate == st.CONFIDENT:
        if second != st.RELATIVE_UCB:
            primitives.contrasts(state, items, a, work[st.WIDTHS])
        if work[st.SCORES, a] - work[st.SCORES, b] > math.sqrt(eta * work[st.WIDTHS, b]):
            return st.OK, a, -1, st.NONE, chance
    return st.OK, a, b, st.DUEL, chance


@part
def forecast(state, items, a, b, ticket):
    """(gap, variance): the difference of the scores of items a and b, and its variance, as the model has them now."""
    rows = np.empty(2, np.int64)
    rows[0], rows[1] = items.rows[a], items.rows[b]
    two = primitives.Items(items.indptr, items.indices, items.data, rows)
    if fill_scores(state, two, two.rows[:0], ticket) != st.OK:
        return 0.0, st.LARGEST
    gap = state.work[st.SCORES, 0] - state.work[st.SCORES, 1]
    primitives.contrasts(state, two, 1, state.work[st.WIDTHS])
    return gap, max(0.0, state.work[st.WIDTHS, 0])


@part
def choose_all(state, items, rule, drawn, starts, picks, chances, scores):
    """`choose` for many rounds, items[starts[t]:starts[t + 1]] being round t, and drawn[t] its ticket.

    picks[:, t] := (status, a, b, query), and scores the items', NaN where the status is not OK. A round of fewer than
    two items has the status FULL.
    """
    uniform = rule.first == st.UNIFORM and rule.second == st.UNIFORM
    for i in range(scores.size):
        scores[i] = math.nan
    for t in range(drawn.size):
        start, stop = starts[t], starts[t + 1]
        status, a, b, query, chance = st.FULL, -1, -1, st.NONE, math.nan
        if stop - start >= 2:
            now = primitives.Items(items.indptr, items.indices, items.data, items.rows[start:stop])
            status, a, b, query, chance = choose(state, now, now.rows[:0], rule, drawn[t])
            if uniform:  # it has not looked at the scores
                status = fill_scores(state, now, now.rows[:0], drawn[t])
            if status == st.OK:
                for i in range(start, stop):
                    scores[i] = state.work[st.SCORES, i - start]
        picks[0, t], picks[1, t], picks[2, t], picks[3, t], chances[t] = status, a, b, query, chance


@part
def measure(state, items, ticket, pivot, out):
    """out := scores (pivot -2), variances (-1) or contrasts with the pivot; returns a status."""
    if pivot == -2:
        status = fill_scores(state, items, items.rows[:0], ticket)
        for i in range(out.size):
            out[i] = state.work[st.SCORES, i]
        return status
    primitives.prepare(state, items)
    if pivot == -1:
        primitives.widen(state, items)
        primitives.variances(state, items, out)
    else:
        primitives.contrasts(state, items, pivot, out)
    return st.OK
