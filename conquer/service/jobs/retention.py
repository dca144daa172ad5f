"""Rows past their retention: a snapshot keeps what they taught, and they are deleted."""

from dataclasses import replace
from functools import partial

from sqlalchemy import Connection, delete, exists, func, select, update

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import load
from conquer.service.engine.turn import Turn
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.marks import retire
from conquer.service.store.schema import log, models

_LEAST = 1000
"""Old rows that are worth a new base."""
_SLICE = 1000
"""Rows deleted in one commit."""


def prune_all(engine: Engine, days: float, least: int = _LEAST) -> int:
    """In every model, delete rows older than `days`; returns their number.

    A failure raises the alarm `prune:MODEL`, the next success clears it.
    """
    with engine.database.reading() as connection:
        headers = {f"prune:{header.name}": header for header in log_table.all_headers(connection)}
    alarms, total = engine.alarms, 0
    for kind, _ in alarms.standing():
        if kind.startswith("prune:") and kind not in headers:
            alarms.clear(kind)
    for kind, header in headers.items():
        try:
            base = _move_base(engine, header, engine.clock() - days * 86400, least)
            total += _delete_up_to(engine, header.id, base)
            alarms.clear(kind)
        except Exception as error:
            code = getattr(error, "code", "")
            if code == "stopping":
                raise
            # Others were deleted since they were listed.
            if code != "unknown_model":
                alarms.count("prune")
                alarms.raise_(kind, f"prune failed for model {header.name!r}: {type(error).__name__}: {error}")
    return total


def _move_base(engine: Engine, header: log_table.Header, before: float, least: int) -> int:
    """Replay up to the last old row beside the engine, and let that snapshot replace the rows; returns the base."""
    with engine.database.reading(patient=True) as connection:
        last = log_table.end_of_old(connection, header.id, header.base, before, engine.clock())
        if last - header.base < least:
            return header.base
        pieces = snapshots.pieces(load(connection, header, engine.build, last).dumps())
        changes = log_table.changes(connection, header.id)

    def work(turn: Turn) -> int:
        if turn.state.id != header.id or turn.base != header.base:
            return header.base
        turn.flush()
        # The snapshot would contain what has been undone or erased since: leave it to the next run.
        if log_table.changes(turn.connection, header.id) != changes:
            return header.base
        snapshots.replace(turn.connection, header.id, last, pieces, turn.now)
        snapshots.drop(turn.connection, header.id, last=last - 1)
        turn.connection.execute(update(models).where(models.c.id == header.id).values(base=last))
        turn.header = replace(turn.header, base=last)
        for name in [name for name, event in turn.state.events.items() if event.seen <= last]:
            turn.state.drop(name)
        return last

    return int(engine.call_now(header.name, work))


def _delete_up_to(engine: Engine, model: int, base: int) -> int:
    """Delete the rows that the base replaces, a slice at a time; returns their number.

    Nothing reads these rows: loading begins at the base, and an event without a later row is over. After a crash
    between two slices the next run deletes the rest.
    """
    gone = after = 0
    while after < base:
        here = (log.c.model_id == model) & (log.c.position > after) & (log.c.position <= base)
        with engine.database.reading() as connection:
            if connection.execute(select(func.min(log.c.position)).where(here)).scalar() is None:
                return gone
        count, after = engine.call_now(None, partial(_delete_slice, model=model, after=after, base=base))
        gone += count
    return gone


def _delete_slice(connection: Connection, model: int, after: int, base: int) -> tuple[int, int]:
    """Delete the next rows, except those of events with later rows: (their number, the last position read)."""
    later = log.alias()
    wanted = exists().where(later.c.model_id == model, later.c.event_id == log.c.event_id, later.c.position > base)
    rows = connection.execute(
        select(log.c.position, log.c.kind, log.c.event_id, wanted.label("needed"))
        .where(log.c.model_id == model, log.c.position > after, log.c.position <= base)
        .order_by(log.c.position)
        .limit(_SLICE)
    ).all()
    going = [row for row in rows if not row.needed]
    retire(connection, model, [row.event_id for row in going if row.kind in ("choose", "vote")])
    positions = log.c.position.in_([row.position for row in going])
    connection.execute(delete(log).where(log.c.model_id == model, positions))
    return len(going), rows[-1].position if len(rows) == _SLICE else base
