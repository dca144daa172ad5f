"""A session's board and ranking: they use no round, so ordinal, ledger and tickets stay as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.boards import INTERVALS
from conquer.checks import LARGEST, number, positive
from conquer.rows import SparseRows, stack
from conquer.types import Learner

if TYPE_CHECKING:
    from conquer.session.session import Session


@dataclass(frozen=True, slots=True)
class BoardLook:
    """How a session looks at its boards, for stopping and wherever nobody says otherwise; as `Conquer.board` has them.

    >>> BoardLook(delta=0.1, U=2).stored()
    {'delta': 0.1, 'U': 2.0}
    """

    delta: float = 0.05
    U: float | None = None
    interval: str = "anytime"
    tau2: float = 0.25

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", number("delta", self.delta, 0, 1, above=True, below=True))
        object.__setattr__(self, "U", None if self.U is None else number("U", self.U, 0, LARGEST))
        object.__setattr__(self, "tau2", positive("tau2", self.tau2))
        if self.interval not in INTERVALS:
            raise ValueError(f"interval must be one of {', '.join(INTERVALS)}, got {self.interval!r}")

    def options(self) -> dict[str, Any]:
        """All of it, by name."""
        return asdict(self)

    def stored(self) -> dict[str, Any]:
        """What is not the default: nothing else is in a session's file."""
        return {name: value for name, value in asdict(self).items() if value != getattr(_USUAL, name)}


_USUAL = BoardLook()


def is_done(session: "Session", rows: SparseRows) -> bool:
    """Whether a round of these items says that one may stop."""
    if session.stop is None:
        return False
    return bool(session.learner.board(rows, **session.looks.options(), **_among(session)).stop(session.stop).done)


def _among(session: "Session") -> dict[str, int]:
    """How many items there are, for a board of some of them."""
    return {} if session.catalog is None else {"among": len(session.catalog)}


def known_items(session: "Session") -> tuple[list[str], SparseRows]:
    """(ids, rows) of the items that a fitted session knows."""
    known: Mapping[str, SparseRows] | None = getattr(session, "catalog", None)
    if not known:
        raise ValueError("this session knows no items of its own, as a fitted one does: say which to rank")
    return list(known), stack(list(known.values()))


def board_of_items(
    session: "Session",
    names: Sequence[str],
    rows: SparseRows,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> Any:
    """The learner's board of these items, or of their groups; `names` among the options stand for the ids."""
    asked = {**session.looks.options(), **_among(session), **options}
    if groups is None:
        return session.learner.board(rows, **{"names": names, **asked})
    if lacking := [name for name in names if name not in groups]:
        raise ValueError(f"groups must have one group for every item, got none for {lacking[0]!r:.80}")
    return session.learner.board(rows, groups=[groups[name] for name in names], **asked)


def ranked(learner: Learner, names: Sequence[str], rows: SparseRows) -> list[str]:
    """Ids by score, best first; equal scores in the order given."""
    scores = learner.scores(rows)
    return [names[k] for k in np.argsort(-scores, kind="stable")]
