"""What the clock does: closes answer windows that have a default answer. Each closing is a row of the log."""

import logging

from conquer.service.errors import RefusalError
from conquer.service.log.records import Decision, Expired
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table
from conquer.service.writer.queue import Writer
from conquer.types import Query

logger = logging.getLogger("conquer.service")
_ROWS = 2000


def sweep(writer: Writer) -> None:
    """Expire what is due, in every model that learns a default answer."""
    with writer.database.reading() as connection:
        headers = log_table.all_headers(connection)
    for header in headers:
        if header.settings.window_seconds is not None and header.settings.default_answer is not None:
            try:
                while writer.call_now(header.name, expire):
                    pass
            except RefusalError as refusal:
                # Deleted meanwhile, or it cannot learn: the others' windows close all the same.
                logger.warning("the windows of model %r stay open: %s", header.name, refusal.message)


def expire(turn: Turn) -> bool:
    """Close the windows of the next unanswered events; True when there may be more that are due."""
    folded = turn.folded
    settings = folded.settings
    if settings.window_seconds is None or settings.default_answer is None:
        return False
    turn.flush()
    cursor = max(folded.tally.swept, folded.swept)
    rows = next(log_table.entries(turn.connection, folded.id, cursor, _ROWS), [])
    for row in rows:
        if turn.now - row.at <= settings.window_seconds:
            return False
        folded.swept = row.position
        if not isinstance(row.body, Decision) or row.event is None:
            continue
        event = turn.event(row.event)
        if event is None or event.answers or event.expired or not event.active or event.choice.query is Query.NONE:
            continue
        turn.append(Expired(row.position, settings.default_answer), row.event)
    return len(rows) == _ROWS
