"""Removing a person: their rows are emptied in place, and the model is folded again without them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, select, update

from conquer.service.errors import unknown_model
from conquer.service.jobs.reweighing import Reweighing
from conquer.service.log.loading import SPOILT
from conquer.service.log.records import FOLD, Entry, Erased, Erasure, checksum, seal
from conquer.service.log.tallies import read_tally
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table, snapshots
from conquer.service.store.schema import leases, log, pruned
from conquer.service.store.secrecy import marks_secret, voter_mark
from conquer.service.writer.queue import Writer
from conquer.service.writer.work import Generation

_DAMAGED = tuple(kind for kind in SPOILT if kind is not MemoryError)
_json = msgspec.json.Encoder().encode
_SLICE = 500
"""Rows emptied in one turn: requests of other models come in between."""
# Not the bodies, each of which may be as large as a body may be: those are read a slice at a time.
_COLUMNS = (log.c.position, log.c.at, log.c.kind, log.c.event_id)
_EMPTY = (
    update(log)
    .where(log.c.model_id == bindparam("model"), log.c.position == bindparam("at_position"))
    .values(kind="erased", event_id=None, voter=None, body=bindparam("text"), format=FOLD, checksum=bindparam("total"))
)


class _Numbered(msgspec.Struct):
    """All that is read of a row to be emptied, whatever else is wrong with it."""

    ordinal: int | None = None


_numbered = msgspec.json.Decoder(_Numbered).decode


class Gone(msgspec.Struct):
    """What became of a person: rows emptied and unlearnt, and learnt answers that stay because their rows are pruned.

    `remaining` counts answers of theirs, or to rounds made for them, that are past their retention: the weights still
    hold what those taught, under no name.
    """

    rows: int
    remaining: int


@dataclass(slots=True)
class _Found:
    """A person's rows up to a position, in order, and the events that were made for them."""

    rows: list["Row[Any, Any, Any, Any]"]
    asked: list[str]
    up_to: int
    emptied: int = 0


def erase_person(writer: Writer, model: str, voter: str) -> tuple[Gone, Generation]:
    """Erase a voter from a model, so that others hardly wait, and then their old rows from the disk.

    Returns what became of them, and the model's id and position: it is without them once its log has been folded with
    what is there.

    Not for the writer's own threads. Rows are looked for beside the writer and emptied a slice at a time, the latest
    first: after a crash the next run finds the earliest, and folds again from there.
    """
    number, head = writer.call_now(model, lambda turn: (turn.folded.id, turn.folded.position))
    with writer.database.reading(patient=True) as connection:
        found = _found(connection, number, voter, 0, head, ())
        header = log_table.headers(connection, [model]).get(model)
    again = None
    if header is not None and header.id == number and header.settings.believe is not None and found.rows:
        # How far the others were believed rests on what this voter said: all later weights are found anew.
        again = Reweighing(writer, header, {row.position for row in found.rows})
        again.catch_up_beside(head)
        again.write_beside()

    def one_slice(turn: Turn) -> None:
        _check_same(turn, number)
        _empty(turn, found.rows[-_SLICE:])

    while len(found.rows) > _SLICE:
        writer.call_now(model, one_slice)
        # Only now has it been committed.
        del found.rows[-_SLICE:]
        found.emptied += _SLICE

    def last(turn: Turn) -> tuple[Gone, Generation]:
        _check_same(turn, number)
        return _finish(turn, voter, found, again), (number, turn.folded.position)

    gone, generation = writer.call_now(model, last)
    writer.database.scrub()
    return gone, generation


def _finish(turn: Turn, voter: str, found: _Found, again: Reweighing | None) -> Gone:
    """Empty what is left and what has come meanwhile, and have the model folded again."""
    turn.flush()
    connection, model = turn.connection, turn.folded.id
    late = _found(connection, model, voter, found.up_to, turn.folded.position, found.asked)
    rows = found.rows + late.rows
    emptied = found.emptied + len(rows)
    if again is not None:
        again.finish(turn, {row.position for row in late.rows})
    # A correction is about an answer of the same voter and goes with it.
    _empty(turn, rows)
    connection.execute(delete(leases).where(leases.c.model_id == model, leases.c.voter == voter))
    snapshots.drop_below(connection, model, turn.base)
    named = _unname(turn, voter)
    if rows or named:
        # Rows up to the base are part of no fold any more; a name that came with it is in every snapshot since.
        first = turn.base + 1 if named else max(turn.base + 1, rows[0].position)
        turn.append(Erasure(first, emptied), None)
        turn.refold(first)
    mark = voter_mark(marks_secret(connection), model, voter)
    left = connection.execute(select(pruned.c.answers).where(pruned.c.model_id == model, pruned.c.voter == mark))
    return Gone(emptied, left.scalar() or 0)


def _found(
    connection: Connection, model: int, voter: str, after: int, up_to: int, asked_before: Sequence[str]
) -> _Found:
    """The voter's rows after a position, and other people's rows of events that were made for the voter."""
    here = (log.c.model_id == model) & (log.c.position > after) & (log.c.position <= up_to)
    own = connection.execute(select(*_COLUMNS).where(here, log.c.voter == voter)).all()
    asked = [*asked_before, *(row.event_id for row in own if row.kind in ("choose", "vote"))]
    rows = {row.position: row for row in own}
    for start in range(0, len(asked), 500):
        wanted = log.c.event_id.in_(asked[start : start + 500])
        rows |= {row.position: row for row in connection.execute(select(*_COLUMNS).where(here, wanted))}
    return _Found([rows[position] for position in sorted(rows)], asked, up_to)


def _empty(turn: Turn, rows: Sequence["Row[Any, Any, Any, Any]"]) -> None:
    """Empty these rows on disk; what is cached of their events must not be answered any more."""
    turn.flush()
    model = turn.folded.id
    for start in range(0, len(rows), _SLICE):
        part = rows[start : start + _SLICE]
        # A choice leaves its ordinal.
        chosen = log_table.bodies(turn.connection, model, [row.position for row in part if row.kind == "choose"])
        ordinals = {position: _ordinal(body) for position, body in chosen}
        turn.connection.execute(_EMPTY, [_rest(model, row, ordinals.get(row.position)) for row in part])
        for row in part:
            turn.folded.drop(row.event_id)


def _rest(model: int, row: "Row[Any, Any, Any, Any]", ordinal: int | None) -> dict[str, Any]:
    """What stays of a row."""
    entry = Entry(row.position, row.at, None, None, Erased(ordinal))
    seal(entry)
    return {"model": model, "at_position": row.position, "text": entry.text.decode(), "total": checksum(entry)}


def _ordinal(body: str) -> int | None:
    try:
        return _numbered(body).ordinal
    except (msgspec.DecodeError, RecursionError):
        # A damaged row can be erased too.
        return None


def _check_same(turn: Turn, model: int) -> None:
    if turn.folded.id != model:
        raise unknown_model(turn.folded.name)


def _unname(turn: Turn, voter: str) -> bool:
    """Take the name out of the snapshot that stands for pruned rows; whether it was there, or may have been."""
    model, base = turn.folded.id, turn.base
    if not snapshots.exists(turn.connection, model, base):
        return False
    try:
        learner, text = turn.build(turn.folded.settings, snapshots.read(turn.connection, model, base))
        tally = read_tally(text) if text else None
    except _DAMAGED:
        # Nobody can say that the name is not in it.
        snapshots.drop(turn.connection, model, base)
        return True
    named = learner.forget(voter)
    if tally is None or not (tally.forget(voter) or named):
        return False
    pieces = snapshots.pieces(learner.dumps(_json(tally).decode()))
    snapshots.replace(turn.connection, model, base, pieces, turn.now)
    return True
