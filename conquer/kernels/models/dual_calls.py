"""The kernel model's compiled entry points: flat arrays in, so that a call from Python costs about a microsecond."""

from conquer.kernels.core.kernel import jit
from conquer.kernels.models import dual  # registers the model's primitives
from conquer.kernels.rounds import loop, steps
from conquer.kernels.rounds.primitives import DualState, Items

__all__ = ["choose", "dual", "learn", "measure", "run", "update"]


@jit
def choose(
    indptr,
    indices,
    data,
    rows,
    counts,
    stored_indptr,
    stored_indices,
    stored_data,
    owner,
    item,
    factor,
    pair,
    room,
    dense,
    stats,
    plan,
    knobs,
    work,
    ticket,
):
    state, items = (
        DualState(counts, stored_indptr, stored_indices, stored_data, owner, item, factor, pair, room, dense, stats),
        Items(indptr, indices, data, rows),
    )
    return steps.choose(state, items, rows[:0], plan, knobs, work, ticket[0])


@jit
def learn(
    indptr,
    indices,
    data,
    rows,
    counts,
    stored_indptr,
    stored_indices,
    stored_data,
    owner,
    item,
    factor,
    pair,
    room,
    dense,
    stats,
    plan,
    knobs,
    work,
    ticket,
    a,
    b,
    answer,
):
    state, items = (
        DualState(counts, stored_indptr, stored_indices, stored_data, owner, item, factor, pair, room, dense, stats),
        Items(indptr, indices, data, rows),
    )
    return steps.learn(state, items, plan, knobs, work, ticket[0], a, b, answer)


@jit
def update(
    indptr,
    indices,
    data,
    rows,
    counts,
    stored_indptr,
    stored_indices,
    stored_data,
    owner,
    item,
    factor,
    pair,
    room,
    dense,
    stats,
    plan,
    knobs,
    work,
    ticket,
    moved,
    weights,
    target,
):
    state, items = (
        DualState(counts, stored_indptr, stored_indices, stored_data, owner, item, factor, pair, room, dense, stats),
        Items(indptr, indices, data, rows),
    )
    return steps.move(state, items, moved, weights, target, plan, knobs, work, ticket[0])


@jit
def measure(
    indptr,
    indices,
    data,
    rows,
    counts,
    stored_indptr,
    stored_indices,
    stored_data,
    owner,
    item,
    factor,
    pair,
    room,
    dense,
    stats,
    plan,
    knobs,
    work,
    ticket,
    pivot,
    out,
):
    state, items = (
        DualState(counts, stored_indptr, stored_indices, stored_data, owner, item, factor, pair, room, dense, stats),
        Items(indptr, indices, data, rows),
    )
    return steps.measure(state, items, plan, knobs, work, ticket[0], pivot, out)


@jit
def run(
    indptr,
    indices,
    data,
    rows,
    counts,
    stored_indptr,
    stored_indices,
    stored_data,
    owner,
    item,
    factor,
    pair,
    room,
    dense,
    stats,
    plan,
    knobs,
    work,
    world,
    log,
    limit,
):
    state, items = (
        DualState(counts, stored_indptr, stored_indices, stored_data, owner, item, factor, pair, room, dense, stats),
        Items(indptr, indices, data, rows),
    )
    return loop.loop(state, items, plan, knobs, work, world, log, limit)
