"""Page sessions that were ended before their time, as the store keeps them for all its servers."""

import time

from sqlalchemy import Connection, delete, insert, select, update

from conquer.service.store.schema import ended


def end_session(connection: Connection, session: str, until: float) -> None:
    """Remember that a session is over, until its cookie would be; those that are past that go."""
    connection.execute(delete(ended).where(ended.c.until < time.time()))
    if not connection.execute(update(ended).where(ended.c.session == session).values(until=until)).rowcount:
        connection.execute(insert(ended).values(session=session, until=until))


def ended_sessions(connection: Connection) -> dict[str, float]:
    """Until when each ended session's cookie would have held."""
    return {row.session: row.until for row in connection.execute(select(ended))}
