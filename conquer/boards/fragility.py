"""What holds a board up: how few votes or voters would change it, and what makes the difference of two items.

The weights are w = A^-1 b, where A - lam I sums r r' and b sums y r over the votes, r = weight (first - second)/2. So a
difference x'w is the sum of y x'A^-1 r over votes, and n equal votes leave by a step of rank one:
w' = w - n A^-1 r (y - r'w) / (1 - n h), h = r'A^-1 r.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from conquer.rows import SparseRows
from conquer.types import Floats, Ints

RIVALS = 3
"""Items that are tried as the next leader: those that a first estimate needs fewest votes for."""
_SMALL, _ROWS, _WORK = 128, 4096, 2e9
"""Features up to which rows are dense; rows at a time, and products up to which their leverage is computed."""
_SHARE = 4
"""One step removes at most a quarter of the equal votes that seem to be needed."""
_CLOSE = 1e-6
_DIGITS = 50
"""Binary digits of the parts of a difference, fewer than a float has, so that they add without rounding."""


@dataclass(frozen=True, slots=True)
class VoteTable:
    """The votes that a model was fitted on: items as positions in `rows`, and who voted.

    `values` are +1 (the first won) to -1, `weights` the factor of each vote's row, `counts` the number of equal votes,
    `voters` positions in `names`, -1 without a name; `items` are the ids of `rows`. `features` names columns.
    """

    first: Ints
    second: Ints
    values: Floats
    weights: Floats
    counts: Ints
    voters: Ints
    names: Sequence[str]
    rows: SparseRows
    items: Sequence[Any]
    style: Floats | None = None
    """(N, S): what else explains the votes, in the last columns of the model."""
    features: Callable[[Ints], list[str]] = field(default=lambda columns: [f"feature {column}" for column in columns])

    def __len__(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Fragility:
    """How few votes, and voters, would change a board: an upper bound, found greedily.

    Attributes
    ----------
    leader, rival : int
        Positions of the first item and of the one that would replace it; `rival` is -1 if no votes would do.
    votes : int
        Without this number of votes the leader is another one; 0 if there is no rival.
    removed : tuple of (first, second, value, count)
        These votes.
    voters : tuple of str
        Without these voters the leader is another one; empty if no named voters would do.
    neighbours : (K-1,) tuple of int
        For each item and the next of the order: without this number of votes they change places; 0 if none would do.
    answers : int
        All votes.
    text : str
        The same in a sentence.
    """

    leader: int
    rival: int
    votes: int
    removed: tuple[tuple[Any, Any, float, int], ...]
    voters: tuple[str, ...]
    neighbours: tuple[int, ...]
    answers: int
    text: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """What makes the difference of two scores. The last entries of each list add up to `gap`, to the last digit.

    Attributes
    ----------
    gap : float
        The score of the one less that of the other.
    votes : tuple of (first, second, value, count, share)
        Equal votes together, those that speak most for either side first.
    voters : tuple of (name or None, share)
        The same votes by voter.
    features : tuple of (name, share)
        The difference by feature: the weight times the difference of the two items in it.
    """

    gap: float
    votes: tuple[tuple[Any, Any, float, int, float], ...]
    voters: tuple[tuple[str | None, float], ...]
    features: tuple[tuple[str, float], ...]


class Support:
    """A full model beside the votes that it was fitted on, with the rows of the board's items.

    A ValueError says so if these votes do not give the model.
    """

    def __init__(self, inverse: Floats, weights: Floats, rows: SparseRows, table: VoteTable) -> None:
        self.inverse, self.weights, self.table = inverse, weights, table
        self.X = rows.csr()
        found, places, sizes = _types(table)
        self.places = places
        self.counts = np.bincount(places, table.counts, sizes).astype(np.int64)
        self.first, self.second = table.first[found], table.second[found]
        self.values, scale = table.values[found], table.weights[found]
        own = table.rows.csr()
        R = ((own[self.first] - own[self.second]) * 0.5).tocsr()
        if table.style is not None:
            from scipy.sparse import csr_array, hstack

            R = hstack([R[:, : R.shape[1] - table.style.shape[1]], csr_array(table.style[found])], format="csr")
        R = R.multiply(scale[:, None]).tocsr()
        self.R: Any = R.toarray() if R.shape[1] <= _SMALL else R
        expected = inverse @ (R.T @ (self.counts * self.values))
        if not np.allclose(weights, expected, rtol=_CLOSE, atol=_CLOSE):
            raise ValueError(
                "these are not the votes that the model was made of, alone and at their weights; fit them again"
            )

    @cached_property
    def penalty(self) -> Floats:
        """(D, D): A before the first vote."""
        return np.asarray(np.linalg.inv(self.inverse), np.float64) - self.square(self.counts)

    def square(self, counts: Any) -> Floats:
        """(D, D): the sum of r r' over the given number of votes of each type."""
        weighed = self.R * counts[:, None] if isinstance(self.R, np.ndarray) else self.R.multiply(counts[:, None])
        square = self.R.T @ weighed
        return np.asarray(square if isinstance(square, np.ndarray) else square.toarray(), np.float64)

    def gap(self, one: int, other: int) -> Floats:
        """(D,): the row of an item less that of another."""
        difference: Floats = (self.X[[one]] - self.X[[other]]).toarray()[0]
        return difference

    @cached_property
    def leverage(self) -> Floats:
        """(T,): r'A^-1 r of each type of vote; 0 where that would take too long, since it only decides what is next."""
        if isinstance(self.R, np.ndarray):
            return np.asarray(np.einsum("td,td->t", self.R @ self.inverse, self.R), np.float64)
        if self.R.nnz * self.R.shape[1] > _WORK:
            return np.zeros(self.R.shape[0])
        parts = [self.R[k : k + _ROWS] for k in range(0, self.R.shape[0], _ROWS)]
        return np.concatenate([np.asarray(part.multiply(part @ self.inverse).sum(axis=1)).ravel() for part in parts])

    def row(self, kind: int) -> Floats:
        """(D,): the row of a type of vote."""
        dense: Floats = self.R[kind] if isinstance(self.R, np.ndarray) else self.R[[kind]].toarray()[0]
        return dense

    def without(self, x: Floats, most: float = math.inf) -> Ints | None:
        """(T,): votes of each type to remove so that x'w < 0; None if it needs more than `most`.

        A^-1 is not copied: its steps of rank one are kept, and what they change follows.
        """
        gap, gains = float(x @ self.weights), self.R @ (self.inverse @ x)
        errors, leverage, left = self.values - self.R @ self.weights, self.leverage.copy(), self.counts.copy()
        steps: list[tuple[float, Floats]] = []
        removed = 0
        while gap >= 0:
            effects = gains * errors / np.maximum(1e-9, 1.0 - leverage)
            best = int(np.where(left > 0, effects, -np.inf).argmax())
            if left[best] == 0 or effects[best] <= 0 or removed >= most:
                return None
            n = min(int(left[best]), max(1, int(gap / effects[best] / _SHARE)))
            row = self.row(best)
            along = self.inverse @ row
            for factor, earlier in steps:
                along += factor * float(earlier @ row) * earlier
            factor = n / (1.0 - n * float(row @ along))
            lost, towards, every = factor * float(errors[best]), float(along @ x), self.R @ along
            gap -= lost * towards
            errors += lost * every
            gains += factor * towards * every
            leverage += factor * every * every
            steps.append((factor, along))
            left[best] -= n
            removed += n
        return self.counts - left

    def estimate(self, x: Floats) -> float:
        """About how many votes must leave until x'w < 0, each at its first effect."""
        effects = (self.R @ (self.inverse @ x)) * (self.values - self.R @ self.weights)
        order = np.argsort(-effects)
        order = order[effects[order] > 0]
        lost = np.cumsum(effects[order] * self.counts[order])
        enough = int(np.searchsorted(lost, float(x @ self.weights)))
        return math.inf if enough >= len(order) else float(self.counts[order[:enough]].sum())

    def voters_without(self, x: Floats) -> list[int] | None:
        """Voters to remove so that x'w < 0, each by an exact step; None if no named voters would do."""
        table = self.table
        counts, inverse, w, chosen = self.counts.astype(np.float64), self.inverse, self.weights, list[int]()
        while float(x @ w) >= 0:
            effects = ((self.R @ (inverse @ x)) * (self.values - self.R @ w))[self.places] * table.counts
            totals = np.bincount(table.voters + 1, effects, len(table.names) + 1)[1:]
            totals[chosen] = -np.inf
            if not totals.size or totals.max() <= 0:
                return None
            chosen.append(int(totals.argmax()))
            own = table.voters == chosen[-1]
            counts -= np.bincount(self.places[own], table.counts[own], counts.size)
            inverse = np.asarray(np.linalg.inv(self.penalty + self.square(counts)), np.float64)
            w = inverse @ (self.R.T @ (counts * self.values))
        return chosen


def _types(table: VoteTable) -> tuple[Ints, Ints, int]:
    """(one vote of each type, the type of each vote, their number): equal votes of all voters."""
    low, high = np.minimum(table.first, table.second), np.maximum(table.first, table.second)
    said = np.where(table.first < table.second, table.values, -table.values)
    style = [] if table.style is None else list((table.style * np.where(table.first < table.second, 1, -1)[:, None]).T)
    keys = np.rec.fromarrays([(low << 32) | high, said, table.weights, *style])
    _, found, places = np.unique(keys, return_index=True, return_inverse=True)
    return found, places, found.size


def fragility(support: Support, order: Ints, names: Callable[[int], str]) -> Fragility:
    """How few votes and voters would change a board of this order."""
    leader, table = int(order[0]), support.table
    if len(order) < 2:
        raise ValueError("a board of one item has no other leader")
    gaps = {int(k): support.gap(leader, int(k)) for k in order[1:]}
    likely = sorted(gaps, key=lambda k: support.estimate(gaps[k]))[:RIVALS]
    best, rival, found = 0, -1, None
    for k in likely:
        removal = support.without(gaps[k], best or math.inf)
        if removal is not None and (not best or removal.sum() < best):
            best, rival, found = int(removal.sum()), k, removal
    neighbours = []
    for one, other in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        removal = support.without(support.gap(one, other))
        neighbours.append(0 if removal is None else int(removal.sum()))
    people: list[int] | None = None
    for k in likely:
        some = support.voters_without(gaps[k])
        people = some if people is None or (some is not None and len(some) < len(people)) else people
    items, total = table.items, len(table)
    removed = () if found is None else tuple(
        (items[support.first[t]], items[support.second[t]], float(support.values[t]), int(found[t]))
        for t in np.argsort(-found, kind="stable").tolist() if found[t]
    )  # fmt: skip
    voters = tuple(table.names[k] for k in people or ())
    text = f"no votes could be left out that would cost {names(leader)} the first place"
    if rival >= 0:
        text = f"without {best:,} of the {total:,} votes {names(rival)} would be first, not {names(leader)}"
    if voters:
        text += f"; without {len(voters):,} of the {len(table.names):,} voters another one would be"
    return Fragility(leader, rival, best, removed, voters, tuple(neighbours), total, text)


def reasons(support: Support, one: int, other: int) -> Reasons:
    """What makes the difference of the scores of two of the board's items."""
    table, x = support.table, support.gap(one, other)
    each = (support.R @ (support.inverse @ x)) * support.values
    who, said = table.voters + 1, each[support.places] * table.counts
    people = np.asarray(np.bincount(who, said, len(table.names) + 1), np.float64)
    present = np.flatnonzero(np.bincount(who, minlength=people.size))
    columns = np.flatnonzero(x)
    gap, (kinds, shares, parts) = _adding_up(
        float(x @ support.weights), [each * support.counts, people[present], (x * support.weights)[columns]]
    )
    votes = zip(support.first.tolist(), support.second.tolist(), support.values.tolist(), support.counts.tolist(),
                kinds, strict=True)  # fmt: skip
    told = [
        (table.items[first], table.items[second], value, count, share) for first, second, value, count, share in votes
    ]
    named: list[str | None] = [None, *table.names]
    return Reasons(
        gap,
        tuple(sorted(told, key=lambda row: -abs(row[-1]))),
        tuple(sorted(zip([named[k] for k in present], shares, strict=True), key=lambda row: -abs(row[-1]))),
        tuple(sorted(zip(table.features(columns), parts, strict=True), key=lambda row: -abs(row[-1]))),
    )


def _adding_up(total: float, lists: Sequence[Floats]) -> tuple[float, list[list[float]]]:
    """The total and the parts, rounded to one grid on which sums are exact; the largest part takes what is left."""
    largest = max(1e-300, abs(total), *(float(np.abs(parts).sum()) for parts in lists))
    grid = 2.0 ** (math.ceil(math.log2(largest)) - _DIGITS)
    whole = round(total / grid)
    found = []
    for parts in lists:
        units = [round(part / grid) for part in parts.tolist()]
        if units:
            units[int(np.abs(parts).argmax())] += whole - sum(units)
        found.append([unit * grid for unit in units])
    return whole * grid, found
