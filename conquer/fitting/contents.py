"""Sums over votes between texts, dicts and vectors: each vote is a row u, and A and b are sums over rows."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conquer.data.votes import VoteBlock, VoteError
from conquer.features.featurizer import Featurizer
from conquer.rows import SparseRows, as_rows, stack
from conquer.types import Floats

_ROWS = 1024
"""Votes summed at a time. Fixed, so that the sums are the same wherever they are made."""
Where = Callable[[int], str]
"""The place of a line, in words."""


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Makes the rows of things: by a featurizer, or vectors as they are where there is none.

    `items`: what ids stand for. `contexts`: every vote's context is crossed with its two things.
    """

    dim: int
    featurizer: Featurizer | None
    items: Mapping[str, Any] | None = None
    contexts: bool = False

    def rows(self, things: list[Any], context: Any = None) -> SparseRows:
        """One row per thing."""
        if self.items is not None:
            things = [self.items[thing] for thing in things]
        if self.featurizer is None:
            return as_rows(np.array(things, np.float64), self.dim)
        return as_rows(self.featurizer(things, context), self.dim)

    def pair(self, first: list[Any], second: list[Any], contexts: list[Any] | None) -> tuple[SparseRows, SparseRows]:
        """The rows of the first things and of the second things."""
        if not self.contexts or contexts is None:
            both = self.rows([*first, *second])
        else:
            triples = zip(first, second, contexts, strict=True)
            pairs = stack([self.rows([one, two], context) for one, two, context in triples])
            both = pairs.take(np.concatenate([np.arange(0, len(pairs), 2), np.arange(1, len(pairs), 2)]))
        half = np.arange(len(first))
        return both.take(half), both.take(half + len(first))

    def block_rows(self, block: VoteBlock, some: slice, where: Where) -> tuple[SparseRows, SparseRows]:
        """`pair` of some votes of a block; what cannot be made a row is a VoteError at its line."""
        first, second = block.first[some], block.second[some]
        contexts = None if block.contexts is None else block.contexts[some]
        try:
            return self.pair(first, second, contexts)
        except (ValueError, TypeError):
            for k, line in enumerate(block.lines[some].tolist()):
                try:
                    self.pair(first[k : k + 1], second[k : k + 1], None if contexts is None else contexts[k : k + 1])
                except (ValueError, TypeError) as error:
                    raise VoteError(f"{where(line)}: {error}") from None
            raise


@dataclass(slots=True)
class Moments:
    """Sums over votes: `squares` of rho^2 u u', (D, D), or of its diagonal alone, (D,); `gains` (D,) of rho y u."""

    squares: Floats
    gains: Floats
    votes: int = 0
    seen: dict[str, Any] = field(default_factory=dict)
    """Things by name, the first ones, so that a fitted session can list them."""

    def add_block(self, block: VoteBlock, maker: RowMaker, where: Where) -> None:
        """Add the votes of a block; `where` names a line that cannot be added."""
        counts = np.ones(len(block)) if block.counts is None else block.counts.astype(float)
        weights = np.ones(len(block)) if block.weights is None else np.where(np.isnan(block.weights), 1, block.weights)
        with one_thread():
            for start in range(0, len(block), _ROWS):
                some = slice(start, start + _ROWS)
                one, two = maker.block_rows(block, some, where)
                rows = (one.csr() - two.csr()) * 0.5
                rows = rows.multiply(weights[some, None]).tocsr()
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
        """Add another part's sums."""
        self.squares += other.squares
        self.gains += other.gains
        self.votes += other.votes


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread, whose sums do not depend on how many there are, where that can be asked for."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(1):
        yield
