"""How often each pair of things was voted on, and how: all that a model with statistics that add needs of the votes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conquer.data.votes import VoteBlock
from conquer.types import Floats, Ints


def sums(places: Ints, values: Floats, count: int) -> Floats:
    """(count,): the sum of the values at each place, in their order."""
    return np.bincount(places, values, count).astype(np.float64, copy=False)


@dataclass(slots=True)
class PairCounts:
    """Sums over votes between things known by name, in the order in which they first came.

    `pairs` are keys low * 2**32 + high of positions in `names`, rising; `squares` is the sum of rho^2 for each
    of them, `gains` (one per name) the sum of +-rho y / 2. Without weights and strengths these are exact in any order.
    """

    names: dict[str, int] = field(default_factory=dict)
    pairs: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    squares: Floats = field(default_factory=lambda: np.empty(0))
    gains: Floats = field(default_factory=lambda: np.empty(0))
    votes: int = 0

    def add_block(self, block: VoteBlock) -> None:
        """Count the votes of a block of things that are ids."""
        first, second = self.places(block.first), self.places(block.second)
        weights = np.ones(len(block)) if block.weights is None else np.where(np.isnan(block.weights), 1, block.weights)
        counts = np.ones(len(block), np.int64) if block.counts is None else block.counts
        keys = (np.minimum(first, second) << 32) | np.maximum(first, second)
        unique, where = np.unique(keys, return_inverse=True)
        self._add_pairs(unique, sums(where, counts * weights * weights, unique.size))
        halves = 0.5 * counts * weights * block.values
        self.gains = self.gains + sums(first, halves, len(self.names))
        self.gains -= sums(second, halves, len(self.names))
        self.votes += int(counts.sum())

    def places(self, things: list[str]) -> Ints:
        """The position of each thing; new ones come last."""
        names = self.names
        found = [names.get(thing, -1) for thing in things]
        if -1 in found:
            found = [names.setdefault(thing, len(names)) for thing in things]
        places = np.array(found, np.int64)
        if len(names) > self.gains.size:
            self.gains = np.concatenate([self.gains, np.zeros(len(names) - self.gains.size)])
        return places

    def _add_pairs(self, pairs: Ints, squares: Floats) -> None:
        keys = np.concatenate([self.pairs, pairs])
        self.pairs, where = np.unique(keys, return_inverse=True)
        self.squares = sums(where, np.concatenate([self.squares, squares]), self.pairs.size)

    def add(self, other: "PairCounts") -> None:
        """Add another part's sums, whose names are put after these."""
        places = self.places(list(other.names))
        low, high = places[other.pairs >> 32], places[other.pairs & 0xFFFFFFFF]
        keys = (np.minimum(low, high) << 32) | np.maximum(low, high)
        order = np.argsort(keys)
        self._add_pairs(keys[order], other.squares[order])
        self.gains[places] += other.gains
        self.votes += other.votes

    def laplacian(self, count: int) -> tuple[Any, Floats]:
        """(L, g) for `count` things: sum over votes of rho^2 u u' and of rho y u, u = (e_first - e_second) / 2."""
        from scipy.sparse import coo_array

        low, high = self.pairs >> 32, self.pairs & 0xFFFFFFFF
        quarter = self.squares / 4.0
        diagonal = sums(low, quarter, count) + sums(high, quarter, count)
        own = np.arange(count)
        cells = np.concatenate([diagonal, -quarter, -quarter])
        places = np.concatenate([own, low, high]), np.concatenate([own, high, low])
        gains = np.zeros(count)
        gains[: self.gains.size] = self.gains
        return coo_array((cells, places), shape=(count, count)).tocsr(), gains
