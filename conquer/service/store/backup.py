"""Backups: every table of a store, as of one moment, into another store."""

import shutil
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, Table, func, insert, select, text, true

from conquer.files import replacing
from conquer.service.store.database import Database, StoreError
from conquer.service.store.private import keep_private
from conquer.service.store.schema import images, metadata, models, secrets
from conquer.service.store.secrecy import COOKIES

_ROWS = 200
_PICTURES = 8
"""Rows of images at a time, each of some megabytes."""
_OF_NOW = ("servers", "digests", "ended")
"""Tables about the servers and sessions of this moment: nothing that a restored store should know."""


def copy_all(source: Connection, target: Connection) -> dict[str, int]:
    """Copy every row that lasts; return how many per table. The target must be empty but for its version.

    What signs cookies stays behind: whoever reads a backup must not be able to sign in with it.
    """
    copied = {}
    for table in metadata.sorted_tables:
        if table.name in _OF_NOW:
            continue
        lasting = _lasting(table)
        if target.execute(select(func.count()).select_from(table).where(lasting)).scalar_one():
            raise StoreError(f"the store to fill must be empty, but its table {table.name!r} has rows")
        count = 0
        most = _PICTURES if table is images else _ROWS
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
    if table is secrets:
        return table.c.name != COOKIES
    # Rows of a deleted model may still be there; in another store its id could be given out again.
    return table.c.model_id.in_(select(models.c.id)) if "model_id" in table.c else true()


def back_up(address: str, path: Path) -> dict[str, int]:
    """Write a store, also one in use, to one new SQLite file, all or nothing."""
    if path.exists():
        raise StoreError(f"{path} exists already; a backup never overwrites")
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent} for the backup {path.name}")
    source = Database(address)
    try:
        with replacing(path, private=True) as room:
            target = Database(f"sqlite:///{room}")
            try:
                with source.reading(patient=True) as reading, target.writing() as writing:
                    return copy_all(reading, writing)
            finally:
                # The last connection's end moves everything into the one file.
                target.close()
    finally:
        source.close()


def bring_back(path: Path, address: str) -> dict[str, int]:
    """Fill an empty store from a backup; older backups are brought to today's tables first, in a copy."""
    if not path.exists():
        raise StoreError(f"there is no backup {path}")
    work = path.with_name(f".{path.name}.restoring")
    # One that a crash has left is void, whoever could read it.
    _remove(work)
    try:
        keep_private(work, create=True)
        with path.open("rb") as backup, work.open("wb") as copy:
            shutil.copyfileobj(backup, copy, 1 << 20)
        source, target = Database(f"sqlite:///{work}"), Database(address)
        try:
            target.claim()
            with source.reading() as reading, target.writing() as writing:
                return copy_all(reading, writing)
        finally:
            source.close()
            target.close()
    finally:
        _remove(work)


def _remove(work: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{work}{suffix}").unlink(missing_ok=True)
