"""Votes of other systems: two items, the winner and the voter, from a file or from Python rows.

`VoteReading` checks every row. A row is a vote, a skip, or refused with its file and line.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from conquer.checks import is_real
from conquer.data.columns import VoteColumns, check_extension, vote_columns
from conquer.data.compression import DataError, lines, name_of
from conquer.data.items import LONGEST_NAME, Content, ItemReader, checked_content, content_of
from conquer.data.ledgers import is_ledger, ledger_rows
from conquer.data.outcomes import BOTH_BAD, OutcomeReader, Strength, one_hot_value, read_count, read_share
from conquer.data.preflib import OrderError, stream_orders
from conquer.data.style import style_of
from conquer.data.tables import Chunk, FilePart, chunks, from_rows, sniff
from conquer.types import Floats, Ints, ItemId

VoterKind = Literal["person", "judge"]
PERSON: VoterKind = "person"
JUDGE: VoterKind = "judge"
_KINDS: dict[str, VoterKind] = {
    **dict.fromkeys(("person", "human", "people", "crowd", "user"), PERSON),
    **dict.fromkeys(("judge", "llm", "ai", "model", "machine"), JUDGE),
}
_LISTED_PROBLEMS = 20
_ORDER_PAIRS = 1 << 18
"""Pairs of an order that are made at a time, roughly."""
_CACHED_TYPES = {str, int, type(None)}


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote. `value`: +1 the first won, -1 the second, 0 a tie, or a strength between.

    `left` says which of the two was on the left-hand side, None if unknown. `count` equal votes were given. `weight` in
    [0, 1] is the reliability of the voter; None: like all others.
    """

    first: Any
    second: Any
    value: float
    voter: str | None = None
    kind: VoterKind = PERSON
    left: str | None = None
    context: Any = None
    line: int = 0
    count: int = 1
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class VoteBlock:
    """Many votes as columns of one length; a column that is None holds the default of `Vote` for every vote."""

    first: list[Any]
    second: list[Any]
    values: Floats
    lines: Ints
    voters: list[str | None] | None = None
    kinds: list[VoterKind] | None = None
    lefts: list[str | None] | None = None
    contexts: list[Any] | None = None
    questions: list[Any] | None = None
    counts: Ints | None = None
    weights: Floats | None = None
    """NaN where a vote has none."""
    style: Floats | None = None
    """(N, S): what else may explain each vote, of the first item less of the second."""

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

    @property
    def numbers(self) -> Ints:
        """The count of each vote."""
        return np.ones(len(self), np.int64) if self.counts is None else self.counts

    def take(self, places: Ints) -> "VoteBlock":
        """The votes at these places."""

        def taken(column: Any) -> Any:
            if column is None or isinstance(column, np.ndarray):
                return None if column is None else column[places]
            return [column[k] for k in places]

        return VoteBlock(*(taken(getattr(self, name)) for name in VoteBlock.__dataclass_fields__))


@dataclass(slots=True)
class VoteTally:
    """What a reading has found, counted in votes; `refused` counts rows, `problems` lists the first reasons.

    `left_out` are answers of a ledger that its service did not learn: late, asked again, or not about two items.
    `rarer` are votes on ids beyond the number to be kept. `notes` say what was taken from a file without being told:
    its columns, and what its items are.
    """

    votes: int = 0
    ties: int = 0
    skips: int = 0
    both_bad: int = 0
    refused: int = 0
    left_out: int = 0
    rarer: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, problem: str) -> None:
        """Count a refused row."""
        self.refused += 1
        if len(self.problems) < _LISTED_PROBLEMS:
            self.problems.append(problem)

    def add(self, other: "VoteTally") -> None:
        """Add the tally of another reading."""
        for name in ("votes", "ties", "skips", "both_bad", "refused", "left_out", "rarer"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.problems = [*self.problems, *other.problems][:_LISTED_PROBLEMS]
        self.notes = list(dict.fromkeys([*self.notes, *other.notes]))

    def __str__(self) -> str:
        """In words.

        >>> str(VoteTally(votes=12, ties=3, skips=1))
        '12 votes, 3 of them ties; 1 skipped'
        """
        parts = {"skipped": self.skips, "both bad, not learnt": self.both_bad, "refused": self.refused,
                 "not learnt by the service": self.left_out, "of rarer ids, left out": self.rarer}  # fmt: skip
        more = "".join(f"; {count:,} {what}" for what, count in parts.items() if count)
        return f"{self.votes:,} votes, {self.ties:,} of them ties{more}"


class VoteReading:
    """An iterator over the votes of a file, of a part of one, or of Python rows; `blocks` gives them as columns.

    Parameters are those of `read_votes`; votes on ids that are not among `kept` are left out, and `style`
    names what a block gives of it. `tally` counts what has been found so far; `content` says what the two items of a
    vote are, once the first rows have been read.
    """

    def __init__(
        self,
        source: FilePart | Iterable[Any],
        *,
        content: str | None = None,
        columns: Mapping[str, str] | None = None,
        kind: str = PERSON,
        known: Iterable[ItemId] | None = None,
        both_bad: str = "skip",
        strict: bool = True,
        kept: Set[ItemId] | None = None,
        style: tuple[str, ...] = (),
    ) -> None:
        if kind not in (PERSON, JUDGE):
            raise ValueError(f"kind must be {PERSON!r} or {JUDGE!r}, got {kind!r}")
        if both_bad not in ("skip", "tie"):
            raise ValueError(f"both_bad must be 'skip' or 'tie', got {both_bad!r}")
        self.source, self.columns, self.known = source, columns, known
        self.kind: VoterKind = PERSON if kind == PERSON else JUDGE
        self.both_bad, self.strict, self.kept = both_bad, strict, kept
        self.style = style
        self.content: Content | None = checked_content(content)
        self.tally = VoteTally()

    def __iter__(self) -> Iterator[Vote]:
        for block in self.blocks():
            yield from block

    def at(self, line: int) -> str:
        """The place of a row, for messages."""
        return self.source.at(line) if isinstance(self.source, FilePart) else f"vote {line}"

    def blocks(self) -> Iterator[VoteBlock]:
        """The votes, some thousand at a time."""
        tally = self.tally
        before = tally.votes + tally.skips + tally.both_bad
        for block in self._blocks():
            tally.votes += int(block.numbers.sum())
            tally.ties += int(block.numbers[block.values == 0].sum())
            if len(block):
                yield block
        part = self.source if isinstance(self.source, FilePart) else None
        entire = part is None or part.stop is None  # a range of bytes may hold a header alone
        if entire and tally.votes + tally.skips + tally.both_bad == before:
            where = "votes" if part is None else name_of(part.source)
            first = f": {tally.problems[0]}" if tally.problems else ""
            refused = f", {tally.refused} rows refused{first}" if tally.refused else ""
            raise DataError(f"{where}: no votes found{refused}")

    def _blocks(self) -> Iterator[VoteBlock]:
        part = self.source if isinstance(self.source, FilePart) else None
        if part is not None and part.form == "preflib":
            if self.content not in (None, "ids"):
                raise DataError(f"{name_of(part.source)}: PrefLib's alternatives are ids, got content={self.content!r}")
            self.content = "ids"
            if self.style:
                raise DataError(f"{name_of(part.source)}: orders of preference have no style")
            yield from self._order_blocks(part)
            return
        reader: _BlockReader | None = None
        names: dict[str, None] = {}
        for chunk in self._chunks():
            new = [name for name in chunk.names if name not in names]
            names |= dict.fromkeys(new)
            if reader is None:
                columns = self._found_columns(chunk)
                reader = _BlockReader(columns, self._item_reader(chunk, columns), self.kind, self.style)
            elif new:
                reader.columns = self._more_columns(chunk, reader.columns, list(names), new)
            yield self._votes(chunk, reader)

    def orders(self) -> Iterator[tuple[int, list[ItemId], int, Ints]]:
        """(line, ids, people, groups) of each order of a PrefLib file: what it ranks, best first, and equals' group."""
        part = self.source
        assert isinstance(part, FilePart)
        read = ItemReader("ids", self.known).read
        ids: dict[str, ItemId] = {}
        try:
            for line, names, people, groups in stream_orders(raw.decode(part.encoding) for raw in lines(part.source)):
                flat = [names[k] for group in groups for k in group]
                try:
                    people = read_count(people)
                    listed = [ids[name] if name in ids else ids.setdefault(name, read(name)) for name in flat]
                except ValueError as error:
                    raise DataError(f"{self.at(line)}: {error}") from None
                order = np.repeat(np.arange(len(groups)), list(map(len, groups)))
                if self.kept is not None:
                    inside = np.array([name in self.kept for name in listed], bool)
                    self.tally.rarer += people * (_pairs(len(listed)) - _pairs(int(inside.sum())))
                    listed, order = [name for name in listed if name in self.kept], order[inside]
                if len(listed) > 1:
                    yield line, listed, people, order
        except (OrderError, UnicodeDecodeError) as error:
            raise DataError(f"{name_of(part.source)}, {error}") from None

    def _order_blocks(self, part: FilePart) -> Iterator[VoteBlock]:
        """A person who ranks one item above another has voted for it; equals are ties, others are not compared."""
        for line, ids, people, groups in self.orders():
            step = max(1, _ORDER_PAIRS // len(ids))
            for start in range(0, len(ids) - 1, step):
                one, two = np.triu_indices(len(ids) - start, 1, len(ids) - start)
                one, two = (place[one < step] + start for place in (one, two))
                yield VoteBlock(
                    [ids[k] for k in one.tolist()],
                    [ids[k] for k in two.tolist()],
                    (groups[two] > groups[one]).astype(np.float64),
                    np.full(one.size, line, np.int64),
                    kinds=None if self.kind == PERSON else [self.kind] * one.size,
                    counts=np.full(one.size, people, np.int64),
                )

    def _chunks(self) -> Iterator[Chunk]:
        source = self.source
        if isinstance(source, FilePart):
            if source.form != "ledger":
                return chunks(source)
            return from_rows(self._ledger(lambda: (row for chunk in chunks(source) for row in chunk.rows())))
        rows = [_as_row(row) for row in source]
        if is_ledger(rows[0] if rows else None):
            return from_rows(self._ledger(lambda: iter(enumerate(rows, 1))))
        return from_rows(iter(enumerate(rows, 1)))

    def _ledger(self, rows: Callable[[], Iterator[tuple[int, Any]]]) -> Iterator[tuple[int, Any]]:
        for line, row in ledger_rows(rows):
            if row is None:
                self.tally.left_out += 1
            else:
                yield line, row

    def _found_columns(self, chunk: Chunk) -> VoteColumns:
        try:
            return vote_columns(chunk.names, self.columns)
        except ValueError as error:
            if chunk.bad and not chunk.names:
                place, reason = next(iter(chunk.bad.items()))
                raise DataError(f"{self.at(chunk.lines[place])}: {reason}") from None
            in_header = isinstance(self.source, FilePart) and self.source.form == "table"
            raise DataError(f"{self.at(1 if in_header or not chunk.lines else chunk.lines[0])}: {error}") from None

    def _more_columns(self, chunk: Chunk, before: VoteColumns, names: list[str], new: list[str]) -> VoteColumns:
        """The columns with fields that first appear in this chunk."""
        try:
            after = vote_columns(names, self.columns)
            check_extension(before, after)
        except ValueError as error:
            cells = zip(*(chunk.column(name) for name in new), strict=True)
            place = next((k for k, row in enumerate(cells) if any(cell is not None for cell in row)), 0)
            raise DataError(f"{self.at(chunk.lines[place])}: {error}") from None
        return after

    def _item_reader(self, chunk: Chunk, columns: VoteColumns) -> ItemReader:
        if self.content is None:
            some = [*chunk.column(columns.first), *chunk.column(columns.second)]
            self.content = "ids" if self.known is not None else content_of(some, columns.may_be_texts)
            example = next((f", such as {cell!r:.60}" for cell in some if isinstance(cell, str) and " " in cell), "")
            if isinstance(self.source, FilePart):
                self.tally.notes.append(
                    f"{name_of(self.source.source)}: {columns}; the items are {self.content}{example}"
                )
        return ItemReader(self.content, self.known, numbers=not isinstance(self.source, FilePart))

    def _votes(self, chunk: Chunk, reader: "_BlockReader") -> VoteBlock:
        """The votes of a chunk; refused rows, skips and both bad are counted."""
        bad = dict(chunk.bad)
        block = reader.read(chunk, bad)
        if bad and self.strict:
            place = min(bad)
            raise DataError(f"{self.at(chunk.lines[place])}: {bad[place]}")
        for place in sorted(bad):
            self.tally.refuse(f"{self.at(chunk.lines[place])}: {bad[place]}")
        values = block.values
        good = np.ones(len(block), bool)
        good[list(bad)] = False
        both = good & (values == BOTH_BAD)
        if self.both_bad == "tie":
            values[both] = 0.0
            both[:] = False
        skips = good & np.isnan(values)
        self.tally.skips += int(block.numbers[skips].sum())
        self.tally.both_bad += int(block.numbers[both].sum())
        keep = good & ~both & ~skips
        if self.kept is not None:
            pairs = zip(block.first, block.second, strict=True)
            rarer = keep & ~np.array([one in self.kept and two in self.kept for one, two in pairs], bool)
            self.tally.rarer += int(block.numbers[rarer].sum())
            keep &= ~rarer
        return block if keep.all() else block.take(np.flatnonzero(keep))


class _BlockReader:
    """Reads the chunks of one source as blocks. It caches ids, outcomes and voters, so that most cells are known."""

    def __init__(self, columns: VoteColumns, items: ItemReader, kind: VoterKind, style: tuple[str, ...]) -> None:
        self.columns, self.items, self.kind, self.style = columns, items, kind, style
        self.outcomes = OutcomeReader(columns)
        self._voters: dict[Any, str | None] = {None: None, "": None}

    def read(self, chunk: Chunk, bad: dict[int, str]) -> VoteBlock:
        """All rows of the chunk; `bad` receives the reasons of rejected rows, whose values are undefined."""
        columns = self.columns
        ids = self.items.ids if self.items.content == "ids" else {}
        first = self._column(chunk, columns.first, self.items.read, bad, ids) or []
        second = self._column(chunk, columns.second, self.items.read, bad, ids) or []
        for k in [k for k, (one, two) in enumerate(zip(first, second, strict=True)) if one == two]:
            bad.setdefault(k, f"an item cannot be compared with itself, got {first[k]!r:.60} twice")
        values = self._values(chunk, first, second, bad)
        voters = self._column(chunk, columns.voter, self._voter, bad, self._voters)
        kinds = self._column(chunk, columns.kind, self._kind, bad)
        counts = self._column(chunk, columns.count, read_count, bad)
        weights = self._column(chunk, columns.weight, lambda cell: read_share("weight", cell), bad)
        strengths = self._column(chunk, columns.strength, lambda cell: read_share("strength", cell), bad)
        lefts = self._column(chunk, columns.left, _left, bad)
        lefts = lefts if lefts is not None or not columns.shown_left else ["first"] * len(first)
        style = None
        if self.style:
            style = style_of(chunk, self.style, lefts or [None] * len(first), (columns.first, columns.second), bad)
        if kinds is None and self.kind != PERSON:
            kinds = [self.kind] * len(first)
        if strengths is not None:
            given = np.array([1.0 if one is None else one for one in strengths])
            values *= np.where(np.isnan(given) | np.isinf(values), 1.0, given)  # "both bad" has no strength
        return VoteBlock(
            first,
            second,
            values,
            np.asarray(chunk.lines, np.int64),
            voters,
            None if kinds is None else [kind or self.kind for kind in kinds],
            lefts,
            None if columns.context is None else chunk.column(columns.context),
            None if columns.question is None else _joined([chunk.column(name) for name in columns.question]),
            None if counts is None else np.array([1 if one is None else one for one in counts], np.int64),
            None if weights is None else np.array([np.nan if one is None else one for one in weights]),
            style,
        )

    def _column(
        self,
        chunk: Chunk,
        name: str | None,
        read: Callable[[Any], Any],
        bad: dict[int, str],
        cache: dict[Any, Any] | None = None,
    ) -> list[Any] | None:
        """The value of each cell, None in a bad row; cells in the `cache` are not read again."""
        if name is None:
            return None
        cells = chunk.column(name)
        # Lists cannot be keys, and as keys True and 1.0 are equal to 1.
        usable = bool(cache) and {*map(type, cells)} <= _CACHED_TYPES
        found = [cache.get(cell) for cell in cells] if cache and usable else [None] * len(cells)
        for k in [k for k, value in enumerate(found) if value is None] if None in found else ():
            if k not in bad:
                try:
                    found[k] = read(cells[k])
                except ValueError as error:
                    bad[k] = str(error)
        return found

    def _values(self, chunk: Chunk, first: list[Any], second: list[Any], bad: dict[int, str]) -> Floats:
        columns, outcomes = self.columns, self.outcomes
        values = np.ones(len(first))
        if columns.one_hot is not None:
            for k, cells in enumerate(zip(*(chunk.column(name) for name in columns.one_hot), strict=True)):
                _put(values, k, bad, one_hot_value, *cells)
        elif columns.winner is not None:
            if self.items.content in ("ids", "texts"):
                outcomes.add_names((*first, *second))
            said = chunk.column(columns.winner)
            try:
                found = [outcomes.words.get(word) for word in said]
            except TypeError:  # lists and dicts
                found = [None] * len(said)
            values = np.array(found, float)  # NaN where a word is new
            for k in [k for k, value in enumerate(found) if value is None] if None in found else ():
                _put(values, k, bad, outcomes.value, said[k], first[k], second[k])
        return values

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

    def _kind(self, cell: Any) -> VoterKind:
        if cell is None or cell == "":
            return self.kind
        kind = _KINDS.get(cell.strip().lower()) if isinstance(cell, str) else None
        if kind is None:
            raise ValueError(f"a voter's kind must be person or judge, got {cell!r:.60}")
        return kind


def _joined(columns: list[list[Any]]) -> list[Any]:
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _put(values: Floats, k: int, bad: dict[int, str], read: Callable[..., float], *cells: Any) -> None:
    if k not in bad:
        try:
            values[k] = read(*cells)
        except ValueError as error:
            bad[k] = str(error)


def _left(cell: Any) -> str | None:
    if cell in ("first", "second"):
        return str(cell)
    if cell in (None, ""):
        return None
    raise ValueError(f"the item on the left must be first or second, got {cell!r:.60}")


def _as_row(row: Any) -> Any:
    """A Python vote as a row with named fields: a Vote, a mapping, (first, second, winner) or (winner, loser)."""
    if isinstance(row, Vote):
        return {"first": row.first, "second": row.second, "answer": row.value, "voter": row.voter, "kind": row.kind,
                "context": row.context, "shown_left": row.left, "count": row.count, "weight": row.weight}  # fmt: skip
    if isinstance(row, Mapping):
        return dict(row)
    if not isinstance(row, tuple | list) or len(row) not in (2, 3):
        return ValueError(f"expected (first, second, winner), (winner, loser) or a mapping, got {row!r:.80}")
    first, second, winner = row if len(row) == 3 else (*row, "first")
    try:
        return {"first": first, "second": second, "winner": _winner(winner, first, second)}
    except ValueError as error:
        return error


def _winner(winner: Any, first: Any, second: Any) -> Any:
    """The winner of a tuple: an id, a word, or a number that is a strength.

    A whole number that is the id of one of the two items names that item. Where ids are whole numbers, any other whole
    number is refused: a strength is then a float.
    """
    if not is_real(winner):
        return winner
    if isinstance(winner, int | np.integer):
        ids = [item for item in (first, second) if isinstance(item, str | int | np.integer)]
        for item in ids:
            if str(item).strip() == str(winner):
                return item
        if any(isinstance(item, int | np.integer) for item in ids):
            raise ValueError(
                f"the winner must be {first!r} or {second!r}, a word such as 'tie', or a strength as a float, such as "
                f"1.0; got {winner!r}"
            )
    return Strength(winner)


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def read_votes(
    path: str | os.PathLike[str] | bytes,
    *,
    content: str | None = None,
    columns: Mapping[str, str] | None = None,
    kind: str = PERSON,
    known: Iterable[ItemId] | None = None,
    both_bad: str = "skip",
    strict: bool = True,
) -> VoteReading:
    """A reading of one file of votes, or of the content of one.

    The file is CSV (with commas, semicolons, tabs or bars), JSON lines, a JSON array, Parquet, PrefLib or a ledger of a
    session or a service; plain, or compressed with gzip, xz or zstandard.

    Parameters
    ----------
    content: "ids", "texts", "dicts" or "vectors", where the file does not show what the two items are.
    columns: {"first": name, ...} where columns have unusual names.
    kind: "person" or "judge", the voters where no column says it.
    known: the ids that exist; others are refused.
    both_bad: "skip", or "tie" to learn "both are bad" as a tie.
    strict: the first bad row raises a DataError; without it bad rows are counted and listed in `tally`.

    >>> [(vote.first, vote.second, vote.value, vote.voter) for vote in read_votes(
    ...     b"left,right,winner,worker\\ntea,mug,left,ann\\nmug,pot,tie,bob\\n")]
    [('tea', 'mug', 1.0, 'ann'), ('mug', 'pot', 0.0, 'bob')]
    """
    return VoteReading(
        sniff(path), content=content, columns=columns, kind=kind, known=known, both_bad=both_bad, strict=strict
    )
