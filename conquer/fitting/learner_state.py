"""Build the learner and set its state: solved from sums, or learnt vote by vote."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from conquer.boards.fragility import VoteTable
from conquer.data.compression import DataError
from conquer.data.votes import Vote, VoteBlock
from conquer.fitting.vote_sums import Moments, PairCounts, RowMaker, Where, one_thread
from conquer.kernels.rounds import settings as st
from conquer.learners.believer import believer
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.model import CompiledModel
from conquer.registry import find
from conquer.rows import SparseRows
from conquer.types import Choice, Floats, ItemId, Learner, Query, Source

FULL_DIM, FULL_IDS = 2048, 5000
"""The most features, and ids, for which a full model is the default: boards need one, and it takes 34 or 200 MB."""
_PAIRS, _BLOCK = 1 << 16, 512
_RESOLVED = 2.0**-44
"""A lam smaller than this share of A's largest entry would be lost in the rounding of the sum."""
_MOST_EQUAL = 1_000_000
"""Equal votes on one line that are learnt one by one; more would take hours, and are usually a mistake."""


def learner_of(
    algorithm: str, model: str | None, dim: int, parameters: Mapping[str, Any], *, ids: bool = False
) -> Learner:
    """A fresh learner. The default model is full up to FULL_DIM features, else the algorithm's own default.

    `ids`: every feature is an id. Above FULL_IDS of them there is no default.

    >>> learner_of("gnr", None, 100, {}).parameters["model"], learner_of("gnr", None, 10**6, {}).parameters["model"]
    ('full', 'diagonal')
    """
    row = find(algorithm)
    ours = row.policy is not None and "full" in row.models and "lam" in row.takes
    if model is None and ours and "update" not in parameters:
        if dim <= (FULL_IDS if ids else FULL_DIM):
            model = "full"
        elif ids:
            raise DataError(
                f"{dim:,} ids; a full model takes {FULL_IDS:,}: keep the ids with most votes by most={FULL_IDS} "
                f"(--most {FULL_IDS}), or take model='diagonal' (--model diagonal), which has no board"
            )
    learner = row.build(dim, model, **parameters)
    if not learner.duels:
        raise ValueError(f"{learner.name} learns whether one item is the best; votes say which of two is better")
    return learner


def is_additive(learner: Learner) -> bool:
    """Whether the learner's state is a sum over votes: a full model, or a diagonal one with coordinate updates.

    With forget below 1 it is not: late votes weigh more. A learner whose eta is a bound made of past errors ("theory",
    "tight") is not: sums contain only the errors of predictions of 0, from which no bound separates two items.
    """
    model = learner.model
    if not isinstance(model, CompiledModel) or model.dim != learner.dim or model.projection is not None:
        return False
    if model.constants.forget < 1.0:
        return False
    policy = getattr(learner, "policy", None)
    if policy is None or policy.reply != st.REPLY_DUEL or learner.parameters.get("eta") in ("theory", "tight"):
        return False
    return type(model) is Full or (type(model) is Diagonal and model.constants.update == st.COORDINATE)


def solve_moments(learner: Learner, sums: Moments) -> None:
    """Set a fresh learner to the state that sums over rows give."""
    with one_thread():
        _solve(learner, sums.squares, sums.gains, sums.votes)


def solve_pairs(learner: Learner, sums: PairCounts, rows: SparseRows) -> None:
    """Set a fresh learner to the state that counts of pairs of items with these rows give.

    A - lam I = X'LX and b = X'g.
    """
    matrix = rows.csr()
    laplacian, gains = sums.laplacian(len(rows))
    full = type(learner.model) is Full
    with one_thread():
        squares = _square(matrix, laplacian) if full else _diagonal(matrix, sums)
        _solve(learner, squares, np.asarray(matrix.T @ gains), sums.votes)


def solve_styled(learner: Learner, sums: PairCounts, rows: SparseRows, table: VoteTable) -> None:
    """`solve_pairs` for a full model whose last columns are the style of each vote, with weights in [-1, 1] then."""
    assert table.style is not None
    matrix, count = rows.csr(), table.style.shape[1]
    laplacian, gains = sums.laplacian(len(rows))
    own = table.rows.csr()
    R = ((own[table.first] - own[table.second]) * 0.5).multiply(table.weights[:, None]).tocsr()
    Z = table.style * table.weights[:, None]
    weighed = Z * table.counts[:, None]
    with one_thread():
        squares, total = _square(matrix, laplacian), np.asarray(matrix.T @ gains)
        squares[:, -count:] += R.T @ weighed
        squares[-count:, :-count] = squares[:-count, -count:].T
        squares[-count:, -count:] = Z.T @ weighed
        total[-count:] = weighed.T @ table.values
        _solve(learner, squares, total, sums.votes)


def _square(matrix: Any, laplacian: Any) -> Floats:
    """(D, D): X'LX, exactly symmetric."""
    if matrix.nnz > 0.1 * matrix.shape[0] * matrix.shape[1]:
        dense = matrix.toarray()
        squares = dense.T @ (laplacian @ dense)
    else:
        squares = (matrix.T @ (laplacian @ matrix)).toarray()
    return np.ascontiguousarray(0.5 * (squares + squares.T))


def _diagonal(matrix: Any, sums: PairCounts) -> Floats:
    """(D,): the sum of rho^2 u^2 over the pairs, some thousand at a time."""
    total = np.zeros(matrix.shape[1])
    low, high = sums.pairs >> 32, sums.pairs & 0xFFFFFFFF
    for start in range(0, low.size, _PAIRS):
        some = slice(start, start + _PAIRS)
        rows = (matrix[low[some]] - matrix[high[some]]) * 0.5
        total += rows.multiply(rows).T @ sums.squares[some]
    return total


def _solve(learner: Learner, squares: Floats, gains: Floats, votes: int) -> None:
    """Set A = lam I + squares and b = gains. `squares` is overwritten.

    As every vote was predicted as 0, the sum of losses is b'A^-1 b; ln det(A / lam) bounds the sum of widths.
    """
    model = learner.model
    if type(model) is Full:
        arrays, log_det, loss = _full_arrays(model, squares, gains)
    else:
        assert type(model) is Diagonal
        arrays, log_det, loss = _diagonal_arrays(model, squares, gains)
    stats = np.zeros(st.STATS_SIZE)
    stats[[st.LEARNT, st.SUM_H, st.SUM_LOSS_H]] = votes, max(0.0, log_det), max(0.0, loss)
    model.restore({**arrays, "stats": stats})
    if int(model.stats[st.LEARNT]) != votes:
        raise ArithmeticError(f"too many votes to count exactly: {votes}")


def _full_arrays(model: Full, squares: Floats, gains: Floats) -> tuple[dict[str, Any], float, float]:
    from scipy.linalg import lapack

    squares[np.diag_indices_from(squares)] += model.lam
    largest = float(squares.diagonal().max(initial=0.0))
    if not np.isfinite(largest) or model.lam < _RESOLVED * largest:
        raise ArithmeticError(
            f"A cannot be stored in sixteen digits with lam = {model.lam:g} and entries of {largest:g}; {model.remedy}"
        )
    factor, failed = lapack.dpotrf(squares, lower=1)
    if failed:
        raise ArithmeticError(f"A has no Cholesky factor in sixteen digits with lam = {model.lam:g}; {model.remedy}")
    log_det = 2.0 * float(np.log(factor.diagonal()).sum()) - model.dim * float(np.log(model.lam))
    weights, _ = lapack.dpotrs(factor, gains, lower=1)
    # Fortran's lower triangle is the upper one of the transpose, which is in C's order without a copy.
    inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0].T
    for start in range(0, model.dim, _BLOCK):
        stop = min(start + _BLOCK, model.dim)
        own = inverse[start:stop, start:stop]
        own[:] = np.triu(own) + np.triu(own, 1).T
        inverse[stop:, start:stop] = inverse[start:stop, stop:].T
    return {"weights": weights, "inverse": inverse}, log_det, float(gains @ weights)


def _diagonal_arrays(model: Diagonal, squares: Floats, gains: Floats) -> tuple[dict[str, Any], float, float]:
    moved = np.flatnonzero((squares != 0.0) | (gains != 0.0))
    total = 1.0 / model.fresh + squares[moved]
    weights = gains[moved] / total
    inverse = np.minimum(1.0 / total, model.fresh)
    arrays = {"ids": moved.astype(np.int32), "weights": weights, "inverse": inverse}
    return arrays, float(np.log(total * model.fresh).sum()), float(gains[moved] @ weights)


def learn_ids(
    learner: Learner, blocks: Iterable[tuple[Where, VoteBlock]], rows: SparseRows, places: Mapping[ItemId, int]
) -> None:
    """Learn votes between ids one by one; `places` are the positions of ids in `rows`.

    A learner of fixed arms gets all items, any other the two of the vote.
    """

    def pairs(block: VoteBlock) -> Iterable[tuple[SparseRows, tuple[int, int]]]:
        for one, two in zip(block.first, block.second, strict=True):
            pair = places[one], places[two]
            yield (rows, pair) if learner.fixed_arms else (rows.take(list(pair)), (0, 1))

    _learn_blocks(learner, blocks, lambda where, block: pairs(block))


def learn_items(learner: Learner, blocks: Iterable[tuple[Where, VoteBlock]], maker: RowMaker) -> None:
    """Learn votes between texts, dicts or vectors one by one."""

    def pairs(where: Where, block: VoteBlock) -> Iterable[tuple[SparseRows, tuple[int, int]]]:
        one, two = maker.block_rows(block, slice(None), where)  # views of one table
        for k in range(len(block)):
            yield one.view(np.array([one.rows[k], two.rows[k]])), (0, 1)

    _learn_blocks(learner, blocks, pairs)


Pairs = Callable[[Where, VoteBlock], Iterable[tuple[SparseRows, tuple[int, int]]]]
"""The rows of each vote of a block, and the positions of its two items in them."""


def _learn_blocks(learner: Learner, blocks: Iterable[tuple[Where, VoteBlock]], pairs: Pairs) -> None:
    for where, block in blocks:
        for vote, (rows, shown) in zip(block, pairs(where, block), strict=True):
            try:
                _learn(learner, rows, shown, vote)
            except ValueError as error:
                raise DataError(f"{where(vote.line)}: {error}") from None


def _learn(learner: Learner, rows: SparseRows, shown: tuple[int, int], vote: Vote) -> None:
    weighs_voters = believer(learner) is not None
    if vote.count > _MOST_EQUAL:
        raise ValueError(
            f"{vote.count:,} equal votes; {learner.name} with the {learner.parameters.get('model')} model learns one "
            f"by one, at most {_MOST_EQUAL:,} on a line"
        )
    if vote.weight is not None and vote.weight != 1.0 and not weighs_voters:
        if learner.parameters.get("model") == "kernel" or learner.fixed_arms:
            raise ValueError(f"weights need a model whose rows can be scaled, not {learner.name}'s")
        packed = rows.packed()
        rows = SparseRows(packed.indptr, packed.indices, packed.data * vote.weight, packed.dim)
    choice = Choice(shown, Query.DUEL, 0, {"chance": None, "notes": {}})
    side = 0 if vote.left is None else 1 if vote.left == "first" else -1
    source = (Source(vote.voter, side, vote.kind, vote.weight),) if weighs_voters else ()
    try:
        for _ in range(vote.count):
            learner.learn(rows, choice, vote.value, *source)
    except KeyError as error:
        raise ValueError(
            f"{learner.name} learns from its own choices only: it needs their {error}, which votes do not have"
        ) from None
