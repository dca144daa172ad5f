"""What the clock does: closes answer windows that have a default answer. Each closing is a row of the log."""

from collections.abc import Sequence

from sqlalchemy import select

from conquer.service.engine.engine import Engine
from conquer.service.engine.turn import Turn
from conquer.service.jobs.each import each_model
from conquer.service.model.records import Decision, Entry, Expired
from conquer.service.store import log as log_table
from conquer.service.store.schema import log
from conquer.types import Query

_ROWS = 2000
Seen = dict[int, tuple[int, int]]
"""By model: where its log ended, and how far it was looked through then."""


def sweep(engine: Engine, seen: Seen | None = None) -> None:
    """Expire what is due, in every model that learns a default answer; `seen` is kept from one sweep to the next."""
    known: Seen = {} if seen is None else seen
    there: set[int] = set()

    def close(header: log_table.Header) -> int:
        there.add(header.id)

        def work(turn: Turn) -> tuple[int, int, int]:
            state = turn.state
            more = expire(turn, after) if state.id == header.id else 0
            # What an undo has opened again is looked for once the model has been folded with it.
            head = -1 if state.stale else state.position
            return more, head, max(state.swept, state.tally.swept, turn.base, after)

        after, more, settings = 0, 1, header.settings
        if settings.window_seconds is None or settings.default_answer is None or not _may_be_due(engine, header, known):
            return 0
        # How far it has come is kept here too: a model that has to be read again each time does not know.
        while more:
            more, head, swept = engine.call_now(header.name, work)
            # Only now has it been committed.
            known[header.id], after = (head, swept), more
        return 0

    each_model(engine, "sweep", close)
    for gone in known.keys() - there:
        del known[gone]


def _may_be_due(engine: Engine, header: log_table.Header, known: Seen) -> bool:
    """Whether the model must be asked: it would be read into memory, in place of one that is in use."""
    head, swept = known.get(header.id, (-1, 0))
    if head != header.position or header.settings.window_seconds is None:
        return True
    here = (log.c.model_id == header.id) & (log.c.position > swept)
    with engine.database.reading() as connection:
        at = connection.execute(select(log.c.at).where(here).order_by(log.c.position).limit(1)).scalar()
    now = engine.clock()
    return at is not None and (at > now or now - at > header.settings.window_seconds)


def expire(turn: Turn, after: int = 0) -> int:
    """Close the windows of the next unanswered events after a position; how far it looked, 0: nothing more is due."""
    state = turn.state
    settings = state.settings
    if settings.window_seconds is None or settings.default_answer is None:
        return 0
    turn.flush()
    cursor = max(state.tally.swept, state.swept, turn.base, after)
    rows = log_table.entries(turn.connection, state.id, cursor, _ROWS)
    for row, at in zip(rows, _times(turn, rows), strict=True):
        if at is None or turn.now - at <= settings.window_seconds:
            return 0
        state.swept = row.position
        if not isinstance(row.body, Decision) or row.event is None:
            continue
        event = turn.event(row.event)
        if event is None or event.answers or event.expired or event.choice.query is Query.NONE:
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
    here = (log.c.model_id == turn.state.id) & (log.c.position > rows[-1].position) & (log.c.at <= turn.now)
    at = turn.connection.execute(select(log.c.at).where(here).order_by(log.c.position).limit(1)).scalar()
    times: list[float | None] = []
    for row in reversed(rows):
        at = row.at if row.at <= turn.now else at
        times.append(at)
    return times[::-1]
