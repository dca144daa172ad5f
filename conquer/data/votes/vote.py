"""A vote: two things, who won, and who said so; and a block of votes as columns, for what must be fast."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conquer.types import Floats, Ints

LONGEST_NAME = 200
"""Characters of a voter's name or of an id: a longer one is a text or an attack."""
PERSON, JUDGE = "person", "judge"
_REMEMBERED = 20


class VoteError(ValueError):
    """A vote, or a file of votes, that cannot be taken; says which file and line."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote. `value`: +1 the first won, -1 the second, 0 a tie, or a strength between.

    `left` says which of the two was on the left-hand side, None where nobody knows. `count` votes like this were given.
    `weight` in [0, 1] says how far the voter is to be believed; None: as far as all others.
    """

    first: Any
    second: Any
    value: float
    voter: str | None = None
    kind: str = PERSON
    left: str | None = None
    context: Any = None
    line: int = 0
    count: int = 1
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class VoteBlock:
    """Many votes as columns of one length; a column that is None says the usual of every vote."""

    first: list[Any]
    second: list[Any]
    values: Floats
    lines: Ints
    voters: list[str | None] | None = None
    kinds: list[str] | None = None
    lefts: list[str | None] | None = None
    contexts: list[Any] | None = None
    questions: list[Any] | None = None
    counts: Ints | None = None
    weights: Floats | None = None
    """NaN where a vote has none."""

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[Vote]:
        for k in range(len(self.first)):
            weight = None if self.weights is None else float(self.weights[k])
            yield Vote(
                self.first[k],
                self.second[k],
                float(self.values[k]),
                None if self.voters is None else self.voters[k],
                PERSON if self.kinds is None else self.kinds[k],
                None if self.lefts is None else self.lefts[k],
                None if self.contexts is None else self.contexts[k],
                int(self.lines[k]),
                1 if self.counts is None else int(self.counts[k]),
                None if weight is None or np.isnan(weight) else weight,
            )


@dataclass(slots=True)
class Found:
    """What a reading has come across: votes taken, the ties among them, what was not learnt, and why rows were refused.

    All but `refused`, which are rows, count several equal votes on one line as several.
    """

    votes: int = 0
    ties: int = 0
    skips: int = 0
    both_bad: int = 0
    refused: int = 0
    passed: int = 0
    """Answers of a ledger that its service did not learn: late, asked again, or not about two things."""
    problems: list[str] = field(default_factory=list)

    def refuse(self, problem: str, rows: int = 1) -> None:
        """Count rows that were passed over; the first problems are kept word by word."""
        self.refused += rows
        if len(self.problems) < _REMEMBERED:
            self.problems.append(problem)

    def passing(self) -> None:
        """Count an answer that is no vote."""
        self.passed += 1

    def add(self, other: "Found") -> None:
        """Add what another reading has come across."""
        for name in ("votes", "ties", "skips", "both_bad", "passed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.refused += other.refused
        self.problems = [*self.problems, *other.problems][:_REMEMBERED]

    def __str__(self) -> str:
        """In words: "12 votes, 3 of them ties; 1 skipped".

        >>> str(Found(votes=12, ties=3, skips=1))
        '12 votes, 3 of them ties; 1 skipped'
        """
        parts = {"skipped": self.skips, "both bad, not learnt": self.both_bad, "refused": self.refused,
                 "late, asked again or not about two": self.passed}  # fmt: skip
        more = "".join(f"; {count:,} {what}" for what, count in parts.items() if count)
        return f"{self.votes:,} votes, {self.ties:,} of them ties{more}"
