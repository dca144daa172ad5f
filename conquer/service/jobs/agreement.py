"""Servers of one store compare what their folds came to: the same rows must have given the same bits."""

from collections import deque
from collections.abc import Callable

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from conquer.service.store.database import Database
from conquer.service.store.schema import digests, models

_KEPT = 100_000
"""Rows of a log for which digests are kept: a server that is further behind folds from a snapshot anyway."""


def compare(
    database: Database, found: deque[tuple[int, int, int, str]], raise_alarm: Callable[[str, str], None]
) -> int:
    """Take (model, position, generation, digest) from `found`; an alarm for every one that another server contradicts.

    Returns how many were compared with another server's. Those that a failing store did not take stay in `found`.
    """
    compared = 0
    while database.shared and found:
        one = found[0]
        with database.writing() as connection:
            other = _other(connection, database.presence.about, one)
        found.popleft()
        if other is None:
            continue
        compared += 1
        name, digest, server = other
        if digest != one[3]:
            raise_alarm(
                f"diverged:{name}",
                f"model {name!r} at position {one[1]} is {one[3]} on {database.presence.about} but {digest} on"
                f" {server}: the same rows gave different weights. Restart both, and see which agrees with a third",
            )
    return compared


def _other(connection: Connection, about: str, one: tuple[int, int, int, str]) -> tuple[str, str, str] | None:
    """(model, digest, server) of the first server that got here, None where that is this one, or the model has gone."""
    model, position, generation, digest = one
    name = connection.execute(select(models.c.name).where(models.c.id == model)).scalar()
    if name is None:
        return None
    row = insert(digests).values(model_id=model, position=position, generation=generation, digest=digest, server=about)
    connection.execute(row.on_conflict_do_nothing())
    here = (digests.c.model_id == model) & (digests.c.position == position) & (digests.c.generation == generation)
    first = connection.execute(select(digests.c.digest, digests.c.server).where(here)).one()
    connection.execute(delete(digests).where(digests.c.model_id == model, digests.c.position < position - _KEPT))
    return None if first.server == about else (str(name), first.digest, first.server)
