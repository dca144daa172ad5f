"""Sums over votes, the sufficient statistics of additive models: pairs of ids, or rows of features."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conquer.data.compression import DataError
from conquer.data.votes import VoteBlock, VoteReading
from conquer.features.featurizer import Featurizer
from conquer.rows import SparseRows, as_rows, stack
from conquer.types import Floats, Ints, ItemId

_ORDERED, _DENSE = 1 << 21, 0.05
"""Ranked items of the orders that are summed at a time, and the share of the items from which they are dense."""
_ROWS = 1024
"""Votes summed at a time; fixed, so that the sums are the same on every machine."""
Where = Callable[[int], str]
"""The place of a line, for messages."""


def _weights(block: VoteBlock) -> Floats:
    return np.ones(len(block)) if block.weights is None else np.where(np.isnan(block.weights), 1.0, block.weights)


def _binned(places: Ints, values: Floats, count: int) -> Floats:
    """(count,): the sum of the values at each place, in their order."""
    return np.bincount(places, values, count).astype(np.float64, copy=False)


@dataclass(slots=True)
class PairCounts:
    """Sums over votes between ids, which are numbered in the order of their first appearance.

    `pairs` are ascending keys low * 2**32 + high of positions in `names`, `squares` the sum of rho^2 of each pair, and
    `gains` (one per name) the sum of +-rho y / 2. Without weights and strengths they are exact in any order.
    """

    names: dict[ItemId, int] = field(default_factory=dict)
    pairs: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    squares: Floats = field(default_factory=lambda: np.empty(0))
    gains: Floats = field(default_factory=lambda: np.empty(0))
    votes: int = 0

    def add_block(self, block: VoteBlock) -> None:
        """Add the votes of a block between ids."""
        first, second = self.places(block.first), self.places(block.second)
        weights, counts = _weights(block), block.numbers
        unique, where = np.unique(_keys(first, second), return_inverse=True)
        self._add_pairs(unique, _binned(where, counts * weights * weights, unique.size))
        gains = 0.5 * counts * weights * block.values
        self.gains = self.gains + _binned(first, gains, len(self.names))
        self.gains -= _binned(second, gains, len(self.names))
        self.votes += int(counts.sum())

    def add_orders(self, reading: VoteReading) -> None:
        """Add all pairs of the orders of a PrefLib file, at once: n ranked items are n (n - 1) / 2 votes a person."""
        some: list[tuple[Ints, int]] = []
        size, tally = 0, reading.tally
        for _, ids, people, groups in reading.orders():
            places, count = self.places(ids), len(ids)
            ties = np.bincount(groups)
            below = count - np.cumsum(ties)
            above = np.cumsum(ties) - ties
            self.gains[places] += 0.5 * people * (below - above)[groups]
            tally.votes += people * count * (count - 1) // 2
            tally.ties += people * int((ties * (ties - 1) // 2).sum())
            some.append((places, people))
            size += count
            if size > _ORDERED:
                self._add_orders(some)
                some, size = [], 0
        self._add_orders(some)
        self.votes = tally.votes

    def _add_orders(self, orders: list[tuple[Ints, int]]) -> None:
        """Add the numbers of people who ranked both items of a pair."""
        from scipy.sparse import csr_array, triu

        if not orders:
            return
        sizes = [places.size for places, _ in orders]
        people = np.repeat([float(count) for _, count in orders], sizes)
        places, starts = np.concatenate([places for places, _ in orders]), np.cumsum([0, *sizes])
        shape = len(orders), len(self.names)
        ranked, weighed = (csr_array((data, places, starts), shape=shape) for data in (np.ones(places.size), people))
        if places.size > _DENSE * shape[0] * shape[1] and shape[0] * shape[1] <= _ORDERED * 8:
            with one_thread():
                both: Any = np.triu(ranked.toarray().T @ weighed.toarray(), 1)
            low, high = np.nonzero(both)
            counts = both[low, high]
        else:
            both = triu(ranked.T @ weighed, 1).tocoo()
            low, high, counts = both.row.astype(np.int64), both.col.astype(np.int64), both.data
        self._add_pairs((low << 32) | high, counts)

    def places(self, ids: list[ItemId]) -> Ints:
        """The position of each id; new ones are appended."""
        names = self.names
        found = [names.get(name, -1) for name in ids]
        if -1 in found:
            found = [names.setdefault(name, len(names)) for name in ids]
        if len(names) > self.gains.size:
            self.gains = np.concatenate([self.gains, np.zeros(len(names) - self.gains.size)])
        return np.array(found, np.int64)

    def _add_pairs(self, pairs: Ints, squares: Floats) -> None:
        self.pairs, where = np.unique(np.concatenate([self.pairs, pairs]), return_inverse=True)
        self.squares = _binned(where, np.concatenate([self.squares, squares]), self.pairs.size)

    def frequent(self, most: int) -> list[ItemId]:
        """The `most` ids that are in most votes; of equal ones the first."""
        count = len(self.names)
        votes = _binned(self.pairs >> 32, self.squares, count) + _binned(self.pairs & 0xFFFFFFFF, self.squares, count)
        names = list(self.names)
        return [names[k] for k in np.argsort(-votes, kind="stable")[:most]]

    def add(self, other: "PairCounts") -> None:
        """Add the sums of another part, whose new names are appended."""
        places = self.places(list(other.names))
        self._add_pairs(_keys(places[other.pairs >> 32], places[other.pairs & 0xFFFFFFFF]), other.squares)
        self.gains[places] += other.gains
        self.votes += other.votes

    def laplacian(self, count: int) -> tuple[Any, Floats]:
        """(L, g) for `count` items: the sums of rho^2 u u' and of rho y u over votes, u = (e_first - e_second) / 2."""
        from scipy.sparse import coo_array

        low, high = self.pairs >> 32, self.pairs & 0xFFFFFFFF
        quarter = self.squares / 4.0
        diagonal = _binned(low, quarter, count) + _binned(high, quarter, count)
        own = np.arange(count)
        values = np.concatenate([diagonal, -quarter, -quarter])
        places = np.concatenate([own, low, high]), np.concatenate([own, high, low])
        gains = np.zeros(count)
        gains[: self.gains.size] = self.gains
        return coo_array((values, places), shape=(count, count)).tocsr(), gains


def _keys(first: Ints, second: Ints) -> Ints:
    keys: Ints = (np.minimum(first, second) << 32) | np.maximum(first, second)
    return keys


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Makes rows of items: with a featurizer, or of vectors as they are.

    `items` are the items of ids. `contexts`: the context of each vote is crossed with its two items.
    """

    dim: int
    featurizer: Featurizer | None
    items: Mapping[ItemId, Any] | None = None
    contexts: bool = False

    def rows(self, items: list[Any], context: Any = None) -> SparseRows:
        """One row per item."""
        if self.items is not None:
            items = [self.items[name] for name in items]
        if self.featurizer is None:
            return as_rows(np.array(items, np.float64), self.dim)
        return as_rows(self.featurizer(items, context), self.dim)

    def pair(self, first: list[Any], second: list[Any], contexts: list[Any] | None) -> tuple[SparseRows, SparseRows]:
        """The rows of the first items and of the second items."""
        if not self.contexts or contexts is None:
            both = self.rows([*first, *second])
        else:
            triples = zip(first, second, contexts, strict=True)
            pairs = stack([self.rows([one, two], context) for one, two, context in triples])
            both = pairs.take(np.concatenate([np.arange(0, len(pairs), 2), np.arange(1, len(pairs), 2)]))
        places = np.arange(len(first))
        return both.take(places), both.take(places + len(first))

    def block_rows(self, block: VoteBlock, some: slice, where: Where) -> tuple[SparseRows, SparseRows]:
        """`pair` of some votes of a block; an item that has no row raises a DataError with its line."""
        first, second = block.first[some], block.second[some]
        contexts = None if block.contexts is None else block.contexts[some]
        try:
            return self.pair(first, second, contexts)
        except (ValueError, TypeError):
            for k, line in enumerate(block.lines[some].tolist()):
                try:
                    self.pair(first[k : k + 1], second[k : k + 1], None if contexts is None else contexts[k : k + 1])
                except (ValueError, TypeError) as error:
                    raise DataError(f"{where(line)}: {error}") from None
            raise


@dataclass(slots=True)
class Moments:
    """Sums over votes between rows: `squares` of rho^2 u u', (D, D) or its diagonal (D,), `gains` (D,) of rho y u."""

    squares: Floats
    gains: Floats
    votes: int = 0

    def add_block(self, block: VoteBlock, maker: RowMaker, where: Where) -> None:
        """Add the votes of a block; `where` names a line whose items have no rows."""
        counts, weights = block.numbers.astype(float), _weights(block)
        with one_thread():
            for start in range(0, len(block), _ROWS):
                some = slice(start, start + _ROWS)
                one, two = maker.block_rows(block, some, where)
                rows = ((one.csr() - two.csr()) * 0.5).multiply(weights[some, None]).tocsr()
                self._add_rows(rows, counts[some], block.values[some])
        self.votes += int(counts.sum())

    def _add_rows(self, rows: Any, counts: Floats, values: Floats) -> None:
        self.gains += rows.T @ (counts * values)
        if self.squares.ndim == 1:
            self.squares += rows.multiply(rows).T @ counts
        else:
            dense = rows.toarray()
            self.squares += dense.T @ (dense * counts[:, None])

    def add(self, other: "Moments") -> None:
        """Add the sums of another part."""
        self.squares += other.squares
        self.gains += other.gains
        self.votes += other.votes


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread: the same bits on any number of processors."""
    import scipy.linalg.lapack  # noqa: F401 - the limit reaches only libraries that are loaded
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
