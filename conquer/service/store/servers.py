"""The servers of a PostgreSQL store: those with other replay rules keep out, and one at a time locks a model."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Double, delete, func, literal_column, select, text
from sqlalchemy.dialects.postgresql import insert

from conquer.service.model.records import FOLD
from conquer.service.store.schema import digests, models, servers

BEAT = 2.0
"""Seconds between two signs of life."""
ALIVE = 10.0
"""Seconds after its last sign of life during which a server counts as alive."""
_ENTRANCE = 0x434E5153
"""Advisory lock under which servers look for each other, one after the other."""
_MODELS = 0x434E
"""Class of the advisory locks of models."""
_LOCKED = text(
    "SELECT model FROM unnest(CAST(:models AS integer[])) AS model WHERE NOT pg_try_advisory_xact_lock(:kind, model)"
)
_KEPT = 100_000
"""Rows of a log for which digests are kept; a server further behind loads a snapshot."""
_NOW: ColumnElement[float] = literal_column("extract(epoch from clock_timestamp())::double precision", Double)
"""The store's own clock, which all servers share."""


def enter(connection: Connection, me: str) -> list[str]:
    """Give a sign of life. If servers with other replay rules are alive, return those and leave instead."""
    connection.execute(select(func.pg_advisory_xact_lock(_ENTRANCE)))
    others = connection.execute(
        select(servers.c.id, servers.c.fold).where(
            servers.c.id != me, servers.c.fold != FOLD, servers.c.seen > _NOW - ALIVE
        )
    ).all()
    leave(connection, me)
    if others:
        return [f"{row.id} (rules {row.fold}, these are {FOLD})" for row in others]
    connection.execute(delete(servers).where(servers.c.seen < _NOW - 10 * ALIVE))
    connection.execute(insert(servers).values(id=me, fold=FOLD, seen=_NOW))
    return []


def leave(connection: Connection, me: str) -> None:
    """Remove this server's sign of life."""
    connection.execute(delete(servers).where(servers.c.id == me))


def lock_models(connection: Connection, models: Sequence[int]) -> set[int]:
    """Lock models until the transaction ends, without waiting; returns those that another server has locked."""
    return set(connection.execute(_LOCKED, {"kind": _MODELS, "models": list(models)}).scalars())


def first_digest(
    connection: Connection, me: str, model: int, position: int, generation: int, digest: str
) -> tuple[str, str, str] | None:
    """(model, digest, server) of the first server at this position; None if it is this one, or the model is gone."""
    name = connection.execute(select(models.c.name).where(models.c.id == model)).scalar()
    if name is None:
        return None
    row = insert(digests).values(model_id=model, position=position, generation=generation, digest=digest, server=me)
    connection.execute(row.on_conflict_do_nothing())
    here = (digests.c.model_id == model) & (digests.c.position == position) & (digests.c.generation == generation)
    first = connection.execute(select(digests.c.digest, digests.c.server).where(here)).one()
    connection.execute(delete(digests).where(digests.c.model_id == model, digests.c.position < position - _KEPT))
    return None if first.server == me else (str(name), first.digest, first.server)
