"""The kernels that Python calls. Each takes a state tuple and a round's rows; a call costs about two microseconds.

`ticket` is an array of one number: a scalar of numpy's would take longer to make.
"""

from conquer.kernels.core.kernel import jit, sized
from conquer.kernels.models import diagonal, dual, full  # register the models' primitives
from conquer.kernels.rounds import answer, choice
from conquer.kernels.rounds import loop as rounds_loop
from conquer.kernels.rounds.primitives import Items, unpacked
from conquer.kernels.rounds.settings import rule_constants

__all__ = [
    "choose", "choose_all", "diagonal", "dual", "forecast", "full", "learn", "learn_all", "measure", "run", "update",
]  # fmt: skip


@jit
def choose(state, indptr, indices, data, rows, rule, ticket):
    """(status, a, b, query, chance), see `choice.choose`."""
    return choice.choose(unpacked(state), Items(indptr, indices, data, rows), rows[:0], rule_constants(rule), ticket[0])


@jit
def forecast(state, indptr, indices, data, rows, ticket, a, b):
    """(gap, variance), see `choice.forecast`."""
    return choice.forecast(unpacked(state), Items(indptr, indices, data, rows), a, b, ticket[0])


@sized(lambda state, indptr, indices, data, rows, *_: 64 * rows.size + 2 * data.size)
def choose_all(state, indptr, indices, data, rows, rule, drawn, starts, picks, chances, scores):
    """Many rounds, see `choice.choose_all`."""
    choice.choose_all(
        unpacked(state), Items(indptr, indices, data, rows), rule_constants(rule), drawn, starts, picks, chances, scores
    )


@jit
def learn(state, indptr, indices, data, rows, rule, ticket, a, b, value):
    """A status, see `answer.learn`."""
    return answer.learn(
        unpacked(state), Items(indptr, indices, data, rows), rule_constants(rule), ticket[0], a, b, value
    )


def _answers(state, indptr, indices, data, rows, *rest):
    """About how many innermost steps the answers to pairs of these rows take."""
    return 32 * rest[-1].size * (4 + data.size // max(1, rows.size))


@sized(_answers)
def learn_all(state, indptr, indices, data, rows, rule, drawn, pairs, extra, targets):
    """How many answers were learnt, see `answer.learn_all`."""
    return answer.learn_all(
        unpacked(state), Items(indptr, indices, data, rows), rule_constants(rule), drawn, pairs, extra, targets
    )


@jit
def update(state, indptr, indices, data, rows, ticket, moved, weights, target):
    """A status, see `answer.move`."""
    return answer.move(unpacked(state), Items(indptr, indices, data, rows), moved, weights, target, ticket[0])


@jit
def measure(state, indptr, indices, data, rows, ticket, pivot, out):
    """A status, see `choice.measure`."""
    return choice.measure(unpacked(state), Items(indptr, indices, data, rows), ticket[0], pivot, out)


@jit
def run(state, indptr, indices, data, rows, rule, world, log, limit):
    """A status, see `loop.loop`."""
    return rounds_loop.loop(
        unpacked(state), Items(indptr, indices, data, rows), rule_constants(rule), world, log, limit
    )
