"""Training as compiled loops over sentences; the per-call learner takes the same steps one by one."""

import math
from typing import NamedTuple

import numpy as np
from numpy import bool_, float64, int64
from numpy.typing import NDArray

from conquer.kernels.core import tickets
from conquer.kernels.core.kernel import part, sized
from conquer.kernels.models import diagonal
from conquer.kernels.parsing.arborescence import span
from conquer.kernels.parsing.edges import block, length
from conquer.kernels.parsing.numbering import row_of
from conquer.kernels.parsing.questions import (
    FIRST,
    SECOND,
    WITH_WIDTHS,
    answer,
    question,
    score_words,
    target_of,
    width_words,
)
from conquer.kernels.parsing.sentences import make_room, open_sentence, square
from conquer.kernels.rounds import primitives
from conquer.kernels.rounds import settings as st

LOG_COLUMNS = 5
MEMORY_COLUMNS = 3


class Ask(NamedTuple):
    """How questions are chosen, answered and learnt."""

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
    """What training has done so far: asked (N,) words, memory of answers, counts [answers, log rows, clock]."""

    asked: NDArray[bool_]
    memory: NDArray[int64]
    log: NDArray[int64]
    counts: NDArray[int64]
    average: NDArray[float64]


@part
def teach(state, items, a, b, y, scale, plan, knobs, average, before, clock):
    """One step along half the difference of rows a and b; `average` sums clock * (change of w)."""
    rows, weights = np.empty(2, np.int64), np.empty(2)
    rows[0], rows[1], weights[0], weights[1] = items.rows[a], items.rows[b], 0.5 * scale, -0.5 * scale
    moved = primitives.Items(items.indptr, items.indices, items.data, rows)
    if average.size == 0:
        return primitives.step(state, moved, weights, y, plan, knobs)
    width = before.size // 2
    for p in range(2):
        for f in range(width):
            before[p * width + f] = state.cells[items.indices[rows[p] * width + f], diagonal.W]
    status = primitives.step(state, moved, weights, y, plan, knobs)
    for p in range(2):
        for f in range(width):
            # A feature of both rows has not moved, so none is counted twice.
            r = items.indices[rows[p] * width + f]
            average[r] += clock * (state.cells[r, diagonal.W] - before[p * width + f])
    return status


@part
def rehearse(state, source, j, head, scale, plan, knobs, average, room, clock):
    """Learn that `head` is word j's: against its best rival, unless it leads by a whole answer already."""
    items = block(source, j)
    line = room.line
    primitives.prepare(state, items, plan, knobs)
    primitives.scores(state, items, items.rows[:0], knobs, line)
    own = row_of(j, head)
    rival = -1
    for i in range(length(source)):
        if i != own and (rival < 0 or line[i] > line[rival]):
            rival = i
    if rival < 0 or 0.5 * scale * (line[own] - line[rival]) >= 1.0:
        return st.OK
    return teach(state, items, own, rival, 1.0, scale, plan, knobs, average, room.before, clock)


@sized(lambda state, plan, knobs, text, table, value, order, *_: 20 * len(order) * table.salt.size)
def supervise(state, plan, knobs, text, table, value, order, tree_scale, average, clock):
    """One pass over the known heads in the given order; returns (status, sentence or -1, clock)."""
    room = make_room(text.offsets, table, value)
    for t in order:
        source = open_sentence(text, t, table, room)
        size = length(source)
        scale = 1.0 / size if tree_scale else 1.0
        for j in range(1, size + 1):
            head = text.heads[text.offsets[t] + j]
            if head < 0:
                continue
            status = rehearse(state, source, j, head, scale, plan, knobs, average, room, clock)
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
def ask_once(state, plan, knobs, text, t, source, ask, progress, room, ticket, judge_ticket):
    """Choose, ask and learn one question of sentence t; returns (status, whether something was asked)."""
    size = length(source)
    start = text.offsets[t]
    scores, widths = square(room.scores, size + 1), square(room.widths, size + 1)
    heads, asked = room.heads[: size + 1], progress.asked[start : start + size + 1]
    score_words(state, source, plan, knobs, room.line, scores)
    span(scores, room.free[: size + 1], ask.several_roots, heads)
    rule, eta, silent = ask.rule, ask.eta, ask.silent
    if silent or rule in WITH_WIDTHS:
        width_words(state, source, plan, knobs, room.line, scores, heads, asked, rule, eta, silent, widths)
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
    a, b = row_of(j, heads[j]), row_of(j, i)
    clock = progress.counts[2]
    status = teach(state, items, a, b, y, scale, plan, knobs, progress.average, room.before, clock)
    if said in (FIRST, SECOND):
        remember(progress, t, j, heads[j] if said == FIRST else i)
    return status, True


@sized(lambda state, plan, knobs, text, table, value, order, *_: 20 * len(order) * table.salt.size)
def train(state, plan, knobs, text, table, value, order, ask, policy_tickets, judge_tickets, progress):
    """Visit sentences in the given order with `ask.questions` questions each; returns (status, sentence or -1).

    Every question is followed by `ask.replay` rehearsals of answers remembered so far.
    """
    room = make_room(text.offsets, table, value)
    for visit in range(order.size):
        t = order[visit]
        for q in range(ask.questions):
            ticket = policy_tickets[visit * ask.questions + q]
            source = open_sentence(text, t, table, room)
            judge_ticket = judge_tickets[visit * ask.questions + q]
            status, went = ask_once(state, plan, knobs, text, t, source, ask, progress, room, ticket, judge_ticket)
            if status != st.OK:
                return status, t
            if not went:
                break
            progress.counts[2] += 1
            if progress.counts[0] > 0:
                for r in range(ask.replay):
                    m = tickets.below(ticket, tickets.FEATURE + np.uint64(r), progress.counts[0])
                    s, j, head = progress.memory[m, 0], progress.memory[m, 1], progress.memory[m, 2]
                    other = open_sentence(text, s, table, room)
                    scale = 1.0 / length(other) if ask.tree_scale else 1.0
                    average, clock = progress.average, progress.counts[2]
                    status = rehearse(state, other, j, head, scale, plan, knobs, average, room, clock)
                    if status != st.OK:
                        return status, s
    return st.OK, -1
