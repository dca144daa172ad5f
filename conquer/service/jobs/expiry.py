"""Answer windows that have ended are closed with the model's default answer, each by a row of the log."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, select

from conquer.service.engine.engine import Engine
from conquer.service.engine.turn import Turn
from conquer.service.jobs.upkeep import each_model
from conquer.service.model.records import Decision, Expired
from conquer.service.store import log as log_table
from conquer.service.store.schema import log
from conquer.types import Query

_ROWS = 2000
Seen = dict[int, tuple[int, int]]
"""By model: the position up to which windows are closed, and the last correction that was looked at."""


def sweep(engine: Engine, seen: Seen) -> int:
    """Close what is due in every model that learns a default answer; `seen` is kept from one sweep to the next.

    Returns the number of windows. Models are loaded only to close windows.
    """
    headers: set[int] = set()

    def close(header: log_table.Header) -> int:
        headers.add(header.id)
        window = header.settings.window_seconds
        if window is None or header.settings.default_answer is None:
            return 0
        swept, corrected = seen.get(header.id, (0, -1))
        swept, closed, now = max(swept, header.base), 0, engine.clock()
        with engine.database.reading() as connection:
            end = log_table.end_of_old(connection, header.id, swept, now - window, now)
            changes = log_table.changes(connection, header.id)
            # An undo opens an event again whose window has been looked at.
            due = _reopened(connection, header.id, corrected, swept) if 0 <= corrected < changes else []
        while due or swept < end:
            if due:
                closed += engine.call_now(header.name, partial(expire, model=header.id, events=due))
            with engine.database.reading() as connection:
                rows = log_table.entries(connection, header.id, swept, min(_ROWS, end - swept)) if swept < end else []
                asked = [str(row.event) for row in rows if isinstance(row.body, Decision) and row.body.query]
                due = _open(connection, header.id, asked)
            swept = rows[-1].position if rows else end
        seen[header.id] = swept, changes
        return closed

    closed = each_model(engine, "sweep", close)
    for gone in seen.keys() - headers:
        del seen[gone]
    return closed


def _reopened(connection: Connection, model: int, after: int, swept: int) -> list[str]:
    """The events of corrections after a position, of those chosen at `swept` or before."""
    undo, chosen = log.alias(), log.alias()
    same = (chosen.c.model_id == model) & (chosen.c.event_id == undo.c.event_id) & (chosen.c.kind == "choose")
    wanted = (undo.c.model_id == model) & (undo.c.kind == "correction") & (undo.c.position > after)
    rows = select(undo.c.event_id).join(chosen, same).where(wanted, chosen.c.position <= swept).distinct()
    return list(connection.execute(rows).scalars())


def _open(connection: Connection, model: int, events: Sequence[str]) -> list[str]:
    """Those of some events that have no answer, or of which an answer was undone."""
    here = (log.c.model_id == model) & log.c.event_id.in_(events)
    closing = here & log.c.kind.in_(("answer", "expiry", "correction"))
    kinds: dict[str, set[str]] = {}
    for row in connection.execute(select(log.c.event_id, log.c.kind).where(closing).distinct()):
        kinds.setdefault(row.event_id, set()).add(row.kind)
    return [event for event in events if event not in kinds or "correction" in kinds[event]]


def expire(turn: Turn, model: int, events: Sequence[str]) -> int:
    """Close the windows of those events that are unanswered; returns how many."""
    settings, before = turn.state.settings, turn.state.position
    if turn.state.id != model:
        return 0
    turn.look_up(events)
    for name in events:
        event = turn.event(name)
        if event is None or event.answers or event.expired or event.choice.query is Query.NONE:
            continue
        # A question asked again measures agreement: silence teaches nothing there.
        value = settings.default_answer if event.chosen.planted is None else None
        turn.append(Expired(event.position, value), name)
    return turn.state.position - before
