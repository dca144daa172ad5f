"""The sign of life of a server on a shared store."""

from collections.abc import Callable

from conquer.service.store.database import Database
from conquer.service.store.servers import enter

KIND = "mixed"
Raise = Callable[[str, str], None]


def beat(database: Database, raise_alarm: Raise, clear_alarm: Callable[[str], None]) -> None:
    """Tell the others that this one is there; an alarm where some fold by other rules.

    That happens to a server that was away for longer than it counts as alive. Rows of later rules it refuses by
    themselves.
    """
    if not database.shared:
        return
    with database.writing() as connection:
        others = enter(connection, database.presence)
    if others:
        raise_alarm(KIND, f"this store is served by other rules as well: {'; '.join(others)}. Stop one or the other")
    else:
        clear_alarm(KIND)
