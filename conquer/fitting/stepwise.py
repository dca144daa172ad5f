"""One vote after the other, in the order of the file, for learners whose statistics are no sums."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from conquer.data.votes import Vote, VoteBlock, VoteError
from conquer.fitting.contents import RowMaker, Where
from conquer.learners.believing import believer
from conquer.rows import SparseRows
from conquer.types import Choice, Learner, Query, Source

MOST_EQUAL = 1_000_000
"""Equal votes on one line that are learnt one by one: a larger count would take hours, and is a mistake more often."""


def learn_votes(
    learner: Learner,
    blocks: Iterable[tuple[Where, VoteBlock]],
    *,
    rows: SparseRows | None,
    places: Callable[[Any], int] | None,
    maker: RowMaker | None,
    told: Callable[[int], None],
) -> None:
    """Learn every vote: things with a place among `rows`, or things whose rows are made when they come.

    Every block comes with what names its lines; a vote that cannot be learnt is a VoteError at its line.
    A learner of fixed arms knows items by their place among all of them, any other sees the two.
    """
    check(learner)
    done = 0
    for where, block in blocks:
        pairs: Any
        if maker is not None and places is None:
            one, two = maker.block_rows(block, slice(None), where)
            pairs = ((_pair(one, two, k), (0, 1)) for k in range(len(block)))
        else:
            assert rows is not None
            assert places is not None
            pairs = (
                (rows, where) if learner.fixed_arms else (rows.take(list(where)), (0, 1))
                for where in ((places(a), places(b)) for a, b in zip(block.first, block.second, strict=True))
            )
        for vote, (items, shown) in zip(block, pairs, strict=True):
            try:
                _learn(learner, items, shown, vote)
            except ValueError as error:
                raise VoteError(f"{where(vote.line)}: {error}") from None
            done += vote.count
        told(done)


def check(learner: Learner) -> None:
    """A ValueError where the learner cannot learn from votes."""
    if not learner.duels:
        raise ValueError(f"{learner.name} learns whether one item is the best; votes say which of two is better")


def _pair(one: SparseRows, two: SparseRows, k: int) -> SparseRows:
    """The k-th rows of both, which are views of one table."""
    return one.view(np.array([one.rows[k], two.rows[k]]))


def _learn(learner: Learner, items: SparseRows, shown: tuple[int, int], vote: Vote) -> None:
    heeded = believer(learner) is not None
    if vote.count > MOST_EQUAL:
        raise ValueError(
            f"{vote.count:,} equal votes; {learner.name} with the {learner.parameters.get('model')} model learns one "
            f"by one, at most {MOST_EQUAL:,} on a line"
        )
    if vote.weight is not None and vote.weight != 1.0 and not heeded:
        if learner.parameters.get("model") == "kernel" or learner.fixed_arms:
            raise ValueError(f"weights need a model whose rows can be scaled, not {learner.name}'s")
        scaled = items.packed()
        items = SparseRows(scaled.indptr, scaled.indices, scaled.data * vote.weight, scaled.dim)
    choice = Choice(shown, Query.DUEL, 0, {"chance": None, "notes": {}})
    try:
        for _ in range(vote.count):
            if heeded:
                side = 0 if vote.left is None else 1 if vote.left == "first" else -1
                learner.learn(items, choice, vote.value, Source(vote.voter, side, vote.kind, vote.weight))
            else:
                learner.learn(items, choice, vote.value)
    except KeyError as error:
        raise ValueError(
            f"{learner.name} learns from its own choices only: it remembers {error} of each; votes do not have it"
        ) from None
