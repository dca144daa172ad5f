"""Votes from a file or from Python, checked row by row: every vote is taken, counted as a skip, or refused by line."""

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from conquer.checks import is_real
from conquer.data.columns import plain
from conquer.data.votes.cells import CellReader
from conquer.data.votes.columns import Columns, find_columns, late_names, more_columns
from conquer.data.votes.ledgers import is_ledger, ledger_rows
from conquer.data.votes.orders import order_blocks
from conquer.data.votes.parts import DELIMITERS, FilePart
from conquer.data.votes.tables import Chunk, chunks, form_of, from_rows
from conquer.data.votes.things import ThingKind, Things, checked_things, kind_of
from conquer.data.votes.vote import JUDGE, PERSON, Found, Vote, VoteBlock, VoteError
from conquer.data.votes.winners import BOTH_BAD, Answer


class VoteReading:
    """An iterator over the votes of one file, of a part of it, or of Python rows; `found` counts what it came across.

    `blocks` gives the same votes as columns.
    """

    def __init__(
        self,
        source: FilePart | Iterable[Any],
        *,
        things: str | None = None,
        columns: Mapping[str, str] | None = None,
        kind: str = PERSON,
        known: Container[str] | None = None,
        both_bad: str = "skip",
        strict: bool = True,
    ) -> None:
        if kind not in (PERSON, JUDGE):
            raise ValueError(f"kind must be {PERSON!r} or {JUDGE!r}, got {kind!r}")
        if both_bad not in ("skip", "tie"):
            raise ValueError(f"both_bad must be 'skip' or 'tie', got {both_bad!r}")
        self.source, self.columns, self.kind, self.known = source, columns, kind, known
        self.both_bad, self.strict = both_bad, strict
        self.things: ThingKind | None = checked_things(things)
        """What the two things of a vote are, once it is known."""
        self.found = Found()
        self.kinds: dict[str, tuple[str, int]] = {}
        """The kind of every voter, and the line that said it first."""

    def __iter__(self) -> Iterator[Vote]:
        for block in self.blocks():
            yield from block

    def at(self, line: int) -> str:
        """Where a row is, in words."""
        if not isinstance(self.source, FilePart):
            return f"vote {line}"
        return f"{self.source.path}, {'row' if self.source.form == 'parquet' else 'line'} {line}"

    def blocks(self) -> Iterator[VoteBlock]:
        """The votes, some thousand at a time."""
        before = self.found.votes + self.found.skips + self.found.both_bad
        for block in self._blocks():
            counts = np.ones(len(block), np.int64) if block.counts is None else block.counts
            self.found.votes += int(counts.sum())
            self.found.ties += int(counts[block.values == 0].sum())
            if len(block):
                yield block
        part = self.source if isinstance(self.source, FilePart) else None
        whole = part is None or part.stop is None  # a range of bytes may hold a header alone
        if whole and self.found.votes + self.found.skips + self.found.both_bad == before:
            where = "votes" if part is None else part.path
            first = f": {self.found.problems[0]}" if self.found.problems else ""
            refused = f", {self.found.refused} rows refused{first}" if self.found.refused else " in it"
            raise VoteError(f"{where}: there is no vote{refused}")

    def _blocks(self) -> Iterator[VoteBlock]:
        part = self.source if isinstance(self.source, FilePart) else None
        if part is not None and part.form == "preflib":
            if self.things not in (None, "ids"):
                raise VoteError(f"{part.path}: PrefLib's alternatives are ids, got things={self.things!r}")
            self.things = "ids"
            yield from order_blocks(part.path, Things("ids", self.known))
            return
        cells: CellReader | None = None
        names: dict[str, str] = {}
        for chunk in self._chunks():
            if cells is None:
                columns = self._found(chunk)
                cells = CellReader(columns, self._things(chunk, columns), self.kind)
                self.kinds = cells.kinds
                for name in chunk.names:
                    names.setdefault(plain(name), name)
            elif late := late_names(chunk.names, names):
                names |= late
                cells.columns = self._more(chunk, cells.columns, names, list(late.values()))
            block, skips, both_bad = self._kept(chunk, cells)
            self.found.skips += skips
            self.found.both_bad += both_bad
            yield block

    def _chunks(self) -> Iterator[Chunk]:
        source = self.source
        if isinstance(source, FilePart):
            if source.form != "ledger":
                return chunks(source)
            return from_rows(ledger_rows(lambda: _rows(chunks(source)), self.found.passing))
        rows = [_as_row(row) for row in source]
        if is_ledger(rows[0] if rows else None):
            return from_rows(ledger_rows(lambda: iter(enumerate(rows, 1)), self.found.passing))
        return from_rows(iter(enumerate(rows, 1)))

    def _found(self, chunk: Chunk) -> Columns:
        try:
            return find_columns(chunk.names, self.columns)
        except ValueError as error:
            if chunk.bad and not chunk.names:
                place, reason = next(iter(chunk.bad.items()))
                raise VoteError(f"{self.at(chunk.lines[place])}: {reason}") from None
            delimited = isinstance(self.source, FilePart) and self.source.form in DELIMITERS
            first = 1 if delimited or not chunk.lines else chunk.lines[0]  # what a table lacks, its header lacks
            raise VoteError(f"{self.at(first)}: {error}") from None

    def _more(self, chunk: Chunk, columns: Columns, names: Mapping[str, str], late: list[str]) -> Columns:
        """The columns with fields that this chunk is the first to have."""
        try:
            return more_columns(columns, names.values(), late, self.columns)
        except ValueError as error:
            cells = zip(*(chunk.column(name) for name in late), strict=True)
            place = next((k for k, row in enumerate(cells) if any(cell is not None for cell in row)), 0)
            raise VoteError(f"{self.at(chunk.lines[place])}: {error}") from None

    def _things(self, chunk: Chunk, columns: Columns) -> Things:
        if self.things is None:
            some = [*chunk.column(columns.first), *chunk.column(columns.second)]
            self.things = "ids" if self.known is not None else kind_of(some, columns.maybe_texts)
        return Things(self.things, self.known)

    def _kept(self, chunk: Chunk, cells: CellReader) -> tuple[VoteBlock, int, int]:
        """The chunk's votes, and how many were skips and both bad."""
        bad = dict(chunk.bad)
        block = cells.read(chunk, bad)
        if bad and self.strict:
            place = min(bad)
            raise VoteError(f"{self.at(chunk.lines[place])}: {bad[place]}")
        for place in sorted(bad):
            self.found.refuse(f"{self.at(chunk.lines[place])}: {bad[place]}")
        values = block.values
        whole = np.ones(len(block), bool)
        whole[list(bad)] = False
        both = whole & (values == BOTH_BAD)
        if self.both_bad == "tie":
            values[both] = 0.0
            both[:] = False
        skips = whole & np.isnan(values)
        keep = whole & ~both & ~skips
        counts = np.ones(len(block), np.int64) if block.counts is None else block.counts
        kept = block if keep.all() else _taken(block, np.flatnonzero(keep))
        return kept, int(counts[skips].sum()), int(counts[both].sum())


def _taken(block: VoteBlock, places: Any) -> VoteBlock:
    def of(column: Any) -> Any:
        if column is None or isinstance(column, np.ndarray):
            return None if column is None else column[places]
        return [column[k] for k in places]

    return VoteBlock(*(of(getattr(block, name)) for name in VoteBlock.__dataclass_fields__))


def _rows(several: Iterable[Chunk]) -> Iterator[tuple[int, Any]]:
    """The rows of chunks of JSON lines once more, each with its line."""
    for chunk in several:
        columns = {name: chunk.column(name) for name in chunk.names}
        for k, line in enumerate(chunk.lines):
            yield line, ValueError(chunk.bad[k]) if k in chunk.bad else {name: columns[name][k] for name in columns}


def _as_row(row: Any) -> Any:
    """A Python vote as a row: (first, second, winner) or a mapping. A number is one from +1 to -1."""
    if isinstance(row, Vote):
        return {"first": row.first, "second": row.second, "answer": row.value, "voter": row.voter, "kind": row.kind,
                "context": row.context, "shown_left": row.left, "count": row.count, "weight": row.weight}  # fmt: skip
    if isinstance(row, Mapping):
        return dict(row)
    if not isinstance(row, tuple | list) or len(row) != 3:
        return ValueError(f"expected (first, second, winner) or a mapping, got {row!r:.80}")
    first, second, winner = row
    return {"first": first, "second": second, "winner": Answer(winner) if is_real(winner) else winner}


def read_votes(path: str | os.PathLike[str], **options: Any) -> VoteReading:
    """A reading of one file of votes: CSV, TSV, semicolons, JSON lines, a JSON array, Parquet, PrefLib or a ledger of
    ours, plain or compressed with gzip, xz or zstandard.

    things: "ids", "texts", "dicts" or "vectors" where the file does not show it. columns: {"first": name, ...} where
    its columns have unusual names. kind: "person" or "judge" where no column says it. known: the ids that there are.
    both_bad: "skip", or "tie" to learn "both are bad" as a tie. strict: the first bad row is a VoteError; without it
    bad rows are counted and listed in `found`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     _ = path.write_text("left,right,winner,worker\\ntea,mug,left,ann\\nmug,pot,tie,bob\\n")
    ...     [(vote.first, vote.second, vote.value, vote.voter) for vote in read_votes(path)]
    [('tea', 'mug', 1.0, 'ann'), ('mug', 'pot', 0.0, 'bob')]
    """
    return VoteReading(whole_file(path), **options)


def whole_file(path: str | os.PathLike[str]) -> FilePart:
    """A file of votes as one part, of the form its first bytes tell."""
    found = Path(path)
    if not found.is_file():
        raise VoteError(f"{found} is a folder: name its files" if found.is_dir() else f"no file {found}")
    return FilePart(found, form_of(found))
