"""The style of votes beside the items' worth: a model with columns for it, and the same model without them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conquer.fitting.vote_sums import one_thread
from conquer.kernels.rounds import settings as st
from conquer.models.full import Full
from conquer.rows import SparseRows
from conquer.saving import described, rebuilt
from conquer.session import Session
from conquer.session.catalog import Catalog

StyleWeights = Mapping[str, tuple[float, float]]


def style_weights(model: Full, style: Sequence[str]) -> StyleWeights:
    """{name: (weight, standard deviation)}: what a style of 1 adds to the expected answer, which is in [-1, 1]."""
    last = slice(model.dim - len(style), None)
    weights, variances = model.w[last], model.inverse.diagonal()[last]
    return dict(zip(style, zip(weights.tolist(), np.sqrt(variances).tolist(), strict=True), strict=True))


def without_style(session: Session) -> Session:
    """The session as if its votes had been learnt without their style; the answers since then are kept.

    >>> from conquer import fit
    >>> session = fit([{"left": "tea", "right": "mug", "winner": "left"}] * 20, style=["side"])
    >>> [round(one.scores()["tea"], 1) for one in (session, without_style(session))]
    [0.3, 0.9]
    """
    learner, catalog = session.learner, session.catalog
    model: Any = getattr(learner, "model", None)
    if catalog is None or not catalog.ids_only or type(model) is not Full or learner.dim == len(catalog):
        raise ValueError("this session was not fitted with style=")
    kept, style = np.arange(len(catalog)), np.arange(len(catalog), learner.dim)
    cross, own = model.inverse[np.ix_(kept, style)], model.inverse[np.ix_(style, style)]
    with one_thread():
        # The inverse of a block of A, from the inverse of A.
        inverse = model.inverse[np.ix_(kept, kept)] - cross @ np.linalg.solve(own, cross.T)
        inverse = 0.5 * (inverse + inverse.T)
        gains = np.linalg.solve(model.inverse, model.w)
        weights = inverse @ gains[kept]
        log_det = -float(np.linalg.slogdet(inverse)[1]) - len(catalog) * float(np.log(model.lam))
        loss = model.stats[st.SUM_LOSS_H] - gains @ model.w + gains[kept] @ weights
    twin: Any = rebuilt({**described(learner), "dim": len(catalog)})
    stats = model.stats.copy()
    stats[[st.SUM_H, st.SUM_LOSS_H]] = max(0.0, log_det), max(0.0, loss)
    twin.model.restore({"weights": weights, "inverse": inverse, "stats": stats})
    plain = Session(twin, seed=session.seed, board=session.board_settings, stop=session.stop)
    rows = catalog.rows
    plain.catalog = Catalog(catalog.names, SparseRows(rows.indptr, rows.indices, rows.data, twin.dim), ids_only=True)
    return plain
