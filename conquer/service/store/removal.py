"""Deleting a model: its name goes at once, and its rows a slice at a time. Its id is never given out again."""

from itertools import pairwise

from sqlalchemy import Connection, Table, bindparam, delete, func, select

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
"""Of snapshots, each as large as half a megabyte, and of images."""
_END = 2**31 - 1


def remove_model(connection: Connection, model: int) -> None:
    """Nobody finds the model any more; `delete_slice` takes what it leaves behind."""
    connection.execute(delete(models).where(models.c.id == model))


def remove_named(connection: Connection, name: str) -> None:
    """Remove a model that cannot be read, by its name."""
    connection.execute(delete(models).where(models.c.name == name))


def orphan(connection: Connection) -> tuple[Table, int] | None:
    """A table and a deleted model that has rows there; None when nothing is left of any.

    Only ids between those of models are looked for, so this costs next to nothing however long the logs are.
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
    """Delete the next rows of a deleted model; whether there may be more of them."""
    most = _PIECES if table is snapshots or table is images else _ROWS
    columns = [column for column in table.primary_key if column is not table.c.model_id]
    rows = connection.execute(select(*columns).where(table.c.model_id == model).order_by(*columns).limit(most)).all()
    if rows:
        same = [column == bindparam(f"the_{column.name}") for column in columns]
        values = [{f"the_{name}": value for name, value in row._mapping.items()} for row in rows]
        connection.execute(delete(table).where(table.c.model_id == model, *same), values)
    return len(rows) == most
