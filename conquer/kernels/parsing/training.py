"""Questions about sentences, and compiled loops over treebanks: training by questions, on known heads, and parsing.

The per-call learner uses the same functions one by one.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy import bool_, int64
from numpy.typing import NDArray

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import jit, part, sized
from conquer.kernels.core.sparse import dot
from conquer.kernels.models import diagonal
from conquer.kernels.parsing.arborescence import arborescence
from conquer.kernels.parsing.edges import block, head_of, length, make_room, open_sentence, row_of, square
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.choice import pick

CONFUSION, MARGIN, GNC, RANDOM = range(4)
WITH_WIDTHS = (CONFUSION, GNC)
SKIP, TIE, COIN = range(3)
FIRST, SECOND, NEITHER, REFUSED = range(4)
COIN_DRAW, ERROR_DRAW, OTHER_DRAW, REFUSE_DRAW = (np.uint64(k) for k in range(4))
WRONG = -math.inf


@part
def score_words(state, source, line, scores):
    """scores[j, i] = score of edge i -> j for all words j."""
    for j in range(1, length(source) + 1):
        items = block(source, j)
        primitives.prepare(state, items)
        primitives.scores(state, items, items.rows[:0], line)
        for i in range(length(source)):
            scores[j, head_of(j, i)] = line[i]


@part
def widths_of(state, source, j, head, line, widths):
    """widths[j, i] = contrast of edge i -> j with head -> j."""
    items = block(source, j)
    primitives.prepare(state, items)
    primitives.contrasts(state, items, row_of(j, head), line)
    for i in range(length(source)):
        widths[j, head_of(j, i)] = line[i]


@part
def width_words(state, source, line, scores, heads, asked, rule, eta, silent, widths):
    """The widths of the words not asked, 0 for words that could not be chosen even with the largest possible width.

    Rows have unit norm and A is at least lam, so no contrast exceeds 4 / lam. A width of 0 keeps such a word behind the
    one with the smallest margin.
    """
    size = heads.size
    most = math.sqrt(eta * 4.000001 / state.constants.lam)
    prune = not silent and rule != CONFUSION
    first, closest = 0, WRONG
    for j in range(1, size):
        if not asked[j]:
            best = runner_up(scores, j, heads[j])
            if best >= 0 and (first == 0 or scores[j, best] - scores[j, heads[j]] > closest):
                first, closest = j, scores[j, best] - scores[j, heads[j]]
    if first == 0:
        return
    reached = WRONG
    for turn in range(size):
        j = first if turn == 0 else turn
        if asked[j] or (turn == first and turn > 0):
            continue
        best = runner_up(scores, j, heads[j])
        if prune and scores[j, best] - scores[j, heads[j]] + most < reached:
            widths[j, :] = 0.0
            continue
        widths_of(state, source, j, heads[j], line, widths)
        for i in range(size):
            if i not in (j, heads[j]):
                reached = max(reached, worth(rule, eta, scores, widths, j, i, heads[j]))


@part
def runner_up(scores, j, head):
    """The best head of word j other than `head`, -1 if there is none."""
    best = -1
    for i in range(scores.shape[0]):
        if i != j and i != head and (best < 0 or scores[j, i] > scores[j, best]):
            best = i
    return best


@part
def worth(rule, eta, scores, widths, j, i, head):
    """The rule's value of asking whether i is a better head of word j than `head`."""
    if rule == RANDOM:
        return 0.0
    if rule == CONFUSION:
        return math.sqrt(eta * widths[j, i])
    gap = scores[j, i] - scores[j, head]
    return gap if rule == MARGIN else gap + math.sqrt(eta * widths[j, i])


@jit
def question(rule, eta, silent, scores, widths, heads, asked, values, ticket):
    """(j, i): is i a better head of word j than heads[j]? j = 0 if nothing can or need be asked."""
    size = heads.size
    count = 0
    for j in range(1, size):
        for i in range(size):
            if asked[j] or i == j or i == heads[j]:
                values[count] = WRONG
            else:
                values[count] = worth(rule, eta, scores, widths, j, i, heads[j])
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
def answer(gold, first, second, error, refusal, ticket):
    """The answer of an annotator with these rates; an error is one of the two wrong answers."""
    if tickets.uniform(ticket, REFUSE_DRAW) < refusal:
        return REFUSED
    truth = FIRST if gold == first else (SECOND if gold == second else NEITHER)
    if tickets.uniform(ticket, ERROR_DRAW) < error:
        truth = (truth + 1 + tickets.below(ticket, OTHER_DRAW, 2)) % 3
    return truth


@jit
def target_of(said, neither, ticket):
    """The y to learn, NaN for none."""
    if said == FIRST:
        return 1.0
    if said == SECOND:
        return -1.0
    if said == NEITHER and neither == TIE:
        return 0.0
    if said == NEITHER and neither == COIN:
        return 1.0 if tickets.uniform(ticket, COIN_DRAW) < 0.5 else -1.0
    return math.nan


LOG_COLUMNS = 5
MEMORY_COLUMNS = 3


class Ask(NamedTuple):
    """How questions are chosen, answered and learnt: settings of a training."""

    rule: int
    eta: float
    silent: bool
    questions: int
    replay: int
    neither: int
    tree_scale: bool
    several_roots: bool
    error: float
    refusal: float


class TrainingState(NamedTuple):
    """The state of a training: words asked (N,), memory of answers, log, counts [answers, log rows]."""

    asked: NDArray[bool_]
    memory: NDArray[int64]
    log: NDArray[int64]
    counts: NDArray[int64]


@part
def learn_pair(state, items, a, b, y, scale):
    """One step along half the difference of rows a and b."""
    rows, weights = np.empty(2, np.int64), np.empty(2)
    rows[0], rows[1], weights[0], weights[1] = items.rows[a], items.rows[b], 0.5 * scale, -0.5 * scale
    return primitives.step(state, primitives.Items(items.indptr, items.indices, items.data, rows), weights, y)


@part
def rehearse(state, source, j, head, scale, room, average, clock):
    """Learn `head` as word j's head against its best rival, unless its margin is at least 1.

    `average`, if it is not empty, sums clock * (change of w).
    """
    items = block(source, j)
    line = room.line
    primitives.prepare(state, items)
    primitives.scores(state, items, items.rows[:0], line)
    own = row_of(j, head)
    rival = -1
    for i in range(length(source)):
        if i != own and (rival < 0 or line[i] > line[rival]):
            rival = i
    if rival < 0 or 0.5 * scale * (line[own] - line[rival]) >= 1.0:
        return st.OK
    if average.size == 0:
        return learn_pair(state, items, own, rival, 1.0, scale)
    before, width = room.before, room.before.size // 2
    for p, row in enumerate((own, rival)):
        for f in range(width):
            before[p * width + f] = state.table[items.indices[items.rows[row] * width + f], diagonal.W]
    status = learn_pair(state, items, own, rival, 1.0, scale)
    for p, row in enumerate((own, rival)):
        for f in range(width):
            # A feature of both rows does not move, so none is added twice.
            r = items.indices[items.rows[row] * width + f]
            average[r] += clock * (state.table[r, diagonal.W] - before[p * width + f])
    return status


@sized(lambda state, text, table, value, order, *_: 20 * len(order) * table.salt.size)
def supervise(state, text, table, value, order, average, clock):
    """One pass over the known heads in the given order; returns (status, sentence or -1, clock)."""
    state = primitives.unpacked(state)
    room = make_room(text.offsets, table, value)
    for t in order:
        source = open_sentence(text, t, table, room)
        for j in range(1, length(source) + 1):
            head = text.heads[text.offsets[t] + j]
            if head < 0:
                continue
            status = rehearse(state, source, j, head, 1.0, room, average, clock)
            if status != st.OK:
                return status, t, clock
        clock += 1
    return st.OK, -1, clock


@part
def remember(progress, t, j, head):
    counts, memory = progress.counts, progress.memory
    memory[counts[0], 0], memory[counts[0], 1], memory[counts[0], 2] = t, j, head
    counts[0] += 1


@part
def ask_once(state, text, t, source, ask, progress, room, ticket, judge_ticket):
    """Choose, ask and learn one question of sentence t; returns (status, whether something was asked)."""
    size = length(source)
    start = text.offsets[t]
    scores, widths = square(room.scores, size + 1), square(room.widths, size + 1)
    heads, asked = room.heads[: size + 1], progress.asked[start : start + size + 1]
    score_words(state, source, room.line, scores)
    arborescence(scores, room.free[: size + 1], ask.several_roots, heads)
    rule, eta, silent = ask.rule, ask.eta, ask.silent
    if silent or rule in WITH_WIDTHS:
        width_words(state, source, room.line, scores, heads, asked, rule, eta, silent, widths)
    j, i = question(rule, eta, silent, scores, widths, heads, asked, room.values, ticket)
    if j == 0:
        return st.OK, False
    said = answer(text.heads[start + j], heads[j], i, ask.error, ask.refusal, judge_ticket)
    asked[j] = True
    row = progress.counts[1]
    progress.log[row, 0], progress.log[row, 1] = t, j
    progress.log[row, 2], progress.log[row, 3], progress.log[row, 4] = heads[j], i, said
    progress.counts[1] += 1
    y = target_of(said, ask.neither, ticket)
    if math.isnan(y):
        return st.OK, True
    items = block(source, j)
    scale = 1.0 / size if ask.tree_scale else 1.0
    status = learn_pair(state, items, row_of(j, heads[j]), row_of(j, i), y, scale)
    if said in (FIRST, SECOND):
        remember(progress, t, j, heads[j] if said == FIRST else i)
    return status, True


@sized(lambda state, text, table, value, order, *_: 20 * len(order) * table.salt.size)
def train(state, text, table, value, order, ask, policy_tickets, judge_tickets, progress):
    """Visit sentences in the given order with `ask.questions` questions each; returns (status, sentence or -1).

    Every question is followed by `ask.replay` rehearsals of answers remembered so far.
    """
    state = primitives.unpacked(state)
    room, no_average = make_room(text.offsets, table, value), np.empty(0)
    for visit in range(order.size):
        t = order[visit]
        for q in range(ask.questions):
            ticket = policy_tickets[visit * ask.questions + q]
            source = open_sentence(text, t, table, room)
            judge_ticket = judge_tickets[visit * ask.questions + q]
            status, went = ask_once(state, text, t, source, ask, progress, room, ticket, judge_ticket)
            if status != st.OK:
                return status, t
            if not went:
                break
            if progress.counts[0] > 0:
                for r in range(ask.replay):
                    m = tickets.below(ticket, tickets.FEATURE + np.uint64(r), progress.counts[0])
                    s, j, head = progress.memory[m, 0], progress.memory[m, 1], progress.memory[m, 2]
                    other = open_sentence(text, s, table, room)
                    scale = 1.0 / length(other) if ask.tree_scale else 1.0
                    status = rehearse(state, other, j, head, scale, room, no_average, 0)
                    if status != st.OK:
                        return status, s
    return st.OK, -1


@sized(lambda weights, text, table, *_: 20 * len(text.codes) * table.salt.size)
def fill_heads(weights, text, table, value, several_roots, out):
    """out[N] = the head of every word of every sentence in the best tree under the weights (D,); -1 at roots."""
    room = make_room(text.offsets, table, value)
    for t in range(text.offsets.size - 1):
        source = open_sentence(text, t, table, room)
        size = length(source)
        scores = square(room.scores, size + 1)
        for j in range(1, size + 1):
            items = block(source, j)
            for i in range(size):
                scores[j, head_of(j, i)] = dot(items, i, weights)
        arborescence(scores, room.free[: size + 1], several_roots, out[text.offsets[t] : text.offsets[t + 1]])
