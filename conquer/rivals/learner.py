"""The learner around a rival: tickets, checks and files for a method that only picks and learns."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_answer
from conquer.files import adopt
from conquer.learners.algorithm import Values, summary
from conquer.rows import SparseRows, as_rows
from conquer.tickets import Draws, draw_ticket
from conquer.types import Choice, Floats, Memo, Query, Source

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Pick:
    """The items to show and the question to ask. `chance`: the probability of this choice, None if unknown."""

    shown: tuple[int, ...]
    query: Query
    memo: Memo = field(default_factory=dict)
    chance: float | None = None


def duel(first: int, second: int, memo: Memo | None = None, chance: float | None = None) -> Pick:
    """A duel of two items, or one item without a question where both are the same.

    >>> duel(2, 2).shown, duel(2, 2).query.name
    ((2,), 'NONE')
    """
    if first == second:
        return Pick((int(first),), Query.NONE, memo or {}, chance)
    return Pick((int(first), int(second)), Query.DUEL, memo or {}, chance)


def drawn(chances: Floats, u: float) -> int:
    """The position that a uniform u in [0, 1) draws from these chances.

    >>> drawn(np.array([0.5, 0.5]), 0.6)
    1
    """
    return min(int(np.searchsorted(np.cumsum(chances), u, side="right")), chances.size - 1)


def finite(*values: Any) -> None:
    """Raise a FloatingPointError unless all values are finite: methods call it before they change their state."""
    if not all(np.isfinite(value).all() for value in values):
        raise FloatingPointError("a value that is not finite")


class Method(Protocol):
    """One system's rule and state. `pick` is pure; `learn` gets only choices that passed `Rival.check`.

    `learn` computes, calls `finite`, and then assigns: an error leaves the state unchanged. Overflow in numpy raises,
    since both run under `Rival._guarded`.
    """

    duels: bool
    shows: int

    def pick(self, X: SparseRows, draws: Draws) -> Pick: ...
    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None: ...
    def scores(self, X: SparseRows) -> Floats: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: Arrays) -> None: ...


MethodBuilder = Callable[[int, str, Values], Method]
"""(dim, model, values of all options) -> a fresh method."""


class Rival:
    """A method as a learner: `choose` is pure, `learn` the only mutation. Not thread-safe.

    >>> from conquer.rivals.contextual.gradient import PreferencePerceptron
    >>> learner = Rival(PreferencePerceptron(3), dim=3, name="preference-perceptron")
    >>> learner.choose(np.eye(3), 5).query.name
    'DUEL'
    """

    compiled = False
    __repr__ = summary

    def __init__(self, method: Method, *, dim: int, name: str, parameters: Mapping[str, Any] | None = None) -> None:
        self.model, self.dim, self.name = method, dim, name
        self.parameters: Mapping[str, Any] = dict(parameters or {})
        self.duels, self.shows = method.duels, method.shows
        self.fixed_arms = bool(getattr(method, "fixed_arms", False))
        self.answers = 0

    @property
    def fresh(self) -> bool:
        """Whether it has learnt nothing yet."""
        return self.answers == 0

    def choose(self, X: Any, rng: np.random.Generator | int) -> Choice:
        """The items to show and the question to ask. `X`: (K, D) array, scipy CSR or SparseRows."""
        rows = as_rows(X, self.dim)
        if self.duels and len(rows) < 2:
            raise ValueError(f"{self.name} shows two items, got {len(rows)}")
        ticket = draw_ticket(rng)
        with self._guarded(rows):
            found = self.model.pick(rows, Draws(ticket))
        return Choice(found.shown, found.query, ticket, {"chance": found.chance, **found.memo})

    def check(self, choice: Choice, count: int) -> tuple[int, ...]:
        """The shown positions, or a ValueError if this choice cannot be learnt from `count` items."""
        shown, most = choice.shown, max(self.shows, 2 if self.duels else 1)
        expected = Query.BEST if not self.duels and len(shown) == 1 else Query.DUEL
        if choice.query != expected:
            raise ValueError(f"the choice has query {choice.query.name}, {self.name} learns only from {expected.name}")
        if not (2 if self.duels else 1) <= len(shown) <= most or len(set(shown)) != len(shown):
            raise ValueError(f"{self.name} shows at most {most} distinct items, got {shown}")
        if not all(0 <= k < count for k in shown):
            raise ValueError(f"shown items must be in [0, {count}), got {shown}")
        return shown

    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None:
        """Learn one answer: +1 first, -1 second, 0 tie or any strength between; to BEST, +1 yes or -1 no.

        Of more than two shown: the position picked, or -1 for none of them.
        """
        rows = as_rows(X, self.dim)
        self.check(choice, len(rows))
        number = checked_answer(answer, strengths=choice.query != Query.BEST, shown=len(choice.shown))
        with self._guarded(rows):
            self.model.learn(rows, choice, number)
        self.answers += 1

    @contextmanager
    def _guarded(self, rows: SparseRows) -> Iterator[None]:
        """Turn overflow into an ArithmeticError that names the largest value of these items."""
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                yield
        except FloatingPointError as error:
            stored = (np.abs(rows.data[rows.indptr[k] : rows.indptr[k + 1]]) for k in rows.rows)
            most = max(float(values.max(initial=0.0)) for values in stored)
            raise ArithmeticError(f"{self.name} overflows: the items' largest value is {most:g}; scale them") from error

    def scores(self, X: Any) -> Floats:
        """(K,): the estimated worth of each item; the best item is the argmax."""
        return self.model.scores(as_rows(X, self.dim))

    def board(self, X: Any, *arguments: Any, **options: Any) -> NoReturn:
        """Raise a ValueError: the bounds of boards hold for CONQUER's own models only."""
        raise ValueError(
            f"{self.name} has no board: intervals exist for CONQUER's full and kernel models only; replay the answers "
            "into one, for example make('gnr', dim=..., model='full')"
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, by name."""
        return {"answers": np.array([self.answers], np.int64), **self.model.arrays()}

    def restore(self, arrays: Arrays) -> None:
        """Load the state of `arrays()`, checked, into a fresh learner."""
        (answers,) = adopt(arrays, {"answers": (1,)}, np.int64)
        if answers[0] < 0:
            raise ValueError(f"answers must not be negative, got {answers[0]}")
        self.model.restore(arrays)
        self.answers = int(answers[0])
