"""Learning, compiled: an answer becomes one step of the model, written once for every model."""

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import part
from conquer.kernels.core.sparse import row_bounds
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.choice import fill_scores


@part
def learn(state, items, rule, ticket, a, b, answer):
    """Turn the answer to (a, b) into one step of the model; returns a status, state untouched unless OK."""
    reply = rule.reply
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
        wrong = tickets.uniform(ticket, tickets.SECOND) < 0.5 * (1.0 + rule.alpha)
        target = 1.0 if answer > 0.0 or not wrong else -1.0
    else:
        gamma = rule.gamma
        chance = (1.0 - gamma if a == b else 0.0) + gamma / items.rows.size
        weights[0], weights[1] = (1.0 / chance if answer > 0.0 else 0.0), -1.0
    return move(state, items, rows, weights, target, ticket)


@part
def check_size(moved, weights):
    """TOO_LARGE if a square or quotient of a step could overflow, else OK."""
    wild = False
    for k in range(moved.rows.size):
        start, stop = row_bounds(moved, k)
        for j in range(start, stop):
            wild |= not abs(weights[k] * moved.data[j]) <= st.LARGEST  # to the end, which vectorises
    return st.TOO_LARGE if wild else st.OK


@part
def move(state, items, rows, weights, target, ticket):
    """The model's step along sum_k weights[k] phi of rows[k], from the w projected for `items`; returns a status.

    The state is untouched unless it is OK.
    """
    moved = primitives.Items(items.indptr, items.indices, items.data, rows)
    status = check_size(moved, weights)
    if status != st.OK:
        return status
    if state.constants.projection != st.NO_PROJECTION:
        status = fill_scores(state, items, items.rows[:0], ticket)
        if status != st.OK:
            return status
        moves = False
        for i in range(items.rows.size):
            moves = moves or state.work[st.MULTIPLIERS, i] != 0.0
        if moves:
            before = primitives.shift(state, items, state.work[st.MULTIPLIERS])
            primitives.prepare(state, moved)
            status = primitives.step(state, moved, weights, target)
            if status != st.OK:
                primitives.unshift(state, items, before)
            return status
    # Only the moved items matter, and preparing the others costs the kernel model most of its time.
    primitives.prepare(state, moved)
    return primitives.step(state, moved, weights, target)


@part
def learn_all(state, items, rule, drawn, pairs, extra, targets):
    """Learn answers to duels between the items pairs[t] up to the first that fails; returns the number learnt.

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
        if rule.reply != st.REPLY_IGNORE:
            status = move(state, items, rows[:size], weights[:size], targets[t], drawn[t])
            if status != st.OK:
                return t
    return drawn.size
