"""Items as sparse rows, and rounds of them."""

from typing import TYPE_CHECKING, Any

from conquer.rows.sparse import SparseRows, as_rows, stack

if TYPE_CHECKING:
    from conquer.rows.rounds import Rounds

__all__ = ["Rounds", "SparseRows", "as_rows", "stack"]


def __getattr__(name: str) -> Any:
    """Import `Rounds` when it is first used: a learner needs rows alone."""
    if name != "Rounds":
        raise AttributeError(f"module 'conquer.rows' has no attribute {name!r}")
    from conquer.rows.rounds import Rounds

    globals()[name] = Rounds
    return Rounds
