"""The votes of a fit read once more, as a table: who preferred what."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.boards.fragility import Support, VoteTable
from conquer.fitting.parts import PartTask, item_name
from conquer.fitting.vote_sums import RowMaker
from conquer.items import has_parts
from conquer.rows import SparseRows
from conquer.session.votes import support_of
from conquer.types import Floats, Ints

if TYPE_CHECKING:
    from conquer.session import Session

_VOTES = 4096
_COLUMNS = ("first", "second", "values", "weights", "counts", "voters")


def vote_table(tasks: Sequence[PartTask], maker: RowMaker | None, ids: Sequence[Any], dim: int) -> VoteTable:
    """The table of all parts. `ids`: the items in the order of their columns, or of `maker`'s items."""
    places = {name: place for place, name in enumerate(ids)}
    voters: dict[str, int] = {}
    contents: list[Any] = []
    parts: list[list[Any]] = [[] for _ in _COLUMNS]
    styles: list[Floats] = []
    for task in tasks:
        for block in task.reading().blocks():
            for column, items in zip(parts, (block.first, block.second), strict=False):
                names = items if ids else [item_name(item) for item in items]
                if not ids:
                    for name, item in zip(names, items, strict=True):
                        if places.setdefault(name, len(contents)) == len(contents):
                            contents.append(item)
                column.append(np.array([places[name] for name in names], np.int64))
            size = len(block)
            if block.style is not None:
                styles.append(block.style)
            weights = np.ones(size) if block.weights is None else np.where(np.isnan(block.weights), 1.0, block.weights)
            who = np.full(size, -1) if block.voters is None else np.array(
                [-1 if name is None else voters.setdefault(name, len(voters)) for name in block.voters], np.int64
            )  # fmt: skip
            for column, values in zip(parts[2:], (block.values, weights, block.numbers, who), strict=True):
                column.append(values)
    arrays: list[Any] = [np.concatenate(column) for column in parts]
    if maker is None:
        rows = SparseRows(np.arange(len(ids) + 1), np.arange(len(ids)), np.ones(len(ids)), dim)
    else:
        rows = maker.rows(list(ids)) if ids else replace(maker, items=None).rows(contents)
        contents = contents if maker.items is None else list(maker.items.values())
    first, second, values, weights, counts, who = arrays
    called = partial(_names, maker, ids, contents)
    style = np.concatenate(styles) if styles else None
    return VoteTable(first, second, values, weights, counts, who, tuple(voters), rows, tuple(places), style, called)


class VoteSource:
    """Gives the votes behind a session's boards; they are read when first needed, and kept."""

    def __init__(self, tasks: Sequence[PartTask], maker: RowMaker | None, ids: Sequence[Any], dim: int) -> None:
        self.tasks, self.maker, self.ids, self.dim = tasks, maker, ids, dim
        self._table: VoteTable | None = None

    @property
    def table(self) -> VoteTable:
        """The table of votes."""
        if self._table is None:
            self._table = vote_table(self.tasks, self.maker, self.ids, self.dim)
        return self._table

    def __call__(self, session: "Session", rows: SparseRows) -> Support:
        """The model beside its votes, for a board of these rows."""
        return support_of(session.learner, rows, self.table)


def left_out_error(table: VoteTable, inverse: Floats, weights: Floats) -> float:
    """The mean squared error of predicting each vote by a ridge regression on all others."""
    total, own = 0.0, table.rows.csr()
    for start in range(0, table.first.size, _VOTES):
        some = slice(start, start + _VOTES)
        R = ((own[table.first[some]] - own[table.second[some]]) * 0.5).multiply(table.weights[some, None]).tocsr()
        leverage = np.asarray(R.multiply(R @ inverse).sum(axis=1)).ravel()
        errors = (table.values[some] - R @ weights) / (1.0 - leverage)
        total += float(table.counts[some] @ np.square(errors))
    return total / len(table)


def _names(maker: RowMaker | None, ids: Sequence[Any], contents: Sequence[Any], columns: Ints) -> list[str]:
    """The names of columns: the ids themselves, or features of the items."""
    if maker is None:
        return [str(ids[column]) for column in columns.tolist()]
    found: dict[int, str] = {}
    featurizer = maker.featurizer
    for item in contents:
        if featurizer is None or len(found) == columns.size:
            break
        if isinstance(item, str | dict) and not has_parts(item):
            for name, (column, _) in featurizer.explain(item).items():
                if column in columns:
                    found.setdefault(column, name)
    return [found.get(column, f"feature {column}") for column in columns.tolist()]
