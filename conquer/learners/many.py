"""Many rounds in one call of a kernel: the bits of the calls one by one, with next to no Python for each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.rounds import settings as st
from conquer.learners.algorithm import Presentable
from conquer.models.model import CompiledModel
from conquer.policies import Policy
from conquer.rows import SparseRows, as_rows
from conquer.rows.sparse import read_only, vector
from conquer.tickets import FULL_RANGE
from conquer.types import Choice, Floats, Ints, Query

_QUERIES = (Query.NONE, Query.DUEL, Query.BEST)
_DUEL = Query.DUEL
_NUMBERS = (float, int)
_new = object.__new__
# A frozen object is filled through its slots: its constructor takes twice as long as the choice.
_set_shown, _set_query, _set_ticket, _set_memo = (
    getattr(Choice, name).__set__ for name in ("shown", "query", "ticket", "memo")
)


def chosen(a: int, b: int, query: int, ticket: int, chance: float) -> Choice:
    """The choice that a kernel's numbers stand for.

    >>> chosen(2, 0, st.DUEL, 7, 0.5)
    Choice(shown=(2, 0), query=<Query.DUEL: 1>, ticket=7, memo={'chance': 0.5})
    """
    choice, memo = _new(Choice), {"chance": chance if chance == chance else None}
    if query == st.DUEL:
        _set_shown(choice, (a, b))
        _set_query(choice, _DUEL)
    else:
        if b >= 0:
            memo["greedy"] = b
        _set_shown(choice, (a,))
        _set_query(choice, _QUERIES[query])
    _set_ticket(choice, ticket)
    _set_memo(choice, memo)
    return choice


class ManyRounds(Presentable):
    """A learner's `choose_all` and `learn_all`; the attributes are those of the learner.

    >>> from conquer.registry import make
    >>> learner, X = make("gnr", dim=2), as_rows(np.eye(2)[[0, 1, 0, 1]], 2)
    >>> choices, scores = learner.choose_all(X, [0, 2, 4], [7, 8])
    >>> choices[1] == learner.choose(X.take([2, 3]), 8), scores.tolist()
    (True, [0.0, 0.0, 0.0, 0.0])
    >>> learner.learn_all(X, np.array([[0, 1], [2, 3]]), [1.0, -1.0], [0, 0], [7, 8]), learner.answers
    (2, 2)
    """

    name: str
    dim: int
    model: CompiledModel
    policy: Policy
    duels: bool
    plan: Ints
    knobs: Floats
    _compiled: bool
    _bound: str

    @property
    def bulk(self) -> bool:
        """Whether `choose_all` and `learn_all` can do it: duels by compiled rules, without projection."""
        learns = self.policy.reply in (st.REPLY_DUEL, st.REPLY_IGNORE)
        compiled = self._compiled and hasattr(self.model.calls, "choose_all")
        return compiled and self.duels and learns and self.model.projection is None

    def choose_all(
        self, X: SparseRows, starts: Sequence[int], tickets: Sequence[int]
    ) -> tuple[list[Choice | None], Floats]:
        """Of n rounds, round t being the rows starts[t]:starts[t + 1]: the choice of each, and every row's score.

        Each as `choose_and_score` gives it, to the bit. Where that would raise, or the ticket is no plain int, the
        choice is None and the scores are NaN: call it for that round to hear why.
        """
        rows = self._many(X)
        bounds = read_only(vector(starts, np.int64, "starts"))
        sizes = bounds[1:] - bounds[:-1]
        if bounds.size != len(tickets) + 1:
            raise ValueError(f"{len(tickets)} tickets need one more start, got {bounds.size}")
        if bounds[0] < 0 or bounds[-1] > rows.rows.size or (sizes.size and sizes.min() < 0):
            raise ValueError(f"starts must rise within [0, {rows.rows.size}], got {list(starts)}")
        scores = np.full(rows.rows.size, np.nan)
        if not sizes.size or (self._bound and self.model.stats[st.EXPOSED] > 0):
            return [None] * sizes.size, scores
        strange = [t for t, ticket in enumerate(tickets) if not (type(ticket) is int and 0 <= ticket < FULL_RANGE)]
        drawn = np.array(
            [0 if t in strange else ticket for t, ticket in enumerate(tickets)] if strange else tickets, np.uint64
        )
        picks, chances = np.full((sizes.size, 4), -1, np.int64), np.empty(sizes.size)
        model = self.model
        before = model.user
        model.enter()
        try:
            model.reserve_items(int(sizes.max()))
            model.calls.choose_all(
                rows.indptr, rows.indices, rows.data, rows.rows, *model.state, self.plan, self.knobs, model.work,
                drawn, bounds, picks, chances, scores,
            )  # fmt: skip
        finally:
            model.user = before
        for t in strange:
            picks[t, 0], scores[bounds[t] : bounds[t + 1]] = -1, np.nan
        status, a, b, query = picks.T.tolist()
        each = zip(status, a, b, query, tickets, chances.tolist(), strict=True)
        return [chosen(*made) if one == st.OK else None for one, *made in each], scores

    def learn_all(
        self, X: SparseRows, pairs: Ints, answers: Sequence[float], sides: Sequence[int], tickets: Sequence[int]
    ) -> int:
        """`learn` for many answers to duels, in order; how many were learnt.

        `pairs` (n, 2): the rows of those shown. `sides` are not heeded. Fewer than n are learnt where the next cannot
        be: the state is as after those before it, and `learn` says why.
        """
        rows = self._many(X)
        extra = np.full(len(answers), -1, np.int64)
        return learn_in_turn(self.model, rows, self.plan, self.knobs, pairs, answers, extra, tickets)

    def _many(self, X: Any) -> SparseRows:
        if not self.bulk:
            raise ValueError(f"{self.name} cannot do many rounds in one call: see bulk")
        return X if type(X) is SparseRows and X.dim == self.dim else as_rows(X, self.dim)


def with_sides(X: SparseRows, column: int, sides: Sequence[int]) -> tuple[SparseRows, Ints]:
    """The rows, with two more in their arrays for the sides; and the number of each answer's, -1 where it has none.

    As many as there are plain sides in front.
    """
    count = next((t for t, side in enumerate(sides) if type(side) is not int or not -1 <= side <= 1), len(sides))
    known = np.array(sides[:count], np.int64)
    if not known.any():
        return X, np.full(count, -1, np.int64)
    used, last = X.indptr.item(-1), X.indptr.size - 1
    indptr = np.concatenate((X.indptr, [used + 1, used + 2]))
    indices = np.concatenate((X.indices[:used], np.array([column, column], np.int32)))
    data = np.concatenate((X.data[:used], [0.5, -0.5]))
    return SparseRows.made(indptr, indices, data, X.dim).view(X.rows), np.array([-1, last, last + 1])[known]


def learn_in_turn(
    model: CompiledModel,
    X: SparseRows,
    plan: Ints,
    knobs: Floats,
    pairs: Ints,
    answers: Sequence[float],
    extra: Ints,
    tickets: Sequence[int],
) -> int:
    """How many answers were learnt, up to the first that cannot be; one that is no plain number is left to `learn`."""
    if np.shape(pairs) != (len(answers), 2) or len(tickets) != len(answers):
        raise ValueError(
            f"{len(answers)} answers need a pair and a ticket each, got {np.shape(pairs)} and {len(tickets)} tickets"
        )
    count = 0
    for answer, ticket, _ in zip(answers, tickets, extra, strict=False):
        if not (
            type(answer) in _NUMBERS and -1.0 <= answer <= 1.0 and type(ticket) is int and 0 <= ticket < FULL_RANGE
        ):
            break
        count += 1
    if count == 0:
        return 0
    drawn, targets = np.array(tickets[:count], np.uint64), np.array(answers[:count], np.float64)
    before = model.user
    model.enter()
    try:
        model.reserve_items(3)
        return int(
            model.calls.learn_all(
                X.indptr, X.indices, X.data, X.rows, *model.state, plan, knobs, model.work,
                drawn, np.array(pairs[:count], np.int64), extra[:count], targets,
            )
        )  # fmt: skip
    finally:
        model.user = before
