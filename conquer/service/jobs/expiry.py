"""What the clock does: closes answer windows that have a default answer. Each closing is a row of the log."""

from collections.abc import Sequence

from sqlalchemy import select

from conquer.service.jobs.each import each_model
from conquer.service.log.records import Decision, Entry, Expired
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table
from conquer.service.store.schema import log
from conquer.service.writer.queue import Writer
from conquer.types import Query

_ROWS = 2000


def sweep(writer: Writer) -> None:
    """Expire what is due, in every model that learns a default answer."""

    def close(header: log_table.Header) -> int:
        def work(turn: Turn) -> int:
            return expire(turn, after) if turn.folded.id == header.id else 0

        after = 0
        if header.settings.window_seconds is not None and header.settings.default_answer is not None:
            # How far it has come is kept here too: a model that has to be read again each time does not know.
            while found := writer.call_now(header.name, work):
                after = found
        return 0

    each_model(writer, "sweep", close)


def expire(turn: Turn, after: int = 0) -> int:
    """Close the windows of the next unanswered events after a position; how far it looked, 0: nothing more is due."""
    folded = turn.folded
    settings = folded.settings
    if settings.window_seconds is None or settings.default_answer is None:
        return 0
    turn.flush()
    cursor = max(folded.tally.swept, folded.swept, turn.base, after)
    rows = next(log_table.entries(turn.connection, folded.id, cursor, _ROWS), [])
    for row, at in zip(rows, _times(turn, rows), strict=True):
        if at is None or turn.now - at <= settings.window_seconds:
            return 0
        folded.swept = row.position
        if not isinstance(row.body, Decision) or row.event is None:
            continue
        event = turn.event(row.event)
        if event is None or event.answers or event.expired or not event.active or event.choice.query is Query.NONE:
            continue
        # A question asked again measures agreement: silence teaches nothing either.
        value = settings.default_answer if row.body.planted is None else None
        turn.append(Expired(row.position, value), row.event)
    return rows[-1].position if rows else 0


def _times(turn: Turn, rows: Sequence[Entry]) -> list[float | None]:
    """When each row was written. One from the future, of a clock that was ahead, is as old as the next that is not.

    None: there is no such row yet.
    """
    if all(row.at <= turn.now for row in rows):
        return [row.at for row in rows]
    here = (log.c.model_id == turn.folded.id) & (log.c.position > rows[-1].position) & (log.c.at <= turn.now)
    at = turn.connection.execute(select(log.c.at).where(here).order_by(log.c.position).limit(1)).scalar()
    times: list[float | None] = []
    for row in reversed(rows):
        at = row.at if row.at <= turn.now else at
        times.append(at)
    return times[::-1]
