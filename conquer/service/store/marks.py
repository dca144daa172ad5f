"""What pruned rows leave behind, under digests: the ids of their events, and how many answers each voter has taught."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, insert, select, text, update

from conquer.service.store.schema import pruned, retired

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


def count_pruned(connection: Connection, model: int, taught: Mapping[str, int]) -> None:
    """Add to the counts of each voter's learnt answers that an erasure can no longer remove."""
    for voter, answers in taught.items():
        row = {"model_id": model, "voter": _mark(model, voter)}
        here = (pruned.c.model_id == model) & (pruned.c.voter == row["voter"])
        if not connection.execute(update(pruned).where(here).values(answers=pruned.c.answers + answers)).rowcount:
            connection.execute(insert(pruned).values(answers=answers, **row))


def pruned_answers(connection: Connection, model: int, voter: str) -> int:
    """How many learnt answers of a voter have been pruned."""
    here = (pruned.c.model_id == model) & (pruned.c.voter == _mark(model, voter))
    return connection.execute(select(pruned.c.answers).where(here)).scalar() or 0
