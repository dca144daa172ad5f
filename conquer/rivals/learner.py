"""What every rival shares: tickets, checks and files around a method that only picks and learns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.core.tickets import FEATURE, ticket_normals, ticket_uniforms
from conquer.kernels.rounds.select import pick as pick_largest
from conquer.rows import SparseRows, as_rows
from conquer.types import Choice, Floats, Memo, Query

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Draws:
    """The chance of one round: numbered draws of its ticket. 0 and 1 break ties, methods number theirs from 0 here on.

    >>> Draws(7).uniforms(3).tolist() == [Draws(7).uniform(k) for k in range(3)]
    True
    """

    ticket: int

    def uniform(self, number: int) -> float:
        """Draw `number` in [0, 1)."""
        return float(self.uniforms(1, number)[0])

    def uniforms(self, count: int, start: int = 0) -> Floats:
        """(count,) draws in [0, 1), numbered from `start`."""
        out = np.empty(count)
        ticket_uniforms(np.uint64(self.ticket), self._counters(count, start), out)
        return out

    def normals(self, count: int, start: int = 0) -> Floats:
        """(count,) standard normal draws, numbered from `start`."""
        out = np.empty(count)
        ticket_normals(np.uint64(self.ticket), self._counters(count, start), out)
        return out

    def below(self, number: int, count: int) -> int:
        """Draw `number` as a whole number in [0, count)."""
        return min(int(self.uniform(number) * count), count - 1)

    def largest(self, values: Floats, tie: int = 0, skip: int = -1) -> int:
        """The position of a largest value but `skip`'s; the tie-breaking draw `tie` decides among equals."""
        found = np.ascontiguousarray(values, dtype=np.float64)
        return int(pick_largest(found, found.size, skip, np.uint64(self.ticket), np.uint64(tie))[0])

    def _counters(self, count: int, start: int) -> NDArray[np.uint64]:
        return np.arange(start, start + count, dtype=np.uint64) + FEATURE


@dataclass(frozen=True, slots=True)
class Pick:
    """What a method wants shown. `chance`: that of this very choice, where it is known."""

    shown: tuple[int, ...]
    query: Query
    memo: Memo = field(default_factory=dict)
    chance: float | None = None


def duel(first: int, second: int, memo: Memo | None = None, chance: float | None = None) -> Pick:
    """A duel, or nothing to ask where an item meets itself.

    >>> duel(2, 2).shown, duel(2, 2).query.name
    ((2,), 'NONE')
    """
    if first == second:
        return Pick((int(first),), Query.NONE, memo or {}, chance)
    return Pick((int(first), int(second)), Query.DUEL, memo or {}, chance)


class Method(Protocol):
    """One system's rule and state. `pick` is pure; `learn` is given only choices that passed `Rival.check`."""

    duels: bool
    shows: int

    def pick(self, X: SparseRows, draws: Draws) -> Pick: ...
    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None: ...
    def scores(self, X: SparseRows) -> Floats: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: Arrays) -> None: ...


class Rival:
    """A method as a learner: `choose` is pure, `learn` the only mutation. Not thread-safe.

    >>> from conquer.rivals.contextual.dbgd import PreferencePerceptron
    >>> learner = Rival(PreferencePerceptron(3), dim=3, name="preference-perceptron")
    >>> learner.choose(np.eye(3), 5).query.name
    'DUEL'
    """

    compiled = False

    def __init__(self, method: Method, *, dim: int, name: str, parameters: Mapping[str, Any] | None = None) -> None:
        self.model, self.dim, self.name = method, dim, name
        self.parameters: Mapping[str, Any] = dict(parameters or {})
        self.answers = 0

    @property
    def duels(self) -> bool:
        """Whether it needs at least two items."""
        return self.model.duels

    @property
    def shows(self) -> int:
        """How many items it shows at most."""
        return self.model.shows

    @property
    def fixed_arms(self) -> bool:
        """Whether items are known by their place in the round, so that every round must hold the same ones."""
        return bool(getattr(self.model, "fixed_arms", False))

    @property
    def fresh(self) -> bool:
        """Whether it has learnt nothing yet."""
        return self.answers == 0

    def choose(self, X: Any, rng: np.random.Generator | int) -> Choice:
        """Which items to show and what to ask. `X`: (K, D) array, scipy CSR or SparseRows."""
        rows = as_rows(X, self.dim)
        if self.duels and len(rows) < 2:
            raise ValueError(f"{self.name} shows two items, got {len(rows)}")
        ticket = _ticket(rng)
        found = self.model.pick(rows, Draws(ticket))
        return Choice(found.shown, found.query, ticket, {"chance": found.chance, **found.memo})

    def check(self, choice: Choice, count: int) -> tuple[int, ...]:
        """The shown positions, or a ValueError if this choice cannot be learnt from `count` items."""
        shown, most = choice.shown, max(self.model.shows, 2 if self.duels else 1)
        expected = Query.BEST if not self.duels and len(shown) == 1 else Query.DUEL
        if choice.query != expected:
            raise ValueError(
                f"nothing to learn: the choice asks {choice.query.name}, {self.name} learns {expected.name}"
            )
        if not (2 if self.duels else 1) <= len(shown) <= most or len(set(shown)) != len(shown):
            raise ValueError(f"{self.name} shows at most {most} distinct items, got {shown}")
        if not all(0 <= k < count for k in shown):
            raise ValueError(f"shown items must be in [0, {count}), got {shown}")
        return shown

    def learn(self, X: Any, choice: Choice, answer: float) -> None:
        """Learn one answer: +1 first, -1 second, 0 tie or any strength between; to BEST, +1 yes or -1 no."""
        rows = as_rows(X, self.dim)
        self.check(choice, len(rows))
        if isinstance(answer, bool) or not (math.isfinite(answer) and -1.0 <= answer <= 1.0):
            raise ValueError(f"an answer must be in [-1, 1], got {answer!r}")
        if choice.query == Query.BEST and abs(answer) != 1.0:
            raise ValueError(f"the answer to BEST must be +1 or -1, got {answer!r}")
        self.model.learn(rows, choice, float(answer))
        self.answers += 1

    def expose(self, X: Any, choice: Choice) -> Choice:
        """Always a ValueError: see `begin_exposing`."""
        self.begin_exposing()
        return choice

    def begin_exposing(self) -> None:
        """A ValueError: the rivals' papers move the covariance with the answer."""
        raise ValueError(f"{self.name} counts pairs with their answers only: use covariance='on-answer'")

    def scores(self, X: Any) -> Floats:
        """(K,): what the method believes the items are worth; the best item is the argmax."""
        return self.model.scores(as_rows(X, self.dim))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, by name."""
        return {"answers": np.array([self.answers], np.int64), **self.model.arrays()}

    def restore(self, arrays: Arrays) -> None:
        """Take the state of `arrays()`, checked; a fresh learner only."""
        (answers,) = adopt(arrays, {"answers": (1,)}, np.int64)
        if answers[0] < 0:
            raise ValueError(f"answers must not be negative, got {answers[0]}")
        self.model.restore(arrays)
        self.answers = int(answers[0])


def adopt(arrays: Arrays, shapes: Mapping[str, tuple[int, ...]], dtype: Any = np.float64) -> list[NDArray[Any]]:
    """Copies of the named arrays, checked to be finite, of this type and these shapes (-1: any length)."""
    found = []
    for name, shape in shapes.items():
        array = arrays.get(name)
        fits = (
            array is not None
            and array.dtype == dtype
            and array.ndim == len(shape)
            and all(want in (-1, have) for want, have in zip(shape, array.shape, strict=True))
        )
        if array is None or not fits:
            got = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"array {name!r} must be {np.dtype(dtype)} of shape {shape}, got {got}")
        if not np.isfinite(array).all():
            raise ValueError(f"array {name!r} must be finite")
        found.append(array.copy())
    return found


def number(name: str, value: Any, low: float = -math.inf, high: float = math.inf, above: bool = False) -> float:
    """`value` as a float in [low, high] (above low where `above`), or a ValueError that names it."""
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
    if not real or not low <= value <= high or (above and value == low):
        raise ValueError(f"{name} must be a finite number in {'(' if above else '['}{low}, {high}], got {value!r}")
    return float(value)


def whole(name: str, value: Any, low: int, high: int = 2**31) -> int:
    """`value` as an int in [low, high], or a ValueError that names it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number in [{low}, {high}], got {value!r}")
    return int(value)


def _ticket(rng: np.random.Generator | int) -> int:
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(0, 2**64, dtype=np.uint64))
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and 0 <= rng < 2**64:
        return int(rng)
    raise TypeError(f"rng must be a numpy Generator or a ticket in [0, 2**64), got {rng!r}")
