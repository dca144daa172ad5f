"""Deleting models, slice by slice, and removing old versions of changed rows from the disk."""

import time
from itertools import pairwise

from sqlalchemy import Connection, Engine, Table, bindparam, delete, func, select

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
_MOMENT = 0.02
"""Seconds that a checkpoint waits for readers; writers wait meanwhile."""


def remove_model(connection: Connection, model: int) -> None:
    """Delete a model; `delete_slice` deletes its rows later."""
    connection.execute(delete(models).where(models.c.id == model))


def remove_named(connection: Connection, name: str) -> None:
    """Delete a model by its name, also one that cannot be read."""
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
    rows = connection.execute(select(*columns).where(table.c.model_id == model).order_by(*columns).limit(most)).all()
    if rows:
        same = [column == bindparam(f"the_{column.name}") for column in columns]
        values = [{f"the_{name}": value for name, value in row._mapping.items()} for row in rows]
        connection.execute(delete(table).where(table.c.model_id == model, *same), values)
    return len(rows) == most


def truncate_wal(engine: Engine, tries: int, wait: float) -> bool:
    """Move SQLite's write-ahead log into its file and truncate it; False if readers or writers prevent it.

    `wait`: the seconds that the connection waits for a lock afterwards.
    """
    connection = engine.raw_connection()
    cursor = connection.cursor()
    try:
        cursor.execute(f"PRAGMA busy_timeout={int(_MOMENT * 1000)}")
        for attempt in range(tries):
            if attempt:
                time.sleep(2 * _MOMENT)
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            ((busy, *_),) = cursor.fetchall()
            if not busy:
                return True
        return False
    finally:
        cursor.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
        connection.close()


def vacuum(engine: Engine) -> None:
    """Let PostgreSQL reuse the space of old versions."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            connection.exec_driver_sql("SET statement_timeout = 0")
            connection.exec_driver_sql("VACUUM log, snapshots, leases, items, images")
        finally:
            # The setting would outlive the connection's return to the pool.
            connection.invalidate()
