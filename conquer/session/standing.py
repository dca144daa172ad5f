"""A session's board and ranking: they use no round, so ordinal, ledger and tickets stay as they are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.rows import SparseRows, stack
from conquer.types import Learner

if TYPE_CHECKING:
    from conquer.session.session import Session


def known_items(session: "Session") -> tuple[list[str], SparseRows]:
    """(ids, rows) of the items that a fitted session knows."""
    known: Mapping[str, SparseRows] | None = getattr(session, "known", None)
    if not known:
        raise ValueError("this session knows no items of its own, as a fitted one does: say which to rank")
    return list(known), stack(list(known.values()))


def board_of_items(
    learner: Learner,
    names: Sequence[str],
    rows: SparseRows,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> Any:
    """The learner's board of these items, or of their groups."""
    if groups is None:
        return learner.board(rows, names=names, **options)
    if lacking := [name for name in names if name not in groups]:
        raise ValueError(f"groups must have one group for every item, got none for {lacking[0]!r:.80}")
    return learner.board(rows, groups=[groups[name] for name in names], **options)


def ranked(learner: Learner, names: Sequence[str], rows: SparseRows) -> list[str]:
    """Ids by score, best first; equal scores in the order given."""
    scores = learner.scores(rows)
    return [names[k] for k in np.argsort(-scores, kind="stable")]
