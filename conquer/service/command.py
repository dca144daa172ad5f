"""What the command line calls: serve a store, manage its keys, back it up, restore, erase and replay."""

import json
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conquer.service import keys as key_store
from conquer.service.database import Database
from conquer.service.settings import Settings

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
    items: Path | None = None,
    treebank: Path | None = None,
    **more: Any,
) -> None:
    """Serve until told to stop. None: the environment variable (CONQUER_HOST, ...) or the default.

    `items` (JSONL or CSV) or `treebank` (CoNLL-U) starts a model named after the file, ready for questions.
    """
    import uvicorn

    from conquer.service.app import make_app
    from conquer.service.patience import PatientProtocol
    from conquer.service.server import Server

    settings = Settings.from_environment(host=host, port=port, store=store, **more)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # Threads hand over often: the one that parses requests must not wait long for the one that commits.
    sys.setswitchinterval(0.001)
    server = Server(settings)
    server.database.claim()
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


def keys_add(
    name: str, *, roles: Sequence[str], models: Sequence[str] = ("*",), store: str | None = None
) -> tuple[Key, str]:
    """A new key and its secret, which is shown this once."""
    database = Database(Settings.from_environment(store=store).store)
    try:
        with database.writing() as connection:
            return key_store.add(connection, name, roles, models)
    finally:
        database.close()


def keys_list(*, store: str | None = None) -> list[Key]:
    """All keys, oldest first; a revoked one says when."""
    database = Database(Settings.from_environment(store=store).store)
    try:
        with database.reading() as connection:
            return [key for _, key in key_store.every(connection)]
    finally:
        database.close()


def keys_revoke(key_id: str, *, store: str | None = None) -> None:
    """Revoke a key by its id; running servers refuse it within a second."""
    database = Database(Settings.from_environment(store=store).store)
    try:
        with database.writing() as connection:
            if not key_store.revoke(connection, key_id):
                raise ValueError(f"there is no key {key_id!r} in force")
    finally:
        database.close()
