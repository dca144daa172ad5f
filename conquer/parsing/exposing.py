"""Two edges that count in the widths when they are shown, and are learnt when the answer comes."""

from conquer.kernels.rounds import settings as st
from conquer.models.model import CompiledModel
from conquer.rows import SparseRows


def expose_pair(model: CompiledModel, two: SparseRows) -> None:
    """Count the two rows in the widths."""
    arrays = two.indptr, two.indices, two.data, two.rows
    with model.held():
        model.reserve(two)
        status = model.calls.expose(*arrays, *model.state, model.plan, model.knobs, 0, 1)
    if status != st.OK:
        model.fail(status, two)


def learn_exposed(model: CompiledModel, two: SparseRows, target: float, ticket: int) -> None:
    """One step along half the difference of two rows that have been counted already."""
    arrays = two.indptr, two.indices, two.data, two.rows
    with model.held():
        model.reserve(two)
        model.make_room(two)
        model.ticket[0] = ticket
        common = model.plan, model.knobs, model.work, model.ticket
        status = model.calls.learn(*arrays, *model.state, *common, 0, 1, target, True)
    if status != st.OK:
        model.fail(status, two)
