"""Rounds, compiled: choosing and learning, one by one or many in one call, written once for every model."""

import math

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.hints import borrowed, keep
from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import row_bounds
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.board import anytime, pick_pair
from conquer.kernels.rounds.project import project, violation
from conquer.kernels.rounds.select import current_eta, pick


@part
def measured(state, items, after, plan, knobs, work, ticket):
    """Scores of the round in work[SCORES], projected if the plan says so; returns a status. `after`: as in `scores`."""
    count = items.rows.size
    primitives.prepare(state, items, plan, knobs)
    primitives.scores(state, items, after, knobs, work[st.SCORES])
    for i in range(count):
        work[st.MULTIPLIERS, i] = 0.0
    if plan[st.PROJECTION] == st.NO_PROJECTION or violation(work[st.SCORES], count) <= 0.0:
        return st.OK
    primitives.widen(state, items, plan, knobs)
    primitives.gram(state, items, plan, knobs, work)
    return project(plan, knobs, work, count, ticket)


@part
def fill_values(rule, eta, count, work):
    """work[VALUES] := what the rule maximises; work[WIDTHS] holds the rule's squared widths over eta.

    For the challenger's they are variances, and eta is the level of its width.
    """
    for i in range(count):
        if rule == st.UCB or rule == st.RELATIVE_UCB:
            work[st.VALUES, i] = work[st.SCORES, i] + math.sqrt(eta * work[st.WIDTHS, i])
        elif rule == st.CHALLENGER:
            work[st.VALUES, i] = work[st.SCORES, i] + math.sqrt(anytime(work[st.WIDTHS, i], eta))
        elif rule == st.WORST:
            work[st.VALUES, i] = -work[st.SCORES, i]
        elif rule == st.UNIFORM:
            work[st.VALUES, i] = 0.0
        else:
            work[st.VALUES, i] = work[st.SCORES, i]


@part
def ordered(plan, work, count):
    """Whether the scores themselves depend on the ticket: the order of a sequential projection that moved them."""
    moved = False
    if plan[st.PROJECTION] == st.SEQUENTIAL:
        for i in range(count):
            moved |= work[st.MULTIPLIERS, i] != 0.0
    return moved


@part
def choose(state, items, after, plan, knobs, work, ticket):
    """(status, a, b, query, chance): a is shown first; b second (a duel), or the greedy item (Banditron), or -1.

    `chance` is that of this very choice given the round, NaN where it has no closed form. `after` are the rows of the
    next round, where they are known: they are fetched meanwhile.
    """
    count = items.rows.size
    first, second = plan[st.RULE_FIRST], plan[st.RULE_SECOND]
    if first != st.UNIFORM or second != st.UNIFORM:
        status = measured(state, items, after, plan, knobs, work, ticket)
        if status != st.OK:
            return status, -1, -1, st.NONE, math.nan
    if first == st.SEPARATION:
        a, b, chance = pick_pair(state, items, plan, knobs, work, ticket)
        return st.OK, a, b, st.DUEL, math.nan if ordered(plan, work, count) else chance
    eta = current_eta(plan, knobs, state.stats)
    if first == st.UCB or second == st.UCB:
        primitives.widen(state, items, plan, knobs)
        primitives.variances(state, items, plan, knobs, work[st.WIDTHS])
    fill_values(first, eta, count, work)
    a, ties = pick(work[st.VALUES], count, -1, ticket, tickets.FIRST)
    chance = math.nan if ordered(plan, work, count) else 1.0 / ties
    if second == st.ALONE:
        return st.OK, a, -1, st.BEST, chance
    if second == st.EXPLORE:
        gamma = knobs[st.GAMMA]
        draw = tickets.uniform(ticket, tickets.SECOND)
        shown = min(int(draw / gamma * count), count - 1) if draw < gamma else a
        if work[st.VALUES, shown] != work[st.VALUES, a]:
            chance = 0.0
        return st.OK, shown, a, st.BEST, (1.0 - gamma) * chance + gamma / count
    if second == st.THOMPSON:
        primitives.noise(state, items, plan, knobs, work, ticket, work[st.VALUES])
        for i in range(count):
            work[st.VALUES, i] = work[st.SCORES, i] + math.sqrt(eta) * work[st.VALUES, i]
        chance = math.nan
    else:
        if second == st.RELATIVE_UCB or second == st.CHALLENGER:
            primitives.contrasts(state, items, a, plan, knobs, work[st.WIDTHS])
        if second == st.CHALLENGER:
            eta = 2.0 * math.log((count - 1) / knobs[st.DELTA])
        if second != first or second == st.RELATIVE_UCB:
            fill_values(second, eta, count, work)
    b, ties = pick(work[st.VALUES], count, a, ticket, tickets.SECOND)
    chance /= ties
    if plan[st.GATE] == st.CONFIDENT:
        if second != st.RELATIVE_UCB:
            primitives.contrasts(state, items, a, plan, knobs, work[st.WIDTHS])
        if work[st.SCORES, a] - work[st.SCORES, b] > math.sqrt(eta * work[st.WIDTHS, b]):
            return st.OK, a, -1, st.NONE, chance
    return st.OK, a, b, st.DUEL, chance


@part
def choose_all(state, items, plan, knobs, work, drawn, starts, picks, chances, scores):
    """`choose` for many rounds, items[starts[t]:starts[t + 1]] being round t, and drawn[t] its ticket.

    picks[:, t] := (status, a, b, query), and scores the items', NaN where the status is not OK. A round of fewer than
    two items has the status FULL.
    """
    uniform = plan[st.RULE_FIRST] == st.UNIFORM and plan[st.RULE_SECOND] == st.UNIFORM
    for i in range(scores.size):
        scores[i] = math.nan
    for t in range(drawn.size):
        start, stop = starts[t], starts[t + 1]
        status, a, b, query, chance = st.FULL, -1, -1, st.NONE, math.nan
        if stop - start >= 2:
            now = primitives.Items(items.indptr, items.indices, items.data, items.rows[start:stop])
            status, a, b, query, chance = choose(state, now, now.rows[:0], plan, knobs, work, drawn[t])
            if uniform:  # it has not looked at the scores
                status = measured(state, now, now.rows[:0], plan, knobs, work, drawn[t])
            if status == st.OK:
                for i in range(start, stop):
                    scores[i] = work[st.SCORES, i - start]
        picks[0, t], picks[1, t], picks[2, t], picks[3, t], chances[t] = status, a, b, query, chance


@part
def learn(state, items, plan, knobs, work, ticket, a, b, answer):
    """Turn the answer to (a, b) into one step of the model; returns a status, state untouched unless OK."""
    reply = plan[st.REPLY]
    if reply == st.REPLY_IGNORE:
        return st.OK
    size = 1 if reply == st.REPLY_BEST else 2
    rows, weights = np.empty(size, np.int64), np.empty(size)
    rows[0] = items.rows[a]
    if size == 2:
        rows[1] = items.rows[b]
    target = answer
    if reply == st.REPLY_DUEL:
        weights[0], weights[1] = 0.5, -0.5
    elif reply == st.REPLY_BEST:
        weights[0] = 1.0
        wrong = tickets.uniform(ticket, tickets.SECOND) < 0.5 * (1.0 + knobs[st.ALPHA])
        target = 1.0 if answer > 0.0 or not wrong else -1.0
    else:
        gamma = knobs[st.GAMMA]
        chance = (1.0 - gamma if a == b else 0.0) + gamma / items.rows.size
        weights[0], weights[1] = (1.0 / chance if answer > 0.0 else 0.0), -1.0
    mine = borrowed((rows, weights))
    status = move(state, items, mine[0], mine[1], target, plan, knobs, work, ticket)
    keep((rows, weights))
    return status


@part
def tame(moved, weights, knobs):
    """OK where the entries of u are so small that no square or quotient of a step overflows, and not too many."""
    wild = False
    size = np.uint64(0)
    for k in range(moved.rows.size):
        start, stop = row_bounds(moved, k)
        for j in range(start, stop):
            wild |= not abs(weights[k] * moved.data[j]) <= knobs[st.LARGEST]  # to the end, which vectorises
        size += stop - start
    return st.WILD if wild else st.CROWDED if size > knobs[st.MOST] else st.OK


@part
def move(state, items, rows, weights, target, plan, knobs, work, ticket):
    """The model's step along sum_k weights[k] phi of rows[k], from the w projected for `items`; returns a status.

    The state is untouched unless it is OK.
    """
    moved = primitives.Items(items.indptr, items.indices, items.data, rows)
    status = tame(moved, weights, knobs)
    if status != st.OK:
        return status
    if plan[st.PROJECTION] != st.NO_PROJECTION:
        status = measured(state, items, items.rows[:0], plan, knobs, work, ticket)
        if status != st.OK:
            return status
        moves = False
        for i in range(items.rows.size):
            moves = moves or work[st.MULTIPLIERS, i] != 0.0
        if moves:
            before = primitives.shift(state, items, plan, knobs, work[st.MULTIPLIERS])
            primitives.prepare(state, moved, plan, knobs)
            status = primitives.step(state, moved, weights, target, plan, knobs)
            if status != st.OK:
                primitives.unshift(state, items, plan, knobs, work[st.MULTIPLIERS], before)
            return status
    # Only the moved items matter, and preparing the others costs the kernel model most of its time.
    primitives.prepare(state, moved, plan, knobs)
    return primitives.step(state, moved, weights, target, plan, knobs)


@part
def learn_all(state, items, plan, knobs, work, drawn, pairs, extra, targets):
    """Learn answers to duels between the items pairs[t], in order, up to the first that cannot be; how many were.

    `extra[t]`, unless it is below 0, is the number of a third row that moves with them at weight 1. `drawn`: tickets.
    """
    count = items.rows.size
    rows, weights = np.empty(3, np.int64), np.empty(3)
    weights[0], weights[1], weights[2] = 0.5, -0.5, 1.0
    for t in range(drawn.size):
        a, b = pairs[t, 0], pairs[t, 1]
        if not (0 <= a < count and 0 <= b < count and a != b):
            return t
        rows[0], rows[1], rows[2] = items.rows[a], items.rows[b], extra[t]
        size = 3 if extra[t] >= 0 else 2
        if plan[st.REPLY] != st.REPLY_IGNORE:
            status = move(state, items, rows[:size], weights[:size], targets[t], plan, knobs, work, drawn[t])
            if status != st.OK:
                return t
    return drawn.size


@part
def measure(state, items, plan, knobs, work, ticket, pivot, out):
    """out := scores (pivot -2), variances (-1) or contrasts with the pivot; returns a status."""
    if pivot == -2:
        status = measured(state, items, items.rows[:0], plan, knobs, work, ticket)
        for i in range(out.size):
            out[i] = work[st.SCORES, i]
        return status
    primitives.prepare(state, items, plan, knobs)
    if pivot == -1:
        primitives.widen(state, items, plan, knobs)
        primitives.variances(state, items, plan, knobs, out)
    else:
        primitives.contrasts(state, items, pivot, plan, knobs, out)
    return st.OK


def work_of_rounds(indptr, indices, data, rows, *rest):
    """About how many innermost steps the choices among all these rows take: most are not arithmetic."""
    return 64 * rows.size + 2 * data.size


def work_of_answers(indptr, indices, data, rows, *rest):
    """The same of so many answers to pairs of these rows."""
    return 32 * rest[-1].size * (4 + data.size // max(1, rows.size))
