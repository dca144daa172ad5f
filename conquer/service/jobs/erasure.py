"""Removing a person: their rows are emptied in place, and the model is folded again without them."""

from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, delete, select, update

from conquer.service.http.keys import server_secret, voter_mark
from conquer.service.log.records import Decision, Erased, Erasure, decoded, encoded
from conquer.service.log.statistics import read_tally
from conquer.service.log.transaction import Turn
from conquer.service.store import snapshots
from conquer.service.store.schema import leases, log, pruned

_json = msgspec.json.Encoder().encode
_COLUMNS = (log.c.position, log.c.kind, log.c.event_id, log.c.body)
_EMPTY = (
    update(log)
    .where(log.c.model_id == bindparam("model"), log.c.position == bindparam("at_position"))
    .values(kind="erased", event_id=None, voter=None, body=bindparam("text"))
)


class Gone(msgspec.Struct):
    """What became of a person: rows emptied and unlearnt, and learnt answers that stay because their rows are pruned.

    `remaining` counts answers of theirs, or to rounds made for them, that are past their retention: the weights still
    hold what those taught, under no name.
    """

    rows: int
    remaining: int


def erase_voter(turn: Turn, voter: str) -> Gone:
    """Empty every row that names the voter, and what others said about rounds made for them."""
    turn.flush()
    connection, model = turn.connection, turn.folded.id
    rows = _rows(turn, voter)
    # A correction is about an answer of the same voter and goes with it.
    if rows:
        values = [{"model": model, "at_position": row.position, "text": _rest(row)} for row in rows]
        connection.execute(_EMPTY, values)
    connection.execute(delete(leases).where(leases.c.model_id == model, leases.c.voter == voter))
    named = _unname(turn, voter)
    if rows or named:
        # Rows up to the base are part of no fold any more; a name that came with it is in every snapshot since.
        first = turn.base + 1 if named else max(turn.base + 1, rows[0].position)
        turn.append(Erasure(first, len(rows)), None)
        turn.refold(first)
    mark = voter_mark(server_secret(connection), model, voter)
    left = connection.execute(select(pruned.c.answers).where(pruned.c.model_id == model, pruned.c.voter == mark))
    return Gone(len(rows), left.scalar() or 0)


def _rows(turn: Turn, voter: str) -> list["Row[Any, Any, Any, Any]"]:
    connection, model = turn.connection, turn.folded.id
    own = connection.execute(select(*_COLUMNS).where(log.c.model_id == model, log.c.voter == voter)).all()
    asked = [row.event_id for row in own if row.kind == "choose"]
    rows = {row.position: row for row in own}
    for start in range(0, len(asked), 500):
        found = connection.execute(
            select(*_COLUMNS).where(log.c.model_id == model, log.c.event_id.in_(asked[start : start + 500]))
        )
        rows |= {row.position: row for row in found}
    return [rows[position] for position in sorted(rows)]


def _unname(turn: Turn, voter: str) -> bool:
    """Take the name out of the snapshot that stands for pruned rows; whether it was there."""
    model, base = turn.folded.id, turn.base
    if not snapshots.exists(turn.connection, model, base):
        return False
    learner, text = turn.build(turn.folded.settings, snapshots.read(turn.connection, model, base))
    tally = read_tally(text) if text else None
    if tally is None or not tally.forget(voter):
        return False
    pieces = snapshots.pieces(learner.dumps(_json(tally).decode()))
    snapshots.replace(turn.connection, model, base, pieces, turn.now)
    return True


def _rest(row: "Row[Any, Any, Any, Any]") -> str:
    chosen = decoded(row.kind, row.body)
    return encoded(Erased(chosen.ordinal if isinstance(chosen, Decision) else None))
