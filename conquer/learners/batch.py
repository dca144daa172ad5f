"""Batches: many rounds in one call of a kernel, identical to single calls to the bit."""

import operator
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.models import calls
from conquer.kernels.rounds import settings as st
from conquer.models.model import CompiledModel
from conquer.policies import Policy
from conquer.rows import SparseRows, as_rows
from conquer.tickets import FULL_RANGE
from conquer.types import Choice, Floats, Ints, Query

_QUERIES = (Query.NONE, Query.DUEL, Query.BEST)
_DUEL = Query.DUEL
_NUMBERS = (float, int)
_INTS = {int}
_ENDS, _HALVES = np.array([1, 2]), np.array([0.5, -0.5])
Arrays = tuple[Ints, NDArray[np.int32], Floats]
_new = object.__new__
# Filled through its slots, since the constructor of a frozen dataclass takes twice as long as the choice.
_set_shown, _set_query, _set_ticket, _set_memo = (
    getattr(Choice, name).__set__ for name in ("shown", "query", "ticket", "memo")
)


def chosen(a: int, b: int, query: int, ticket: int, chance: float) -> Choice:
    """The choice of a kernel's numbers."""
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


class BatchLearner(Protocol):
    """A learner that takes many rounds in one call, as `BatchRounds` says."""

    def choose_all(
        self, X: SparseRows, starts: Sequence[int], tickets: Sequence[int]
    ) -> tuple[list[Choice | None], Floats]: ...

    def learn_all(
        self, X: SparseRows, pairs: Ints, answers: Sequence[float], sides: Sequence[int], tickets: Sequence[int]
    ) -> int: ...


def batch_learner(learner: Any) -> BatchLearner | None:
    """The learner if it takes batches, else None."""
    able: BatchLearner | None = learner if getattr(learner, "takes_batches", False) else None
    return able


class BatchRounds:
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
    packed_rule: Floats
    _compiled: bool

    def check_draw(self, count: int) -> None: ...

    @property
    def takes_batches(self) -> bool:
        """Whether `choose_all` and `learn_all` work: duels by compiled rules, without projection."""
        learns = self.policy.reply in (st.REPLY_DUEL, st.REPLY_IGNORE)
        compiled = self._compiled and not self.model.grows
        return compiled and self.duels and learns and self.model.projection is None

    def choose_all(
        self, X: SparseRows, starts: Sequence[int], tickets: Sequence[int]
    ) -> tuple[list[Choice | None], Floats]:
        """The choice of each of n rounds, round t being the rows starts[t]:starts[t + 1], and every row's score.

        Results equal those of `choose_and_score` to the bit. If that would raise, or a ticket is not a plain int, the
        choice is None and the scores are NaN; call it for that round to get the error.
        """
        rows, bounds, count = self.batch_rows(X), np.array(starts), len(tickets)
        if bounds.shape != (count + 1,) or bounds.dtype != np.int64:
            raise ValueError(f"starts must be {count + 1} whole numbers, one more than tickets, got {starts!r}")
        ends = bounds.tolist()
        sizes = list(map(operator.sub, ends[1:], ends))
        if ends[0] < 0 or ends[-1] > rows.rows.size or min(sizes, default=0) < 0:
            raise ValueError(f"starts must be ascending within [0, {rows.rows.size}], got {starts!r}")
        if count == 0:
            return [None] * count, np.full(rows.rows.size, np.nan)
        strange, words = list[int](), tickets
        if set(map(type, tickets)) != _INTS or min(tickets) < 0 or max(tickets) >= FULL_RANGE:
            strange = [t for t, ticket in enumerate(tickets) if not (type(ticket) is int and 0 <= ticket < FULL_RANGE)]
            words = list(tickets)
            for t in strange:
                words[t] = 0
        picks, chances, scores = np.empty((4, count), np.int64), np.empty(count), np.empty(rows.rows.size)
        model = self.model
        before = model.user
        model.enter()
        try:
            self.check_draw(max(sizes))
            model.reserve_items(max(sizes))
            calls.choose_all(
                model.state, rows.indptr, rows.indices, rows.data, rows.rows, self.packed_rule,
                np.array(words, np.uint64), bounds, picks, chances, scores,
            )  # fmt: skip
        finally:
            model.user = before
        for t in strange:
            picks[0, t], scores[ends[t] : ends[t + 1]] = st.FULL, np.nan
        each = zip(*picks.tolist(), tickets, chances.tolist(), strict=True)
        return [
            chosen(a, b, query, ticket, chance) if status == st.OK else None
            for status, a, b, query, ticket, chance in each
        ], scores

    def learn_all(
        self, X: SparseRows, pairs: Ints, answers: Sequence[float], sides: Sequence[int], tickets: Sequence[int]
    ) -> int:
        """`learn` for many answers to duels, in order; returns how many were learnt.

        `pairs` (n, 2): the rows shown. `sides` are ignored. It ends before the first answer that cannot be learnt; call
        `learn` for that one to get the error.
        """
        unknown = [0] * len(answers)
        return learn_in_turn(self.model, self.batch_rows(X), self.packed_rule, pairs, answers, unknown, tickets)

    def batch_rows(self, X: Any) -> SparseRows:
        """The rows of a batch; a ValueError if the learner takes none."""
        if not self.takes_batches:
            raise ValueError(f"{self.name} does not support batches")
        return as_rows(X, self.dim)


def learn_in_turn(
    model: CompiledModel,
    X: SparseRows,
    rule: Floats,
    pairs: Ints,
    answers: Sequence[float],
    sides: Sequence[int],
    tickets: Sequence[int],
    column: NDArray[np.int32] | None = None,
) -> int:
    """Learn answers up to the first that cannot be learnt or is not a plain number; returns how many.

    With a `column` (1,), a known side is learnt there together with its pair.
    """
    if np.shape(pairs) != (len(answers), 2) or not len(answers) == len(sides) == len(tickets):
        raise ValueError(
            f"{len(answers)} answers need a pair, a side and a ticket each, "
            f"got {np.shape(pairs)}, {len(sides)} and {len(tickets)}"
        )
    count = _plain(answers, sides, tickets)
    if count == 0:
        return 0
    drawn, targets = np.array(tickets[:count], np.uint64), np.array(answers[:count], np.float64)
    arrays, extra = _with_sides(X, sides[:count], column)
    before = model.user
    model.enter()
    try:
        model.reserve_items(3)
        learnt = calls.learn_all(
            model.state, *arrays, X.rows, rule, drawn, np.array(pairs[:count], np.int64), extra, targets,
        )  # fmt: skip
    finally:
        model.user = before
    return int(learnt)


def _plain(answers: Sequence[float], sides: Sequence[int], tickets: Sequence[int]) -> int:
    """The length of the prefix of plain numbers within their ranges."""
    for t, (answer, side, ticket) in enumerate(zip(answers, sides, tickets, strict=True)):
        numbers = type(answer) in _NUMBERS and type(side) is type(ticket) is int
        if not (numbers and -1.0 <= answer <= 1.0 and -1 <= side <= 1 and 0 <= ticket < FULL_RANGE):
            return t
    return len(answers)


def _with_sides(X: SparseRows, sides: Sequence[int], column: NDArray[np.int32] | None) -> tuple[Arrays, Ints]:
    """The rows' arrays with two further rows, +1/2 and -1/2 in the column; and the row of each side, or -1."""
    if column is None or not any(sides):
        return (X.indptr, X.indices, X.data), np.full(len(sides), -1)
    used, last = X.indptr.item(-1), X.indptr.size - 1
    arrays = (
        np.concatenate((X.indptr, used + _ENDS)),
        np.concatenate((X.indices[:used], column, column)),
        np.concatenate((X.data[:used], _HALVES)),
    )
    for array in arrays:
        array.setflags(write=False)  # kernels see one array type
    return arrays, np.array([-1, last, last + 1])[list(sides)]
