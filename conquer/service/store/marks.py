"""What pruned rows leave behind: digests of the ids of their events, which are not used a second time."""

import hashlib
import re
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, select, text

from conquer.service.store.schema import retired

_MADE_HERE = re.compile(r"([0-9a-f]{1,16})-[0-9a-f]{16}")
"""An event id made by a server: the round's ordinal and a random number."""
_LOOKED_UP = 500


def _mark(model: int, name: str) -> str:
    return hashlib.sha256(f"{model}:{name}".encode()).hexdigest()[:32]


def ordinal_in(event: str) -> int | None:
    """The ordinal in an event id made by a server, None for other ids.

    >>> ordinal_in("1f-0123456789abcdef"), ordinal_in("order-17")
    (31, None)
    """
    found = _MADE_HERE.fullmatch(event)
    return None if found is None else int(found[1], 16)


def retire(connection: Connection, model: int, events: Iterable[str]) -> None:
    """Keep these ids from being used again; those made by a server need no row."""
    rows = [{"model_id": model, "event": _mark(model, one)} for one in events if ordinal_in(one) is None]
    if rows:
        statement = "INSERT INTO retired (model_id, event) VALUES (:model_id, :event) ON CONFLICT DO NOTHING"
        connection.execute(text(statement), rows)


def retired_events(connection: Connection, model: int, events: Sequence[str], ordinal: int) -> set[str]:
    """Of some ids that are not in the log, those whose rows have been pruned; `ordinal` is the next round's."""
    numbers = {one: ordinal_in(one) for one in events}
    gone = {one for one, number in numbers.items() if number is not None and number < ordinal}
    marks = {_mark(model, one): one for one, number in numbers.items() if number is None}
    for start in range(0, len(marks), _LOOKED_UP):
        part = list(marks)[start : start + _LOOKED_UP]
        found = connection.execute(
            select(retired.c.event).where(retired.c.model_id == model, retired.c.event.in_(part))
        )
        gone |= {marks[row.event] for row in found}
    return gone
