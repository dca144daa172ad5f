"""Backups: every table of a store, as of one moment, in another store."""

from contextlib import closing
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, Table, func, insert, select, text, true

from conquer.files import replacing
from conquer.service.store.database import Database, StoreError
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
        lasting = _lasting(table)
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


def _lasting(table: Table) -> ColumnElement[bool]:
    # Rows of deleted models are left out: another store may use their ids.
    return table.c.model_id.in_(select(models.c.id)) if "model_id" in table.c else true()


def back_up(address: str, path: Path) -> dict[str, int]:
    """Write a store, also one in use, to one new SQLite file, all or nothing."""
    if path.exists():
        raise StoreError(f"{path} exists already; a backup never overwrites")
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent} for the backup {path.name}")
    with (
        closing(Database(address)) as source,
        replacing(path, private=True) as room,
        # Closing the last connection moves everything into the one file.
        closing(Database(f"sqlite:///{room}", create=True)) as target,
        source.reading(patient=True) as reading,
        target.writing() as writing,
    ):
        return copy_all(reading, writing)


def bring_back(path: Path, address: str) -> dict[str, int]:
    """Fill an empty store, created if missing, from a backup."""
    if not path.exists():
        raise StoreError(f"there is no backup {path}")
    with closing(Database(f"sqlite:///{path}")) as source, closing(Database(address, create=True)) as target:
        target.claim()
        with source.reading() as reading, target.writing() as writing:
            return copy_all(reading, writing)
