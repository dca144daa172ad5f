"""Forgetting old events: what they taught is kept as a snapshot, their rows go."""

from collections import Counter

from sqlalchemy import Connection, delete, func, insert, select, update

from conquer.service.http.keys import server_secret, voter_mark
from conquer.service.log.loading import load_up_to
from conquer.service.log.records import Answered, Decision, Expired
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table, snapshots
from conquer.service.store.schema import log, models, pruned
from conquer.service.writer.queue import Writer

_LEAST = 1000


def prune_all(writer: Writer, days: float, least: int = _LEAST) -> int:
    """In every model, drop rows older than `days`; return how many rows went."""
    with writer.database.reading() as connection:
        headers = log_table.all_headers(connection)
    return sum(_prune(writer, header, writer.clock() - days * 86400, least) for header in headers)


def _prune(writer: Writer, header: log_table.Header, before: float, least: int) -> int:
    """Fold up to the last old row beside the writer, then swap the rows for the snapshot in one transaction."""
    with writer.database.reading() as connection:
        last = _last_old(connection, header, before)
        if last - header.base < least:
            return 0
        pieces = snapshots.pieces(load_up_to(connection, header, writer.build, last).dumps())
        changes = log_table.changes(connection, header.id)
        taught = _taught(connection, header, last)

    def work(turn: Turn) -> int:
        if turn.folded.id != header.id or turn.base != header.base:
            return 0
        turn.flush()
        # What has been taken back or erased since then would be part of the snapshot: leave it to the next time.
        if log_table.changes(turn.connection, header.id) != changes:
            return 0
        snapshots.replace(turn.connection, header.id, last, pieces, turn.now)
        turn.connection.execute(update(models).where(models.c.id == header.id).values(base=last))
        turn.base = last
        _remember(turn, taught)
        # A question answered after the cut still needs its own row.
        later = select(log.c.event_id).where(
            log.c.model_id == header.id, log.c.position > last, log.c.event_id.is_not(None)
        )
        gone = turn.connection.execute(
            delete(log).where(
                log.c.model_id == header.id,
                log.c.position <= last,
                log.c.event_id.is_(None) | log.c.event_id.not_in(later),
            )
        )
        for forgotten in [name for name, event in turn.folded.events.items() if event.seen <= last]:
            turn.folded.drop(forgotten)
        return int(gone.rowcount)

    return int(writer.call_now(header.name, work))


def _last_old(connection: Connection, header: log_table.Header, before: float) -> int:
    """The end of the stretch of old rows. A clock that was wrong for a while must not make young rows old."""
    young = connection.execute(
        select(func.min(log.c.position)).where(
            log.c.model_id == header.id, log.c.position > header.base, log.c.at >= before
        )
    ).scalar()
    return header.position if young is None else young - 1


def _taught(connection: Connection, header: log_table.Header, last: int) -> Counter[str]:
    """How many answers up to `last` were learnt from each voter, or about a round that was made for them."""
    undone = log_table.undone(connection, header.id, header.base)
    found: Counter[str] = Counter()
    made_for: dict[str | None, str | None] = {}
    for chunk in log_table.entries(connection, header.id, header.base):
        rows = [row for row in chunk if row.position <= last]
        made_for |= {row.event: row.voter for row in rows if isinstance(row.body, Decision)}
        older = {row.event for row in rows if row.event is not None} - made_for.keys()
        made_for |= {name: event.voter for name, event in log_table.events(connection, header.id, older).items()}
        for row in rows:
            if isinstance(row.body, Answered | Expired) and row.body.value is not None and row.position not in undone:
                found.update(voter for voter in {row.voter, made_for.get(row.event)} if voter is not None)
        if len(rows) < len(chunk):
            break
    return found


def _remember(turn: Turn, taught: Counter[str]) -> None:
    """Add to the counts that tell a person, when they are erased, what could not be unlearnt."""
    model, secret = turn.folded.id, server_secret(turn.connection)
    for voter, answers in taught.items():
        mark = voter_mark(secret, model, voter)
        here = (pruned.c.model_id == model) & (pruned.c.voter == mark)
        done = turn.connection.execute(update(pruned).where(here).values(answers=pruned.c.answers + answers))
        if not done.rowcount:
            turn.connection.execute(insert(pruned).values(model_id=model, voter=mark, answers=answers))
