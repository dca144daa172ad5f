"""Forgetting old events: what they taught is kept as a snapshot, their rows go."""

from sqlalchemy import delete, func, select, update

from conquer.service import store
from conquer.service.brains import build
from conquer.service.loading import load_up_to
from conquer.service.schema import log, models
from conquer.service.turns import Turn
from conquer.service.writer import Writer

_LEAST = 1000


def prune_all(writer: Writer, days: float, least: int = _LEAST) -> int:
    """In every model, drop rows older than `days`; return how many rows went."""
    with writer.database.reading() as connection:
        headers = store.all_headers(connection)
    return sum(_prune(writer, header, writer.clock() - days * 86400, least) for header in headers)


def _prune(writer: Writer, header: store.Header, before: float, least: int) -> int:
    """Fold up to the last old row beside the writer, then swap the rows for the snapshot in one transaction."""
    with writer.database.reading() as connection:
        last = connection.execute(
            select(func.max(log.c.position)).where(log.c.model_id == header.id, log.c.at < before)
        ).scalar()
        if last is None or last - header.base < least:
            return 0
        pieces = store.parts(load_up_to(connection, header, build, last).dumps())
        corrections = store.undone(connection, header.id, last)

    def work(turn: Turn) -> int:
        if turn.folded.id != header.id or turn.base != header.base:
            return 0
        turn.flush()
        # An answer taken back since then would be part of the snapshot: leave it to the next time.
        if store.undone(turn.connection, header.id, last) != corrections:
            return 0
        store.drop_snapshot(turn.connection, header.id, last)
        for part, piece in enumerate(pieces):
            store.write_part(turn.connection, header.id, last, part, len(pieces), turn.now, piece)
        turn.connection.execute(update(models).where(models.c.id == header.id).values(base=last))
        turn.base = last
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
            del turn.folded.events[forgotten]
        return int(gone.rowcount)

    return int(writer.call_now(header.name, work))
