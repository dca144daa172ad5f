"""Erasing a person: their rows are emptied in place, and the model is replayed without them."""

from collections.abc import Generator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, select, update

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import SPOILT
from conquer.service.engine.queue import Generation
from conquer.service.engine.turn import Turn
from conquer.service.errors import unknown_model
from conquer.service.model.records import FOLD, Entry, Erased, Erasure, checksum, seal
from conquer.service.model.tally import read_tally
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.schema import leases, log

_DAMAGED = tuple(kind for kind in SPOILT if kind is not MemoryError)
_SLICE = 500
"""Rows written in one turn."""
_WINDOW = 20_000
"""Rows searched for a voter in one slice: names have no index."""
_json = msgspec.json.Encoder().encode
_EMPTY = (
    update(log)
    .where(log.c.model_id == bindparam("model"), log.c.position == bindparam("at_position"))
    .values(body=bindparam("text"), checksum=bindparam("total"), kind="erased", event_id=None, voter=None, format=FOLD)
)
_Row = Row[Any, Any, Any, Any, Any]


class Gone(msgspec.Struct):
    """`rows` were emptied. The weights keep what pruned answers taught, under no name."""

    rows: int


def erase_person(engine: Engine, model: str, voter: str) -> Generator[None, None, tuple[Gone, Generation]]:
    """Erase a voter from a model, and their old rows from the disk. Run it as urgent long work.

    Returns the counts, and the model's id and the position of the erasure: once the model has been replayed with that
    row, it is without the voter.

    Rows are emptied a slice at a time, the latest first: after a crash the next run finds the earliest and replays from
    there.
    """
    number, head = engine.call_now(model, lambda turn: (turn.state.id, turn.state.position), reads=True)
    asked: set[str] = set()
    left: list[_Row] = []
    for start in range(0, head, _WINDOW):
        with engine.database.reading(patient=True) as connection:
            left += _search(connection, number, voter, asked, start, min(head, start + _WINDOW))
        yield
    emptied = 0

    def one_slice(turn: Turn) -> tuple[Gone, Generation] | None:
        """Empty some of the rows that are left; with the last of them, have the model replayed."""
        if turn.state.id != number:
            raise unknown_model(model)
        if len(left) > _SLICE:
            _empty(turn, left[-_SLICE:])
            return None
        turn.flush()
        # Rows that were written since the search. A correction is about an answer of the same voter, so it is found.
        rows = left + _search(turn.connection, number, voter, asked, head, turn.state.position)
        count = emptied + len(rows)
        _empty(turn, rows)
        turn.connection.execute(delete(leases).where(leases.c.model_id == number, leases.c.voter == voter))
        named = _unname(turn, voter)
        if rows or named:
            # A name in the base snapshot is in every later snapshot.
            first = turn.base + 1 if named else max(turn.base + 1, rows[0].position)
            turn.append(Erasure(first, count), None)
            turn.refold(first)
        return Gone(count), (number, turn.state.position)

    while (found := engine.call_now(model, one_slice)) is None:
        # Committed.
        del left[-_SLICE:]
        emptied += _SLICE
        yield
    yield
    engine.database.scrub()
    gone: tuple[Gone, Generation] = found
    return gone


def _search(connection: Connection, model: int, voter: str, asked: set[str], after: int, up_to: int) -> list[_Row]:
    """The rows in (after, up_to] of the voter and of events made for the voter; `asked` collects those events.

    An event's first row comes before its others, so one look in the order of the log finds them all.
    """
    # Without bodies, which may be large; those of rounds are read a few at a time.
    columns = select(log.c.position, log.c.at, log.c.kind, log.c.event_id, log.c.voter).order_by(log.c.position)
    here = (log.c.model_id == model) & (log.c.position > after) & (log.c.position <= up_to)
    found: list[_Row] = []
    for row in connection.execute(columns.where(here)):
        if row.voter == voter and row.kind in ("choose", "vote"):
            asked.add(row.event_id)
        if row.voter == voter or row.event_id in asked:
            found.append(row)
    return found


def _empty(turn: Turn, rows: Sequence[_Row]) -> None:
    """Empty these rows on disk, and drop their events from the cache."""
    turn.flush()
    model = turn.state.id
    for start in range(0, len(rows), _SLICE):
        part = rows[start : start + _SLICE]
        # A round leaves its ordinal.
        begun = log_table.begun(turn.connection, model, [row.event_id for row in part if row.kind == "choose"])
        ordinals = {event: first.ordinal for event, first in begun}
        values: list[dict[str, Any]] = []
        for row in part:
            ordinal = ordinals.get(row.event_id) if row.kind == "choose" else None
            entry = Entry(row.position, row.at, None, None, Erased(ordinal))
            seal(entry)
            values.append({"model": model, "at_position": entry.position, "text": entry.text.decode()})
            values[-1]["total"] = checksum(entry)
        turn.connection.execute(_EMPTY, values)
        for row in part:
            turn.state.drop(row.event_id)


def _unname(turn: Turn, voter: str) -> bool:
    """Remove the name from the snapshot that replaces pruned rows; whether it was there, or may have been."""
    model, base = turn.state.id, turn.base
    if not snapshots.exists(turn.connection, model, base):
        return False
    try:
        learner, text = turn.build(turn.state.settings, snapshots.read(turn.connection, model, base)[0])
        tally = read_tally(text) if text else None
    except _DAMAGED:
        # It may contain the name.
        snapshots.drop(turn.connection, model, base, base)
        return True
    named = learner.forget(voter)
    if tally is None or not (tally.forget(voter) or named):
        return False
    pieces = snapshots.pieces(learner.dumps(_json(tally).decode()))
    snapshots.replace(turn.connection, model, base, pieces, turn.now)
    return True
