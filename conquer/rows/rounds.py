"""All rounds of a simulation: which rows meet in each, what they are worth, and how people rated them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from conquer.kernels.core import validate
from conquer.rows.sparse import SparseRows, converted, owned, read_only, vector
from conquer.types import Floats, Ints, Round


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Rounds:
    """All rounds of a simulation: `sets` (T, K) are rows of `X` (-1 pads short rounds), `rewards` one per row.

    `ratings` (N, R), NaN-padded, are the ratings people gave each row, for the `raters` judge.

    >>> rounds = Rounds([[1.0, 0.0], [0.0, 1.0]], [[0, 1], [1, -1]], [1.0, -1.0])
    >>> len(rounds), rounds[1].rewards.tolist()
    (2, [-1.0])
    """

    X: SparseRows
    sets: Ints
    sizes: Ints
    rewards: Floats
    ratings: Floats

    def __init__(self, X: Any, sets: ArrayLike, rewards: ArrayLike, ratings: ArrayLike | None = None) -> None:
        rows = X if type(X) is SparseRows else converted(X)
        if not np.array_equal(rows.rows, np.arange(rows.indptr.size - 1)):
            rows = rows.packed()
        members = np.asarray(sets)
        if members.ndim != 2 or not (members.size == 0 or np.issubdtype(members.dtype, np.integer)):
            raise ValueError(
                f"sets must be a (T, K) array of row numbers, got {members.dtype} of shape {members.shape}"
            )
        members = owned(np.ascontiguousarray(members, dtype=np.int64), sets)
        sizes = np.zeros(members.shape[0], np.int64)
        bad = validate.check_sets(members, sizes, len(rows))
        if bad >= 0:
            raise ValueError(
                f"round {bad} must hold row numbers in [0, {len(rows)}) and then only -1, got {members[bad].tolist()}"
            )
        values = vector(rewards, np.float64, "rewards")
        if values.size != len(rows):
            raise ValueError(f"rewards must have one value per row ({len(rows)}), got {values.size}")
        if values.size and not (np.isfinite(values).all() and values.min() >= -1 and values.max() <= 1):
            raise ValueError("rewards must be finite and in [-1, 1]")
        object.__setattr__(self, "X", rows)
        object.__setattr__(self, "sets", read_only(members))
        object.__setattr__(self, "sizes", read_only(sizes))
        object.__setattr__(self, "rewards", read_only(values))
        object.__setattr__(self, "ratings", read_only(_ratings(ratings, len(rows))))

    def __reduce__(self) -> tuple[Any, ...]:
        return Rounds, (self.X, self.sets, self.rewards, self.ratings if self.ratings.size else None)

    def __len__(self) -> int:
        return int(self.sets.shape[0])

    def __getitem__(self, t: int) -> Round:
        if not -len(self) <= t < len(self):
            raise IndexError(f"round must be in [0, {len(self)}), got {t}")
        members = self.sets[t, : self.sizes[t]]
        ratings = self.ratings[members] if self.ratings.size else None
        return Round(self.X.view(members.copy()), self.rewards[members], ratings)

    def __iter__(self) -> Iterator[Round]:
        return (self[t] for t in range(len(self)))


def _ratings(ratings: ArrayLike | None, items: int) -> Floats:
    if ratings is None:
        return np.empty((1, 0))  # a row to point to where a judge asks for nobody's
    values = owned(np.ascontiguousarray(ratings, dtype=np.float64), ratings)
    if values.ndim != 2 or values.shape[0] != items:
        raise ValueError(f"ratings must be ({items}, R), got shape {values.shape}")
    present = np.isfinite(values)
    if np.isinf(values).any() or not present[:, :1].all() or (np.diff(present.astype(np.int8), axis=1) > 0).any():
        raise ValueError("ratings must be finite, at least one per row, with NaN only after the last rating of a row")
    return values
