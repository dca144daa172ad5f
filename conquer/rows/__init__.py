"""Items as sparse rows, and rounds of them."""

from conquer.rows.rounds import Rounds
from conquer.rows.sparse import SparseRows, as_rows, stack

__all__ = ["Rounds", "SparseRows", "as_rows", "stack"]
