"""What a session remembers of an offer: all that an answer needs, and after it what a repeat is compared with."""

from typing import NamedTuple

from conquer.answers import read_answer
from conquer.rows import SparseRows
from conquer.types import Choice, Query


class Pending(NamedTuple):
    """An offer without an answer: its items, the choice to learn from, and the ids shown.

    `others` are the ids of a BEST round that were not shown: naming one of them is a no.
    """

    rows: SparseRows
    choice: Choice
    shown: tuple[str, ...]
    others: tuple[str, ...] = ()


class Told(NamedTuple):
    """An answered offer, for repeats: what was asked, what was shown, and the answer."""

    query: Query
    shown: tuple[str, ...]
    value: float | None
    outside: bool = False
    ties: bool = True
    others: tuple[str, ...] = ()

    def reads(self, answer: str | float | None) -> float | None:
        """What an answer to this offer says."""
        if self.query == Query.BEST and self.value is None and answer == "both_bad":
            return None  # a file of 0.1, which took it as a skip
        return read_answer(answer, self.query, self.shown, outside=self.outside, ties=self.ties, items=self.others)
