"""What an operator does to a store from the shell: keys, backup, restore, erase. Only `erase` imports learners."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conquer.files import replacing
from conquer.service.settings import Settings
from conquer.service.store import keys
from conquer.service.store.backup import copy_all
from conquer.service.store.database import Database, StoreError
from conquer.service.store.keys import Key

if TYPE_CHECKING:
    from conquer.service.work.erasure import Gone


def _opened(store: str | None, create: bool = False) -> contextlib.closing[Database]:
    """The store; a StoreError if it is missing, unless it may be created."""
    return contextlib.closing(Database(Settings.from_environment(store=store).store, create))


def keys_add(
    name: str, *, roles: Sequence[str], models: Sequence[str] = ("*",), store: str | None = None
) -> tuple[Key, str]:
    """A new key and its secret, which is shown this once."""
    with _opened(store, create=True) as database, database.writing() as connection:
        return keys.add(connection, name, roles, models)


def keys_list(*, store: str | None = None) -> list[Key]:
    """All keys, oldest first, with the time of revocation."""
    with _opened(store) as database, database.reading() as connection:
        return [key for _, key in keys.every(connection)]


def keys_revoke(key_id: str, *, store: str | None = None) -> None:
    """Revoke a key by its id; running servers refuse it within a second."""
    with _opened(store) as database, database.writing() as connection:
        if not keys.revoke(connection, key_id):
            raise ValueError(f"there is no key {key_id!r} in force")


def backup(path: str | Path, *, store: str | None = None) -> dict[str, int]:
    """Copy a store, also one being served, to one new SQLite file, all or nothing; returns rows per table."""
    path = Path(path)
    if path.exists():
        raise StoreError(f"{path} exists already; a backup never overwrites")
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent} for the backup {path.name}")
    with (
        _opened(store) as source,
        replacing(path, private=True) as room,
        # Closing the last connection moves everything into the one file.
        _opened(f"sqlite:///{room}", create=True) as target,
        source.reading(patient=True) as reading,
        target.writing() as writing,
    ):
        return copy_all(reading, writing)


def restore(path: str | Path, *, store: str | None = None) -> dict[str, int]:
    """Fill an empty store, SQLite or PostgreSQL, created if missing, from a backup; returns rows per table."""
    if not Path(path).exists():
        raise StoreError(f"there is no backup {path}")
    with _opened(f"sqlite:///{path}") as source, _opened(store, create=True) as target:
        target.claim()
        with source.reading() as reading, target.writing() as writing:
            return copy_all(reading, writing)


def erase(voter: str, *, models: Sequence[str] = (), store: str | None = None) -> dict[str, "Gone"]:
    """Remove a voter's rows from the named models (all of them by default); returns what became of them per model.

    A SQLite store that is being served does this over HTTP: POST /v1/models/NAME/erase.
    """
    from conquer.service.engine.engine import Engine
    from conquer.service.store.log import all_headers
    from conquer.service.work import tasks
    from conquer.service.work.erasure import erase_person

    with _opened(store) as database:
        engine = Engine(database, tasks.build, Settings.from_environment(store=store))
        engine.start()
        try:
            if not models:
                with database.reading() as connection:
                    models = [header.name for header in all_headers(connection)]
            erased = {name: engine.long.submit("", erase_person(engine, name, voter)).result() for name in models}
            for name, (_, generation) in erased.items():
                # Wait for the replay without them.
                engine.call_now(name, lambda turn: None, after=generation)
        finally:
            engine.stop()
    return {name: gone for name, (gone, _) in erased.items()}
