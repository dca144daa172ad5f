"""Which question about a sentence to ask, and what an answer means; the loops and the per-call learner share it."""

import math

import numpy as np

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import jit, part
from conquer.kernels.parsing.edges import block, length
from conquer.kernels.parsing.numbering import head_of, row_of
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.select import pick

CONFUSION, MARGIN, GNC, RANDOM, PAIR = range(5)
WITH_WIDTHS = (CONFUSION, GNC, PAIR)
SKIP, TIE, COIN = range(3)
FIRST, SECOND, NEITHER, REFUSED = range(4)
COIN_DRAW, ERROR_DRAW, OTHER_DRAW, REFUSE_DRAW = (np.uint64(k) for k in range(4))
WRONG = -math.inf
LEAD = 0.3
"""What a lead of one over the third candidate is worth to the rule PAIR."""


@part
def score_words(state, source, plan, knobs, line, scores):
    """scores[j, i] = score of edge i -> j for all words j."""
    for j in range(1, length(source) + 1):
        items = block(source, j)
        primitives.prepare(state, items, plan, knobs)
        primitives.scores(state, items, items.rows[:0], knobs, line)
        for i in range(length(source)):
            scores[j, head_of(j, i)] = line[i]


@part
def widths_of(state, source, j, head, plan, knobs, line, widths):
    """widths[j, i] = contrast of edge i -> j with head -> j."""
    items = block(source, j)
    primitives.prepare(state, items, plan, knobs)
    primitives.contrasts(state, items, row_of(j, head), plan, knobs, line)
    for i in range(length(source)):
        widths[j, head_of(j, i)] = line[i]


@part
def width_words(state, source, plan, knobs, line, scores, heads, asked, rule, eta, silent, widths):
    """The widths of all words not asked, but for those that could not be chosen with the largest width there is.

    Theirs are 0, which leaves them behind the word with the closest race all the same. Rows have unit norm and A is
    at least lam, so no contrast exceeds 4 / lam.
    """
    size = heads.size
    most = math.sqrt(eta * 4.000001 / knobs[st.LAM]) + LEAD
    prune = not silent and rule != CONFUSION
    first, closest = 0, WRONG
    for j in range(1, size):
        if not asked[j]:
            best, _ = runners_up(scores, j, heads[j])
            if best >= 0 and (first == 0 or scores[j, best] - scores[j, heads[j]] > closest):
                first, closest = j, scores[j, best] - scores[j, heads[j]]
    if first == 0:
        return
    reached = WRONG
    for turn in range(size):
        j = first if turn == 0 else turn
        if asked[j] or (turn == first and turn > 0):
            continue
        best, second = runners_up(scores, j, heads[j])
        if prune and scores[j, best] - scores[j, heads[j]] + most < reached:
            widths[j, :] = 0.0
            continue
        widths_of(state, source, j, heads[j], plan, knobs, line, widths)
        for i in range(size):
            if i not in (j, heads[j]):
                reached = max(reached, worth(rule, eta, scores, widths, j, i, heads[j], best, second))


@part
def runners_up(scores, j, head):
    """The two best heads of word j beside `head`, -1 where there are none."""
    best = second = -1
    for i in range(scores.shape[0]):
        if i != j and i != head:
            if best < 0 or scores[j, i] > scores[j, best]:
                best, second = i, best
            elif second < 0 or scores[j, i] > scores[j, second]:
                second = i
    return best, second


@part
def worth(rule, eta, scores, widths, j, i, head, best, second):
    """What the rule makes of asking whether i is a better head of word j than `head`."""
    if rule == RANDOM:
        return 0.0
    if rule == CONFUSION:
        return math.sqrt(eta * widths[j, i])
    gap = scores[j, i] - scores[j, head]
    if rule == MARGIN:
        return gap
    value = gap + math.sqrt(eta * widths[j, i])
    if rule == PAIR:
        # "Neither" teaches nothing: prefer pairs that leave the third candidate behind.
        third = second if i == best else best
        lead = 1.0 if third < 0 else max(scores[j, head], scores[j, i]) - scores[j, third]
        value += LEAD * min(1.0, lead)
    return value


@part
def question(rule, eta, silent, scores, widths, heads, asked, values, ticket):
    """(j, i): is i a better head of word j than heads[j]? j = 0 if nothing can or need be asked."""
    size = heads.size
    count = 0
    for j in range(1, size):
        best, second = runners_up(scores, j, heads[j])
        for i in range(size):
            if asked[j] or i == j or i == heads[j]:
                values[count] = WRONG
            else:
                values[count] = worth(rule, eta, scores, widths, j, i, heads[j], best, second)
            count += 1
    if count == 0:
        return 0, 0
    chosen, _ = pick(values, count, -1, ticket, tickets.SECOND)
    j, i = chosen // size + 1, chosen % size
    if values[chosen] == WRONG:
        return 0, 0
    if silent and scores[j, heads[j]] - scores[j, i] > math.sqrt(eta * widths[j, i]):
        return 0, 0
    return j, i


@jit
def pick_question(rule, eta, silent, scores, widths, heads, asked, values, ticket):
    return question(rule, eta, silent, scores, widths, heads, asked, values, ticket)


@part
def answer(gold, first, second, error, refusal, ticket):
    """What an annotator says who refuses and errs at these rates; an error is one of the two wrong answers."""
    if tickets.uniform(ticket, REFUSE_DRAW) < refusal:
        return REFUSED
    truth = FIRST if gold == first else (SECOND if gold == second else NEITHER)
    if tickets.uniform(ticket, ERROR_DRAW) < error:
        truth = (truth + 1 + tickets.below(ticket, OTHER_DRAW, 2)) % 3
    return truth


@jit
def reply(gold, first, second, error, refusal, ticket):
    return answer(gold, first, second, error, refusal, ticket)


@part
def target_of(said, neither, ticket):
    """The y to learn, or NaN for nothing."""
    if said == FIRST:
        return 1.0
    if said == SECOND:
        return -1.0
    if said == NEITHER and neither == TIE:
        return 0.0
    if said == NEITHER and neither == COIN:
        return 1.0 if tickets.uniform(ticket, COIN_DRAW) < 0.5 else -1.0
    return math.nan


@jit
def target(said, neither, ticket):
    return target_of(said, neither, ticket)
