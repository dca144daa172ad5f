"""A learner's board: its model's scores and the variances of their differences, checked and put together."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from conquer.boards import Board, BoardSettings, Evidence, Width, board_of
from conquer.boards.board import board_of_mean_votes
from conquer.boards.widths import MIXINGS
from conquer.kernels.models.dual import ENTRIES, PAIRS
from conquer.kernels.rounds import settings as st
from conquer.learners.conquer import Conquer
from conquer.models.kernel import Kernel
from conquer.rows import SparseRows, as_rows
from conquer.types import Floats, ItemId


def check_board(learner: Conquer, interval: str = "proved") -> None:
    """Raise a ValueError if this learner has no board."""
    model = learner.model
    if not learner.duels:
        raise ValueError(f"{learner.name} asks about one item at a time, which does not compare items: it has no board")
    if learner.policy.reply == st.REPLY_IGNORE:
        raise ValueError(f"{learner.name} learns nothing, so it has no board")
    if not model.exact:
        raise ValueError(
            f"a board needs model='full' or model='kernel', got {type(model).__name__.lower()}: a diagonal model "
            "has no variances of differences; refit with one of these"
        )
    if isinstance(model, Kernel) and model.constants.budget > 0 and model.stats[st.LEARNT] > model.counts[PAIRS]:
        raise ValueError(
            f"a board needs all answers, and with budget={model.constants.budget} the model has forgotten some: "
            "learn them again with budget=None"
        )
    if model.constants.forget < 1.0:
        raise ValueError(
            f"a board's intervals are for answers that all weigh the same, and forget={model.constants.forget:g} keeps "
            "less of the early ones: learn them again without it"
        )
    if model.projection is not None and interval != "proved":
        raise ValueError(
            f"with projection={model.projection!r} only interval='proved' holds, got {interval!r}: the others are for "
            "weights that are linear in the answers"
        )


def board_of_learner(
    learner: Conquer,
    X: Any,
    settings: BoardSettings,
    names: Sequence[str] | None,
    groups: Sequence[str] | None,
    among: int,
    evidence: Evidence | None,
    ids: Sequence[ItemId] | None,
    explored: float,
) -> Board:
    """`Conquer.board`, in a module of its own since few learners need it."""
    check_board(learner, settings.kind)
    rows, model, answers = as_rows(X, learner.dim), learner.model, learner.answers
    answered = None
    if evidence is not None and groups is None:
        listed = names if ids is None else ids
        if listed is None or len(listed) != len(rows):
            raise ValueError(f"evidence is kept by the items' ids: give one of ids= per item, got {len(rows)} items")
        answered = evidence.among(listed)
        if not len(evidence) and answers:
            answered = None  # a learner that has learnt elsewhere: only its intervals know anything
    if settings.target == "mean vote":
        if answered is None:
            raise ValueError("mean votes need the recorded answers of a session, and no groups")
        return board_of_mean_votes(
            answered, len(rows), explored, delta=settings.delta, answers=answered.total, names=names
        )
    alone, weights = one_column_each(rows), None
    known = max(len(rows), among, touched(model) if alone else 0)
    features = None if alone or isinstance(model, Kernel) or answered is None else rows.dense()
    if groups is not None:
        if names is not None:
            raise ValueError("the names of a board of groups are the groups: give groups or names, not both")
        names, weights = shares(groups, len(rows))
        if not isinstance(model, Kernel) or model.constants.kernel == st.LINEAR:
            # The score of a mean is the mean of the scores, so very many items may be listed.
            rows, weights = averaged(weights, rows), None
    scores = learner.scores(rows)
    V, B, L = model.pairs(rows)
    if weights is not None:
        scores, V, B = weights @ scores, mean_gaps(weights, V), mean_gaps(weights, B)
    bound = settings.U
    if bound is None and (learner.U is not None or learner.rule.eta_mode != st.CONSTANT):
        bound = learner.rule.radius
    if bound is None and alone and L is not None:
        # Items of one column each, worth within [-1, 1].
        pull = L
    else:
        pull = (math.sqrt(known) if bound is None else bound) * np.sqrt(B)
    gains: tuple[tuple[float, float, float], ...] = ()
    if settings.kind == "proved" and model.projection is None:
        gains = tuple((rho, model.gain(rho), share) for rho, share in ((r or model.lam, part) for r, part in MIXINGS))
    elif settings.kind == "proved":
        # The form that projection keeps: ||w - w*||_A^2 <= lam U^2 + sum of e^2 h + 2 ln(1/delta).
        U = math.sqrt(known) if bound is None else bound
        gains = ((model.lam, model.lam * U**2 + float(model.stats[st.SUM_LOSS_H]), 1.0),)
        pull = np.zeros_like(V)
    width = Width(settings.kind, settings.delta, settings.tau2, model.lam, gains, answers)
    complete = evidence is None or len(evidence) >= answers
    return board_of(scores, V, B, pull, width, names=names, answered=answered, complete=complete, rows=features)


def one_column_each(rows: SparseRows) -> bool:
    """Whether every row has one column, as ids have."""
    own = rows.packed()
    positions = np.repeat(np.arange(len(own)), np.diff(own.indptr))
    return bool((np.bincount(positions[own.data != 0.0], minlength=len(own)) == 1).all())


def touched(model: Any) -> int:
    """The number of columns that the answers of a full or kernel model have touched."""
    if isinstance(model, Kernel):
        return int(np.unique(model.indices[: int(model.counts[ENTRIES])]).size)
    # A^-1 starts as I/lam; an answer lowers its diagonal wherever the row is not 0. The tolerance is for rounding.
    return int((model.inverse.diagonal() * model.lam < 1.0 - 1e-12).sum())


def shares(groups: Sequence[str], count: int) -> tuple[list[str], Any]:
    """(names, matrix): the groups in the order of their first items, and (G, K) each item's share in its group's mean.

    >>> names, matrix = shares(["x", "y", "x"], 3)
    >>> names, matrix.toarray().tolist()
    (['x', 'y'], [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    """
    from scipy.sparse import csr_array

    listed = list(groups)
    if len(listed) != count:
        raise ValueError(f"need one group per item, got {len(listed)} groups for {count} items")
    if bad := [group for group in listed if not isinstance(group, str) or not group]:
        raise ValueError(f"a group must be a non-empty string, got {bad[0]!r:.80}")
    names = list(dict.fromkeys(listed))
    positions = {name: position for position, name in enumerate(names)}
    own = np.array([positions[group] for group in listed])
    return names, csr_array((1.0 / np.bincount(own)[own], (own, np.arange(count))), shape=(len(names), count))


def averaged(weights: Any, rows: SparseRows) -> SparseRows:
    """The groups' mean rows."""
    means = (weights @ rows.csr()).tocsr()
    return SparseRows(means.indptr, means.indices, means.data, rows.dim)


def mean_gaps(weights: Any, squares: Floats) -> Floats:
    """(G, G): squared distances of weighted means, from those (K, K) of their points; each row of weights sums to 1."""
    mixed = weights @ (weights @ squares).T
    own = mixed.diagonal()
    gaps: Floats = np.maximum(0.0, 0.5 * (mixed + mixed.T) - 0.5 * (own[:, None] + own))
    return gaps
