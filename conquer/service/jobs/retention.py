"""Forgetting old events: what they taught is kept as a snapshot, their rows go."""

from collections import Counter

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import load
from conquer.service.engine.turn import Turn
from conquer.service.jobs.each import each_model
from conquer.service.model.records import Answered, Expired, Voted
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.keys import marks_secret, retire, voter_mark
from conquer.service.store.schema import log, models, pruned

_LEAST = 1000
_SLICE = 1000
"""Rows deleted in one turn: requests of other models come in between."""


def prune_all(engine: Engine, days: float, least: int = _LEAST) -> int:
    """In every model, drop rows older than `days`; return how many rows went."""

    def prune(header: log_table.Header) -> int:
        base = _fold_old(engine, header, engine.clock() - days * 86400, least)
        return _delete_up_to(engine, header, base)

    return each_model(engine, "prune", prune)


def _fold_old(engine: Engine, header: log_table.Header, before: float, least: int) -> int:
    """Fold up to the last old row beside the engine, then let that snapshot stand for the rows; returns the base."""
    with engine.database.reading(patient=True) as connection:
        last = _last_old(connection, header, before, engine.clock())
        if last - header.base < least:
            return header.base
        pieces = snapshots.pieces(load(connection, header, engine.build, last).dumps())
        changes = log_table.changes(connection, header.id)
        taught = _taught(connection, header, last)

    def work(turn: Turn) -> int:
        if turn.state.id != header.id or turn.base != header.base:
            return header.base
        turn.flush()
        # What has been taken back or erased since then would be part of the snapshot: leave it to the next time.
        if log_table.changes(turn.connection, header.id) != changes:
            return header.base
        snapshots.replace(turn.connection, header.id, last, pieces, turn.now)
        snapshots.drop(turn.connection, header.id, last=last - 1)
        turn.connection.execute(update(models).where(models.c.id == header.id).values(base=last))
        turn.base = last
        _remember(turn, taught)
        for forgotten in [name for name, event in turn.state.events.items() if event.seen <= last]:
            turn.state.drop(forgotten)
        return last

    return int(engine.call_now(header.name, work))


def _delete_up_to(engine: Engine, header: log_table.Header, base: int) -> int:
    """Delete what the base stands for, a slice at a time; returns how many rows went.

    Nothing reads these rows any more: loading begins at the base, and an event without a later row is over. So a crash
    between two slices leaves rows that do no harm, and the next run deletes them.
    """

    def one_slice(turn: Turn) -> tuple[int, int]:
        if turn.state.id != header.id:
            return 0, base
        turn.flush()
        return _delete_slice(turn.connection, header.id, after, base)

    gone, after = 0, 0
    while after < base:
        with engine.database.reading() as connection:
            if _first_after(connection, header.id, after, base) is None:
                return gone
        count, after = engine.call_now(header.name, one_slice)
        gone += count
    return gone


def _first_after(connection: Connection, model: int, after: int, base: int) -> int | None:
    here = (log.c.model_id == model) & (log.c.position > after) & (log.c.position <= base)
    return connection.execute(select(log.c.position).where(here).order_by(log.c.position).limit(1)).scalar()


def _delete_slice(connection: Connection, model: int, after: int, base: int) -> tuple[int, int]:
    """Delete the next rows but those of events that have later ones; how many went, and how far this has looked."""
    later = log.alias()
    wanted = exists().where(later.c.model_id == model, later.c.event_id == log.c.event_id, later.c.position > base)
    rows = connection.execute(
        select(log.c.position, log.c.kind, log.c.event_id, wanted.label("needed"))
        .where(log.c.model_id == model, log.c.position > after, log.c.position <= base)
        .order_by(log.c.position)
        .limit(_SLICE)
    ).all()
    going = [row.position for row in rows if not row.needed]
    retire(connection, model, [row.event_id for row in rows if row.kind in ("choose", "vote") and not row.needed])
    if going:
        connection.execute(delete(log).where(log.c.model_id == model, log.c.position.in_(going)))
    return len(going), rows[-1].position if len(rows) == _SLICE else base


def _last_old(connection: Connection, header: log_table.Header, before: float, now: float) -> int:
    """The end of the stretch of old rows. A clock that was wrong for a while must not make young rows old.

    A row from the future, of a clock that was ahead, is as old as the next that is not.
    """
    young = connection.execute(
        select(func.min(log.c.position)).where(
            log.c.model_id == header.id, log.c.position > header.base, log.c.at >= before, log.c.at <= now
        )
    ).scalar()
    return header.position if young is None else young - 1


def _taught(connection: Connection, header: log_table.Header, last: int) -> Counter[str]:
    """How many answers up to `last` were learnt from each voter, or about a round that was made for them."""
    undone = log_table.undone(connection, header.id, header.base)
    found: Counter[str] = Counter()
    after = header.base
    while after < last and (rows := log_table.entries(connection, header.id, after, min(_SLICE, last - after))):
        after = rows[-1].position
        events = [row.event for row in rows if row.event is not None]
        chosen = (log.c.model_id == header.id) & (log.c.kind == "choose") & log.c.event_id.in_(events)
        asked = connection.execute(select(log.c.event_id, log.c.voter).where(chosen))
        made_for = {row.event_id: row.voter for row in asked}
        for row in rows:
            answers = isinstance(row.body, Answered | Expired | Voted) and row.position not in undone
            if answers and row.body.value is not None:
                found.update(voter for voter in {row.voter, made_for.get(row.event)} if voter is not None)
    return found


def _remember(turn: Turn, taught: Counter[str]) -> None:
    """Add to the counts that tell a person, when they are erased, what could not be unlearnt."""
    model, secret = turn.state.id, marks_secret(turn.connection)
    for voter, answers in taught.items():
        mark = voter_mark(secret, model, voter)
        here = (pruned.c.model_id == model) & (pruned.c.voter == mark)
        done = turn.connection.execute(update(pruned).where(here).values(answers=pruned.c.answers + answers))
        if not done.rowcount:
            turn.connection.execute(insert(pruned).values(model_id=model, voter=mark, answers=answers))
