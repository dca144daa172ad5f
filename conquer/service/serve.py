"""`conquer serve`: from settings to a running server, with its log lines and its first model."""

import errno
import gc
import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from sqlalchemy import Connection

from conquer.data.compression import content
from conquer.service import console
from conquer.service.console import check_address
from conquer.service.engine.long_work import finish
from conquer.service.model.schemas import ModelSettings
from conquer.service.settings import Settings
from conquer.service.store import log
from conquer.service.store.database import Database, NoStoreError
from conquer.service.web.app import make_app
from conquer.service.web.connections import Guard, room_for
from conquer.service.web.server import Server
from conquer.service.work import tasks
from conquer.service.work.creation import create
from conquer.service.work.pool import add_groups

logger = logging.getLogger("conquer.service")


def serve(
    *,
    items: str | Path | None = None,
    treebank: str | Path | None = None,
    text: str | None = None,
    **flags: Any,
) -> None:
    """Serve until told to stop. `flags` are fields of Settings; those not given come from the environment.

    `items` (JSON or a table, its column of texts named by `text` where it has no usual name) or `treebank` (CoNLL-U)
    starts a model named after the file, ready for questions, unless it is there already.
    """
    settings = Settings.from_environment(**flags)
    check_address(settings.host, settings.port)
    for file in (items, treebank):
        # A model that is there already needs no file; without a store there is none.
        if file is not None and not Path(file).exists() and not _has_store(settings.store):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    server, lines = Server(settings), []
    for path, parse in ((items, False), (treebank, True)):
        if path is not None:
            with server.database.writing() as connection:
                lines.append(start_from_file(connection, path, parse, None if parse else text))
    # Not before: what is refused until here leaves the process as it was.
    say = console.set_up()
    for line in lines:
        say(line)
    # Threads hand over often: the one that parses requests must not wait long for the one that commits.
    sys.setswitchinterval(0.0005)
    # Cached events are many and free of cycles: looking through all of them for garbage is wasted. Young objects are
    # looked at often: every closed connection leaves a cycle, and freeing fifty thousand at once stops everybody.
    gc.freeze()
    gc.set_threshold(5_000, 50, 100)
    # uvicorn raises the signal again once it has finished in order; that is then no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    Running(_config(server), settings.stop_seconds, console.welcome(settings.host), server.boards.turn_away).run()


def _has_store(address: str) -> bool:
    try:
        Database(address).close()
    except NoStoreError:
        return False
    return True


class Running(uvicorn.Server):
    """uvicorn's own, which ends `seconds` after it is told to, whatever hangs: what was answered is on disk."""

    def __init__(
        self,
        config: uvicorn.Config,
        seconds: float,
        begun: Callable[[int], None] = lambda port: None,
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._seconds, self._begun, self._ending = seconds, begun, ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._begun(self.servers[0].sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Requests are waited for: those that are only in a queue are told at once.
        self._ending()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            end = threading.Timer(self._seconds, self._give_up)
            end.daemon = True
            end.start()
        super().handle_exit(sig, frame)

    def _give_up(self) -> None:
        logger.error("something still hangs %g s after the signal to stop: ending without it", self._seconds)
        os._exit(1)


def _config(server: Server) -> uvicorn.Config:
    settings = server.settings
    app = make_app(server)
    plain = uvicorn.Config(app, http="httptools", log_config=None)
    plain.load()
    server.bounds.connections, backlog = room_for(settings.connections)
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=Guard.around(plain.http_protocol_class, server.bounds),
        backlog=backlog,
        # Requests whose connections have gone count too, until they are done.
        limit_concurrency=2 * server.bounds.connections,
        ws="none",
        log_config=None,
        access_log=settings.access_log,
        timeout_keep_alive=int(settings.idle_seconds),
        # Half of the time for requests, the other half for the last snapshots.
        timeout_graceful_shutdown=max(1, int(settings.stop_seconds / 2)),
        proxy_headers=False,
        server_header=False,
    )


def start_from_file(connection: Connection, path: str | Path, parse: bool, text: str | None = None) -> str:
    """A model with the file's items or sentences, named after it; an existing one stays. Returns what was done."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(path).stem).lstrip("._-")[:64] or "items"
    if name in log.headers(connection, [name]):
        return f"the model {name!r} is there already and stays as it is: {path} was not read"
    settings = ModelSettings(algorithm="gnr", planted=0.05)
    if parse:
        settings = ModelSettings(algorithm="parser", task="parse", planted=0.05)
    file = tasks.ItemFile(content(Path(path)), text=text)
    groups, found = finish(tasks.find(settings.task).read_file(settings, file))
    add_groups(connection, create(connection, name, settings), groups)
    what = "sentences" if parse else "items"
    return ": ".join(filter(None, (f"{found.items} {what} from {path}", found.described())))
