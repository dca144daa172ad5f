"""What an operator does to a store from the shell: keys, backup, restore, erase, replay.

What folds a log imports the learners when it is called: `conquer keys` and `conquer backup` answer without them.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conquer.service.http import keys
from conquer.service.http.keys import Key
from conquer.service.settings import Settings
from conquer.service.store.backup import back_up, bring_back
from conquer.service.store.database import Database, StoreError, parsed

if TYPE_CHECKING:
    from conquer.service.jobs.erasure import Gone
    from conquer.service.writer.queue import Writer


def existing(store: str | None) -> str:
    """The store's address; a StoreError where a SQLite store is not there, for a new one would hold nothing."""
    address = Settings.from_environment(store=store).store
    url = parsed(address)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise StoreError(f"there is no store {Path(url.database or '').absolute()}; say which with --store")
    return address


@contextlib.contextmanager
def _opened(address: str) -> Iterator[Database]:
    database = Database(address)
    try:
        yield database
    finally:
        database.close()


def keys_add(
    name: str, *, roles: Sequence[str], models: Sequence[str] = ("*",), store: str | None = None
) -> tuple[Key, str]:
    """A new key and its secret, which is shown this once."""
    with _opened(Settings.from_environment(store=store).store) as database, database.writing() as connection:
        return keys.add(connection, name, roles, models)


def keys_list(*, store: str | None = None) -> list[Key]:
    """All keys, oldest first; a revoked one says when."""
    with _opened(existing(store)) as database, database.reading() as connection:
        return [key for _, key in keys.every(connection)]


def keys_revoke(key_id: str, *, store: str | None = None) -> None:
    """Revoke a key by its id; running servers refuse it within a second."""
    with _opened(existing(store)) as database, database.writing() as connection:
        if not keys.revoke(connection, key_id):
            raise ValueError(f"there is no key {key_id!r} in force")


def backup(path: str | Path, *, store: str | None = None) -> dict[str, int]:
    """Copy a store, also one being served, to a new file; returns rows per table."""
    return back_up(existing(store), Path(path))


def restore(path: str | Path, *, store: str | None = None) -> dict[str, int]:
    """Fill an empty store from a backup, SQLite or PostgreSQL; returns rows per table."""
    return bring_back(Path(path), Settings.from_environment(store=store).store)


@contextlib.contextmanager
def _writer(address: str) -> Iterator["Writer"]:
    """A writer without a server; a SQLite store that is being served refuses."""
    from conquer.service import tasks
    from conquer.service.writer.queue import Writer

    with _opened(address) as database:
        writer = Writer(database, tasks.build, Settings.from_environment(store=address))
        writer.start()
        try:
            yield writer
        finally:
            writer.stop()


def erase(voter: str, *, models: Sequence[str] = (), store: str | None = None) -> dict[str, "Gone"]:
    """Remove a voter's rows from the named models (all of them by default); returns what became of them per model.

    A SQLite store that is being served does this over HTTP: POST /v1/models/NAME/erase.
    """
    from conquer.service.jobs.erasure import erase_person
    from conquer.service.store.log_table import all_headers

    with _writer(existing(store)) as writer:
        if not models:
            with writer.database.reading() as connection:
                models = [header.name for header in all_headers(connection)]
        erased = {name: erase_person(writer, name, voter) for name in models}
        for name, (_, generation) in erased.items():
            # Until the log has been folded again without them.
            writer.call_now(name, lambda turn: None, generation=generation)
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
    from conquer.service import tasks
    from conquer.service.commands.creation import create
    from conquer.service.http.schemas import MODEL_NAME_WORDS, is_model_name
    from conquer.service.log.exchange import feed, opening_settings, read_ledger

    if not is_model_name(name):
        raise ValueError(f"a model's name is {MODEL_NAME_WORDS}, got {name!r}")
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
    with _writer(Settings.from_environment(store=store).store) as writer:
        writer.call_now(None, lambda connection: create(connection, name, settings))
        done = feed(lines, lambda work: writer.call_now(name, work))
        if model is not None:
            write_atomically(model, writer.call_now(name, lambda turn: turn.folded.dumps()))
    return {"rounds": done.rounds, "learnt": done.learnt, "passed_over": done.passed_over}
