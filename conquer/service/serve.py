"""What the command line calls: serve a store, manage its keys, back it up, restore, erase and replay."""

import contextlib
import gc
import json
import logging
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from conquer.service.http import keys as key_store
from conquer.service.settings import Settings
from conquer.service.store.database import Database

if TYPE_CHECKING:
    from conquer.service.jobs.erasure import Gone
    from conquer.service.writer.queue import Writer

Key = key_store.Key


class _Lines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    store: str | None = None,
    items: str | Path | None = None,
    treebank: str | Path | None = None,
    **more: Any,
) -> None:
    """Serve until told to stop. None: the environment variable (CONQUER_HOST, ...) or the default.

    `items` (JSON lines or CSV) or `treebank` (CoNLL-U) starts a model named after the file, ready for questions,
    unless it is there already.
    """
    import uvicorn

    from conquer.service.app import make_app
    from conquer.service.http.timeouts import PatientProtocol
    from conquer.service.server import Server

    settings = Settings.from_environment(host=host, port=port, store=store, **more)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # Threads hand over often: the one that parses requests must not wait long for the one that commits.
    sys.setswitchinterval(0.0005)
    # Cached events are many and free of cycles: looking through them for garbage every few requests is wasted.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    server = Server(settings)
    server.database.claim()
    for path, parse in ((items, False), (treebank, True)):
        if path is not None:
            with server.database.writing() as connection:
                start_from_file(connection, path, parse)
    PatientProtocol.seconds = settings.read_seconds
    app = make_app(server)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=PatientProtocol,
        ws="none",
        log_config=None,
        access_log=settings.access_log,
        limit_concurrency=settings.connections,
        timeout_keep_alive=int(settings.idle_seconds),
        timeout_graceful_shutdown=30,
        proxy_headers=bool(settings.proxy),
        forwarded_allow_ips=settings.proxy or None,
        server_header=False,
    )
    # uvicorn raises the signal again once it has finished in order; that is then no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    uvicorn.Server(config).run()


def start_from_file(connection: Connection, path: str | Path, parse: bool) -> str:
    """A model with the file's items or sentences, named after it; an existing one stays. Returns the name."""
    from conquer.service import tasks
    from conquer.service.annotation.pool import add_groups
    from conquer.service.http.schemas import ModelSettings
    from conquer.service.routes.models import create
    from conquer.service.store import log_table

    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(path).stem).lstrip("._-")[:64] or "items"
    if name not in log_table.headers(connection, [name], lock=False):
        settings = ModelSettings(algorithm="gnr", planted=0.05)
        if parse:
            settings = ModelSettings(algorithm="parser", task="parse", planted=0.05)
        groups = tasks.find(settings.task).read_file(settings, Path(path).read_bytes(), False, 1)
        add_groups(connection, create(connection, name, settings, 1 << 30), groups)
    return name


@contextlib.contextmanager
def opened(store: str | None, claim: bool = False) -> Iterator[Database]:
    database = Database(Settings.from_environment(store=store).store)
    try:
        if claim:
            database.claim()
        yield database
    finally:
        database.close()


def keys_add(
    name: str, *, roles: Sequence[str], models: Sequence[str] = ("*",), store: str | None = None
) -> tuple[Key, str]:
    """A new key and its secret, which is shown this once."""
    with opened(store) as database, database.writing() as connection:
        return key_store.add(connection, name, roles, models)


def keys_list(*, store: str | None = None) -> list[Key]:
    """All keys, oldest first; a revoked one says when."""
    with opened(store) as database, database.reading() as connection:
        return [key for _, key in key_store.every(connection)]


def keys_revoke(key_id: str, *, store: str | None = None) -> None:
    """Revoke a key by its id; running servers refuse it within a second."""
    with opened(store) as database, database.writing() as connection:
        if not key_store.revoke(connection, key_id):
            raise ValueError(f"there is no key {key_id!r} in force")


def backup(path: str | Path, *, store: str | None = None) -> dict[str, int]:
    """Copy a store, also one being served, to a new file; returns rows per table."""
    from conquer.service.store.backup import back_up

    return back_up(Settings.from_environment(store=store).store, Path(path))


def restore(path: str | Path, *, store: str | None = None) -> dict[str, int]:
    """Fill an empty store from a backup, SQLite or PostgreSQL; returns rows per table."""
    from conquer.service.store.backup import bring_back

    return bring_back(Path(path), Settings.from_environment(store=store).store)


@contextlib.contextmanager
def _writer(store: str | None) -> Iterator["Writer"]:
    """A writer without a server; a SQLite store that is being served refuses."""
    from conquer.service import tasks
    from conquer.service.writer.queue import Writer

    settings = Settings.from_environment(store=store)
    with opened(store, claim=True) as database:
        writer = Writer(database, tasks.build, settings)
        writer.start()
        try:
            yield writer
        finally:
            writer.stop()


def erase(voter: str, *, models: Sequence[str] = (), store: str | None = None) -> dict[str, "Gone"]:
    """Remove a voter's rows from the named models (all of them by default); returns what became of them per model.

    A SQLite store that is being served does this over HTTP: POST /v1/models/NAME/erase.
    """
    from conquer.service.jobs.erasure import erase_voter
    from conquer.service.store.log_table import all_headers

    with _writer(store) as writer:
        if not models:
            with writer.database.reading() as connection:
                models = [header.name for header in all_headers(connection)]
        return {name: writer.call_now(name, lambda turn: erase_voter(turn, voter)) for name in models}


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
    from conquer.service.log.exchange import feed, opening_settings, read_ledger
    from conquer.service.routes.models import create

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
    with _writer(store) as writer:
        writer.call_now(None, lambda connection: create(connection, name, settings, 1 << 30))
        done = feed(lines, lambda work: writer.call_now(name, work))
        if model is not None:
            write_atomically(model, writer.call_now(name, lambda turn: turn.folded.dumps()))
    return {"rounds": done.rounds, "learnt": done.learnt, "passed_over": done.passed_over}
