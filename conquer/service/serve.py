"""`conquer serve`: from settings to a running server, with its log lines and its first model."""

import gc
import json
import logging
import re
import signal
import sys
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy import Connection

from conquer.service import tasks
from conquer.service.annotation.pool import add_groups
from conquer.service.app import make_app
from conquer.service.commands.creation import create
from conquer.service.http.schemas import ModelSettings
from conquer.service.http.timeouts import PatientProtocol
from conquer.service.server import Server
from conquer.service.settings import Settings
from conquer.service.store import log_table


class JsonLines(logging.Formatter):
    """One JSON object per line."""

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


def serve(*, items: str | Path | None = None, treebank: str | Path | None = None, **flags: Any) -> None:
    """Serve until told to stop. `flags` are fields of Settings; those not given come from the environment.

    `items` (JSON lines or CSV) or `treebank` (CoNLL-U) starts a model named after the file, ready for questions,
    unless it is there already.
    """
    settings = Settings.from_environment(**flags)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
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
    # uvicorn raises the signal again once it has finished in order; that is then no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    uvicorn.Server(_config(server)).run()


def _config(server: Server) -> uvicorn.Config:
    settings = server.settings
    return uvicorn.Config(
        make_app(server),
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


def start_from_file(connection: Connection, path: str | Path, parse: bool) -> str:
    """A model with the file's items or sentences, named after it; an existing one stays. Returns the name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(path).stem).lstrip("._-")[:64] or "items"
    if name not in log_table.headers(connection, [name], lock=False):
        settings = ModelSettings(algorithm="gnr", planted=0.05)
        if parse:
            settings = ModelSettings(algorithm="parser", task="parse", planted=0.05)
        groups = tasks.find(settings.task).read_file(settings, Path(path).read_bytes(), False, 1)
        add_groups(connection, create(connection, name, settings), groups)
    return name
