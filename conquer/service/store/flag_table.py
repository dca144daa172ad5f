"""Flags among a model's rows: which of an event's are settled. Found through the index of events."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, func, select

from conquer.service.log.records import Settled
from conquer.service.store.schema import log

_settled = msgspec.json.Decoder(Settled).decode


def settled_up_to(connection: Connection, model: int, events: Sequence[str]) -> dict[str, int]:
    """The position up to which each event's flags are settled; events without a settled one are left out."""
    here = (log.c.model_id == model) & (log.c.kind == "settle")
    last = select(func.max(log.c.position)).where(here, log.c.event_id.in_(events)).group_by(log.c.event_id)
    rows = connection.execute(select(log.c.event_id, log.c.body).where(here, log.c.position.in_(last)))
    found: dict[str, int] = {}
    for row in rows:
        try:
            found[row.event_id] = _settled(row.body).flag
        except (msgspec.DecodeError, RecursionError):
            # A damaged row settles nothing.
            continue
    return found


def flags_after(connection: Connection, model: int, event: str, after: int, most: int) -> list[tuple[int, str | None]]:
    """An event's flags after a position, in order: (position, whose)."""
    rows = connection.execute(
        select(log.c.position, log.c.voter)
        .where(log.c.model_id == model, log.c.event_id == event, log.c.kind == "flag", log.c.position > after)
        .order_by(log.c.position)
        .limit(most)
    )
    return [(row.position, row.voter) for row in rows]
