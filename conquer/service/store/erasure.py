"""Deleting models, slice by slice."""

from itertools import pairwise

from sqlalchemy import Connection, Table, delete, func, select, tuple_

from conquer.service.store.schema import (
    digests,
    images,
    invitations,
    items,
    leases,
    log,
    models,
    pruned,
    retired,
    snapshots,
)

_TABLES = (log, snapshots, items, images, leases, pruned, retired, digests, invitations)
_ROWS = 1000
_PIECES = 8
"""Rows of snapshots, of up to half a megabyte each, and of images."""
_END = 2**31 - 1


def remove_model(connection: Connection, name: str) -> None:
    """Delete a model, also one that cannot be read; `delete_slice` deletes its rows later."""
    connection.execute(delete(models).where(models.c.name == name))


def orphan(connection: Connection) -> tuple[Table, int] | None:
    """A table with rows of a deleted model, and the model's id; None if there is none.

    Looks up the ids between those of existing models, so the cost does not grow with the logs.
    """
    known = connection.execute(select(models.c.id).order_by(models.c.id)).scalars().all()
    gaps = [(low, high) for low, high in pairwise([0, *known, _END]) if high - low > 1]
    for table in _TABLES:
        for low, high in gaps:
            number = table.c.model_id
            found = connection.execute(select(func.min(number)).where(number > low, number < high)).scalar()
            if found is not None:
                return table, int(found)
    return None


def delete_slice(connection: Connection, table: Table, model: int) -> bool:
    """Delete the next rows of a deleted model; returns whether there may be more."""
    most = _PIECES if table is snapshots or table is images else _ROWS
    columns = [column for column in table.primary_key if column is not table.c.model_id]
    rows = select(*columns).where(table.c.model_id == model).order_by(*columns).limit(most)
    gone = connection.execute(delete(table).where(table.c.model_id == model, tuple_(*columns).in_(rows)))
    return gone.rowcount == most
