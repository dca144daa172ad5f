"""Removing a person: their rows are emptied in place, and the model is folded again without them."""

from sqlalchemy import bindparam, delete, select, update

from conquer.service.entries import Chosen, Erased, Erasure, decoded, encoded
from conquer.service.refusals import RefusalError
from conquer.service.schema import leases, log
from conquer.service.turns import Turn

_EMPTY = (
    update(log)
    .where(log.c.model_id == bindparam("model"), log.c.position == bindparam("at_position"))
    .values(kind="erased", event_id=None, voter=None, body=bindparam("text"))
)


def erase_voter(turn: Turn, voter: str) -> int:
    """Empty every row that names the voter, and what others said about rounds made for them; return how many rows."""
    turn.flush()
    folded = turn.folded
    own = turn.connection.execute(
        select(log.c.position, log.c.kind, log.c.event_id, log.c.body)
        .where(log.c.model_id == folded.id, log.c.voter == voter)
        .order_by(log.c.position)
    ).all()
    if not own:
        return 0
    if own[0].position <= turn.base:
        raise RefusalError(409, "pruned", f"rows of {voter!r} are past their retention: only the whole model can go")
    asked = [row.event_id for row in own if row.kind == "choose"]
    rows = {row.position: row for row in own}
    for start in range(0, len(asked), 500):
        found = turn.connection.execute(
            select(log.c.position, log.c.kind, log.c.event_id, log.c.body).where(
                log.c.model_id == folded.id, log.c.event_id.in_(asked[start : start + 500])
            )
        )
        rows |= {row.position: row for row in found}
    # A correction is about an answer of the same voter and goes with it.
    turn.connection.execute(
        _EMPTY,
        [{"model": folded.id, "at_position": row.position, "text": _rest(row.kind, row.body)} for row in rows.values()],
    )
    turn.connection.execute(delete(leases).where(leases.c.model_id == folded.id, leases.c.voter == voter))
    first = min(rows)
    turn.append(Erasure(first, len(rows)), None)
    turn.refold(first)
    return len(rows)


def _rest(kind: str, body: str) -> str:
    chosen = decoded(kind, body)
    return encoded(Erased(chosen.ordinal if isinstance(chosen, Chosen) else None))
