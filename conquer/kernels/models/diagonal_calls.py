"""The diagonal model's compiled entry points: flat arrays in, so that a call from Python costs about a microsecond."""

from conquer.kernels.core.hints import borrowed
from conquer.kernels.core.kernel import jit, sized
from conquer.kernels.models import diagonal  # registers the model's primitives
from conquer.kernels.rounds import loop, steps
from conquer.kernels.rounds.primitives import DiagonalState, Items

__all__ = ["choose", "choose_all", "diagonal", "learn", "learn_all", "measure", "run", "update"]


@jit
def choose(indptr, indices, data, rows, cells, stats, plan, knobs, work, ticket):
    state, items = borrowed((DiagonalState(cells, stats), Items(indptr, indices, data, rows)))
    plan, knobs, work = borrowed((plan, knobs, work))
    return steps.choose(state, items, items.rows[:0], plan, knobs, work, ticket[0])


@sized(steps.work_of_rounds)
def choose_all(indptr, indices, data, rows, cells, stats, plan, knobs, work, drawn, starts, picks, chances, scores):
    state, items = borrowed((DiagonalState(cells, stats), Items(indptr, indices, data, rows)))
    plan, knobs, work = borrowed((plan, knobs, work))
    steps.choose_all(state, items, plan, knobs, work, drawn, starts, picks, chances, scores)


@jit
def learn(indptr, indices, data, rows, cells, stats, plan, knobs, work, ticket, a, b, answer):
    state, items = borrowed((DiagonalState(cells, stats), Items(indptr, indices, data, rows)))
    plan, knobs, work = borrowed((plan, knobs, work))
    return steps.learn(state, items, plan, knobs, work, ticket[0], a, b, answer)


@jit
def update(indptr, indices, data, rows, cells, stats, plan, knobs, work, ticket, moved, weights, target):
    state, items = borrowed((DiagonalState(cells, stats), Items(indptr, indices, data, rows)))
    return steps.move(state, items, moved, weights, target, plan, knobs, work, ticket[0])


@sized(steps.work_of_answers)
def learn_all(indptr, indices, data, rows, cells, stats, plan, knobs, work, drawn, pairs, extra, targets):
    state, items = borrowed((DiagonalState(cells, stats), Items(indptr, indices, data, rows)))
    plan, knobs, work = borrowed((plan, knobs, work))
    return steps.learn_all(state, items, plan, knobs, work, drawn, pairs, extra, targets)


@jit
def measure(indptr, indices, data, rows, cells, stats, plan, knobs, work, ticket, pivot, out):
    state, items = borrowed((DiagonalState(cells, stats), Items(indptr, indices, data, rows)))
    return steps.measure(state, items, plan, knobs, work, ticket[0], pivot, out)


@jit
def run(indptr, indices, data, rows, cells, stats, plan, knobs, work, world, log, limit):
    state, items = borrowed((DiagonalState(cells, stats), Items(indptr, indices, data, rows)))
    plan, knobs, work, world, log = borrowed((plan, knobs, work, world, log))
    return loop.loop(state, items, plan, knobs, work, world, log, limit)
