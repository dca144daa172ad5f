"""The cells of a chunk of rows as the columns of a block of votes; what is wrong with a row is said by its place."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conquer.data.votes.columns import Columns
from conquer.data.votes.tables import Chunk
from conquer.data.votes.things import Things
from conquer.data.votes.vote import JUDGE, LONGEST_NAME, PERSON, VoteBlock
from conquer.data.votes.winners import Winners, how_many, one_hot_value, part_of_one

_KINDS = {
    **dict.fromkeys(("person", "human", "people", "crowd", "user"), PERSON),
    **dict.fromkeys(("judge", "llm", "ai", "model", "machine"), JUDGE),
}
_USUAL = {str, int, type(None)}


class CellReader:
    """Reads chunks of one file. It remembers which ids, winners and voters it has seen, so that most cells are known.

    `read` fills `bad` with the reasons why rows are none.
    """

    def __init__(self, columns: Columns, things: Things, kind: str) -> None:
        self.columns, self.things, self.kind = columns, things, kind
        self.winners = Winners(columns)
        self._voters: dict[Any, str | None] = {None: None, "": None}
        self.kinds: dict[str, tuple[str, int]] = {}
        """The kind of every voter seen, and the line that said it first: nobody is both a person and a judge."""

        self._mixed = False
        """Whether some voter is of another kind than voters are where no column says it."""

    def read(self, chunk: Chunk, bad: dict[int, str]) -> VoteBlock:
        """The block of all rows of the chunk; rows that are in `bad` after it hold nothing of worth."""
        columns = self.columns
        first, second = self._things(chunk, columns.first, bad), self._things(chunk, columns.second, bad)
        for k in [k for k, (one, two) in enumerate(zip(first, second, strict=True)) if one == two]:
            bad.setdefault(k, f"a thing cannot be compared with itself, got {first[k]!r:.60} twice")
        values = self._values(chunk, first, second, bad)
        voters = self._column(chunk, columns.voter, self._voter, bad, self._voters)
        kinds = self._kind_column(chunk, voters, bad)
        counts = self._column(chunk, columns.count, how_many, bad)
        weights = self._column(chunk, columns.weight, lambda cell: part_of_one("weight", cell), bad)
        strengths = self._column(chunk, columns.strength, lambda cell: part_of_one("strength", cell), bad)
        lefts = self._column(chunk, columns.left, _left, bad)
        if strengths is not None:
            given = np.array([1.0 if one is None else one for one in strengths])
            values *= np.where(np.isnan(given) | np.isinf(values), 1.0, given)  # "both bad" has no strength
        return VoteBlock(
            first,
            second,
            values,
            np.asarray(chunk.lines, np.int64),
            voters,
            kinds,
            lefts if lefts is not None or not columns.shown_left else ["first"] * len(first),
            None if columns.context is None else chunk.column(columns.context),
            None if columns.question is None else chunk.column(columns.question),
            None if counts is None else np.array([1 if one is None else one for one in counts], np.int64),
            None if weights is None else np.array([np.nan if one is None else one for one in weights]),
        )

    def _things(self, chunk: Chunk, name: str, bad: dict[int, str]) -> list[Any]:
        known = self.things.ids if self.things.kind == "ids" else {}
        return self._column(chunk, name, self.things.read, bad, known) or []

    def _column(
        self,
        chunk: Chunk,
        name: str | None,
        read: Callable[[Any], Any],
        bad: dict[int, str],
        known: dict[Any, Any] | None = None,
    ) -> list[Any] | None:
        """What each cell says; None at a bad row. `known` cells need not be read again."""
        if name is None:
            return None
        cells = chunk.column(name)
        # Lists are in no dictionary, and to a dictionary True and 1.0 are 1.
        usual = bool(known) and {*map(type, cells)} <= _USUAL
        found = [known.get(cell) for cell in cells] if known and usual else [None] * len(cells)
        for k in [k for k, value in enumerate(found) if value is None] if None in found else ():
            if k not in bad:
                try:
                    found[k] = read(cells[k])
                except ValueError as error:
                    bad[k] = str(error)
        return found

    def _values(self, chunk: Chunk, first: list[Any], second: list[Any], bad: dict[int, str]) -> Any:
        columns, winners = self.columns, self.winners
        values = np.ones(len(first))
        if columns.one_hot is not None:
            for k, cells in enumerate(zip(*(chunk.column(name) for name in columns.one_hot), strict=True)):
                self._put(values, k, bad, one_hot_value, *cells)
        elif columns.winner is not None:
            if self.things.kind in ("ids", "texts"):
                winners.meet((*first, *second))
            said = chunk.column(columns.winner)
            try:
                found = [winners.words.get(word) for word in said]
            except TypeError:  # things that are lists and dicts
                found = [None] * len(said)
            values = np.array(found, float)  # NaN where a word is new
            for k in [k for k, value in enumerate(found) if value is None] if None in found else ():
                self._put(values, k, bad, winners.value, said[k], first[k], second[k])
        return values

    @staticmethod
    def _put(values: Any, k: int, bad: dict[int, str], read: Callable[..., float], *cells: Any) -> None:
        if k not in bad:
            try:
                values[k] = read(*cells)
            except ValueError as error:
                bad[k] = str(error)

    def _voter(self, cell: Any) -> str | None:
        name = str(cell).strip() if isinstance(cell, str | int) and not isinstance(cell, bool) else cell
        if name is None or name == "":
            return None
        if not isinstance(name, str):
            raise ValueError(f"a voter's name must be a string or a whole number, got {cell!r:.60}")
        if len(name) > LONGEST_NAME:
            raise ValueError(f"a voter's name has at most {LONGEST_NAME} characters, got {len(name):,}")
        self._voters[cell] = name
        return name

    def _kind_column(self, chunk: Chunk, voters: list[Any] | None, bad: dict[int, str]) -> list[str] | None:
        kinds = self._column(chunk, self.columns.kind, self._kind, bad)
        given = [self.kind] * len(chunk.lines) if kinds is None else [kind or self.kind for kind in kinds]
        known = self.kinds
        if kinds is None and not ({*(voters or ())} - known.keys() - {None}) and not self._mixed:
            voters = None  # all of them are known
        for k, voter in enumerate(voters or ()):
            if voter is not None and (voter not in known or known[voter][0] != given[k]) and k not in bad:
                before, _ = known.setdefault(voter, (given[k], chunk.lines[k]))
                self._mixed |= before != self.kind
                if before != given[k]:
                    bad[k] = f"voter {voter!r} was a {before} before and is a {given[k]} here"
        return None if kinds is None and self.kind == PERSON else given

    def _kind(self, cell: Any) -> str:
        if cell is None or cell == "":
            return self.kind
        kind = _KINDS.get(cell.strip().lower()) if isinstance(cell, str) else None
        if kind is None:
            raise ValueError(f"a voter's kind must be person or judge, got {cell!r:.60}")
        return kind


def _left(cell: Any) -> str | None:
    if cell in ("first", "second"):
        return str(cell)
    if cell in (None, ""):
        return None
    raise ValueError(f"what was on the left must be first or second, got {cell!r:.60}")
