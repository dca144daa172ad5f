"""Backups: the rows of a store in another one."""

from sqlalchemy import Connection, func, insert, select, text, true

from conquer.service.store.database import StoreError
from conquer.service.store.schema import images, metadata, models

_ROWS = 200
_IMAGES = 8
"""Rows of images at a time, of some megabytes each."""
_OF_NOW = ("version", "servers", "digests", "ended", "secrets")
"""Tables about the present servers and sessions; the secret signs cookies, and a backup must not let anyone sign in."""


def copy_all(source: Connection, target: Connection) -> dict[str, int]:
    """Copy the rows of all tables to an empty store; returns their number per table."""
    copied = {}
    for table in metadata.sorted_tables:
        if table.name in _OF_NOW:
            continue
        # Rows of deleted models are left out: another store may use their ids.
        lasting = table.c.model_id.in_(select(models.c.id)) if "model_id" in table.c else true()
        if target.execute(select(func.count()).select_from(table).where(lasting)).scalar_one():
            raise StoreError(f"the store to fill must be empty, but its table {table.name!r} has rows")
        count = 0
        most = _IMAGES if table is images else _ROWS
        found = source.execution_options(stream_results=True, max_row_buffer=most).execute(select(table).where(lasting))
        for rows in found.partitions(most):
            target.execute(insert(table), [row._asdict() for row in rows])
            count += len(rows)
        copied[table.name] = count
    if target.dialect.name == "postgresql":
        highest = target.execute(select(func.coalesce(func.max(models.c.id), 0))).scalar_one()
        target.execute(text("SELECT setval(pg_get_serial_sequence('models', 'id'), :at)"), {"at": highest + 1})
    return copied
