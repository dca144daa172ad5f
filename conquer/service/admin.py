"""What an operator does to a store from the shell. Only `erase` and `replay` import learners."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conquer.files import replacing
from conquer.service.settings import Settings
from conquer.service.store import keys
from conquer.service.store.backup import copy_all
from conquer.service.store.database import Database, StoreError
from conquer.service.store.keys import Key

if TYPE_CHECKING:
    from conquer.service.engine.engine import Engine
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


@contextlib.contextmanager
def _engine(store: str | None, create: bool = False) -> Iterator["Engine"]:
    """An engine without a server; a StoreError for a SQLite store that is being served."""
    from conquer.service.engine.engine import Engine
    from conquer.service.work import tasks

    with _opened(store, create) as database:
        engine = Engine(database, tasks.build, Settings.from_environment(store=store))
        engine.start()
        try:
            yield engine
        finally:
            engine.stop()


def erase(voter: str, *, models: Sequence[str] = (), store: str | None = None) -> dict[str, "Gone"]:
    """Remove a voter's rows from the named models (all of them by default); returns what became of them per model.

    A SQLite store that is being served does this over HTTP: POST /v1/models/NAME/erase.
    """
    from conquer.service.store.log import all_headers
    from conquer.service.work.erasure import erase_person

    with _engine(store) as engine:
        if not models:
            with engine.database.reading() as connection:
                models = [header.name for header in all_headers(connection)]
        erased = {name: engine.long.submit("", erase_person(engine, name, voter)).result() for name in models}
        for name, (_, generation) in erased.items():
            # Wait for the replay without them.
            engine.call_now(name, lambda turn: None, after=generation)
    return {name: gone for name, (gone, _) in erased.items()}


def replay(
    ledger: str | Path,
    *,
    name: str,
    algorithm: str | None = None,
    parameters: dict[str, Any] | None = None,
    store: str | None = None,
    model: str | Path | None = None,
) -> dict[str, Any]:
    """Train a new model `name` of the store on a ledger's answers, with the ledger's settings or other ones.

    `model` also writes the trained model to a file. Returns rounds, answers learnt and rows passed over.
    """
    import msgspec

    from conquer.features.featurizer import needs_fitting
    from conquer.files import write_atomically
    from conquer.service.model.schemas import is_model_name
    from conquer.service.work import tasks
    from conquer.service.work.ledgers import feed, opening_settings, read_ledger

    if not is_model_name(name):
        words = "1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or a digit"
        raise ValueError(f"a model's name is {words}, got {name!r}")
    with Path(ledger).open("rb") as file:
        lines = list(read_ledger(file))
    settings = opening_settings(lines)
    if algorithm is not None:
        settings = msgspec.structs.replace(settings, algorithm=algorithm, parameters={})
    if parameters is not None:
        settings = msgspec.structs.replace(settings, parameters=parameters)
    tasks.find(settings.task).check(settings)
    if needs_fitting(settings.features.kind, settings.features.columns):
        raise ValueError(
            "a ledger does not hold what its features were fitted to: make the new model over HTTP, upload the same"
            " items to it, and POST the ledger to its log"
        )
    with _engine(store, create=True) as engine:
        engine.call_now(None, lambda connection: tasks.create(connection, name, settings))
        done = engine.long.submit("", feed(lines, lambda work: engine.call_now(name, work))).result()
        if model is not None:
            write_atomically(model, engine.call_now(name, lambda turn: turn.state.dumps()))
    return msgspec.structs.asdict(done)
