"""From sums to a model: A and b of all votes, one Cholesky, and the state that a learner would have learnt."""

from typing import Any

import numpy as np

from conquer.kernels.rounds import settings as st
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.model import CompiledModel
from conquer.types import Floats, Learner

_RESOLVED = 2.0**-44
"""A lam smaller than this share of A's largest entry would be lost in the sum's rounding."""


def adds(learner: Learner) -> bool:
    """Whether what the learner keeps is a sum over votes: a full model, or a diagonal one with coordinate updates."""
    model = learner.model
    if not isinstance(model, CompiledModel) or model.dim != learner.dim or model.projection is not None:
        return False
    policy = getattr(learner, "policy", None)
    if policy is None or policy.reply != st.REPLY_DUEL:
        return False
    return type(model) is Full or (type(model) is Diagonal and int(model.plan[st.UPDATE]) == st.COORDINATE)


def is_bound(learner: Learner) -> bool:
    """Whether the learner's eta is a bound made of its past errors ("theory" or "tight").

    A sum over votes knows only errors of predictions of 0, with which no bound tells two things apart.
    """
    return learner.parameters.get("eta") in ("theory", "tight")


def settle_full(model: Full, moments: Floats, gains: Floats, votes: int) -> None:
    """Give a fresh full model A = lam I + moments, b = gains. `moments` (D, D) is overwritten."""
    from scipy.linalg import lapack

    moments[np.diag_indices_from(moments)] += model.lam
    largest = float(moments.diagonal().max(initial=0.0))
    if not np.isfinite(largest) or model.lam < _RESOLVED * largest:
        raise ArithmeticError(
            f"A cannot be held in sixteen digits with lam = {model.lam:g} beside {largest:g}; {model.remedy}"
        )
    factor, failed = lapack.dpotrf(moments, lower=1)
    if failed:
        raise ArithmeticError(f"A has no Cholesky factor in sixteen digits with lam = {model.lam:g}; {model.remedy}")
    logarithm = 2.0 * float(np.log(factor.diagonal()).sum()) - model.dim * float(np.log(model.lam))
    weights, _ = lapack.dpotrs(factor, gains, lower=1)
    lower = np.tril(lapack.dpotri(factor, lower=1)[0])
    inverse = np.ascontiguousarray(lower + np.tril(lower, -1).T)
    _restore(model, {"weights": weights, "inverse": inverse}, votes, logarithm, float(gains @ weights))


def settle_diagonal(model: Diagonal, moments: Floats, gains: Floats, votes: int) -> None:
    """Give a fresh diagonal model A = lam + moments per feature, b = gains."""
    moved = np.flatnonzero((moments != 0.0) | (gains != 0.0))
    total = 1.0 / model.fresh + moments[moved]
    weights = gains[moved] / total
    logarithm = float(np.log(total * model.fresh).sum())
    inverse = np.minimum(1.0 / total, model.fresh)
    arrays = {"ids": moved.astype(np.int32), "weights": weights, "inverse": inverse}
    _restore(model, arrays, votes, logarithm, float(gains[moved] @ weights))


def _restore(model: CompiledModel, arrays: dict[str, Any], votes: int, logarithm: float, loss: float) -> None:
    """With 0 predicted before every vote the losses' sum is b'A^-1 b; ln det(A/lam) bounds the sum of widths."""
    stats = np.zeros(st.STATS_SIZE)
    stats[[st.LEARNT, st.SUM_H, st.SUM_LOSS_H]] = votes, max(0.0, logarithm), max(0.0, loss)
    model.restore({**arrays, "stats": stats})
