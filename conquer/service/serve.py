"""`conquer serve`: from settings to a running server, with its log and its first model."""

import contextlib
import errno
import functools
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
from typing import Any, cast

import uvicorn
from sqlalchemy import Connection

from conquer.data.compression import content
from conquer.service.engine.long_work import finish
from conquer.service.model.schemas import ModelSettings
from conquer.service.settings import Settings
from conquer.service.store import log
from conquer.service.web.app import make_app
from conquer.service.web.connections import Guard, room_for
from conquer.service.web.server import Server
from conquer.service.work import tasks
from conquer.service.work.pool import add_groups
from conquer.service.work.tasks import create

logger = logging.getLogger("conquer.service")


def serve(
    *,
    items: str | Path | None = None,
    treebank: str | Path | None = None,
    text: str | None = None,
    **flags: Any,
) -> None:
    """Serve until a signal to stop. `flags` are fields of Settings; others come from the environment.

    `items` (JSON or a table; `text` is its column of texts if that has no usual name) or `treebank` (CoNLL-U) creates a
    model named after the file, ready for questions, unless there is one.
    """
    settings = Settings.from_environment(**flags)
    files = [(Path(file), file is treebank) for file in (items, treebank) if file is not None]
    with contextlib.ExitStack() as stack:
        sockets = _listen(settings.host, settings.port, stack)
        for file, _ in files:
            # A missing file is refused before a store is created.
            file.stat()
        server = Server(settings)
        with server.database.writing() as connection:
            lines = [start_from_file(connection, file, parse, None if parse else text) for file, parse in files]
        # A refused start leaves the process as it was: it is changed from here on.
        say = _set_up_log()
        for line in lines:
            say(line)
        place = address(settings.host, sockets[0].getsockname()[1])
        # Cached events are many and free of cycles: the full collections skip them. Young objects are collected often:
        # every closed connection leaves a cycle, and freeing fifty thousand at once stops all requests.
        gc.freeze()
        gc.set_threshold(5_000, 50, 100)
        # uvicorn raises the signal again after a clean shutdown; the process still ends with status 0.
        signal.signal(signal.SIGTERM, lambda *_: None)
        Running(server, lambda: say(f"CONQUER is at {place} (Ctrl-C stops it)")).run(sockets)


def _listen(host: str, port: int, stack: contextlib.ExitStack) -> list[socket.socket]:
    """A socket at each address of a host, closed with `stack`. Raises ValueError if none can listen there."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ValueError(f"--host must be an address of this machine, got {host!r}") from None
    found: list[socket.socket] = []
    fault = OSError()
    # A name may be given twice for one address.
    for family, place in dict.fromkeys((family, place) for family, *_, place in places):
        try:
            found.append(stack.enter_context(socket.create_server(place, family=family)))
            # Connections inherit it; asyncio's own loop leaves it off.
            found[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            fault = error
            # A name may also have addresses of a family that this machine lacks.
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                found.clear()
                break
    if not found:
        why = os.strerror(fault.errno or 0).lower()
        raise ValueError(f"cannot listen at {host} port {port} ({why}): choose another")
    return found


def address(host: str, port: int) -> str:
    """What to open in a browser.

    >>> address("127.0.0.1", 8000), address("::1", 80), address("0.0.0.0", 8000)
    ('http://127.0.0.1:8000', 'http://[::1]:80', 'http://localhost:8000 and every other address of this machine')
    """
    if host in ("0.0.0.0", "::"):
        return f"http://localhost:{port} and every other address of this machine"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _set_up_log() -> Callable[[str], None]:
    """Set up the log; returns a function that prints a line for the person who started the server.

    A terminal gets these lines and warnings; anything else gets the whole log, with times.
    """
    terminal = sys.stderr.isatty()
    form = "%(levelname)s: %(message)s" if terminal else "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.WARNING if terminal else logging.INFO, format=form, force=True)
    if terminal:
        return lambda line: print(line, file=sys.stderr, flush=True)
    return lambda line: logger.info("%s", line)


class Running(uvicorn.Server):
    """uvicorn's server; it ends at most `stop_seconds` after the signal, even if something hangs."""

    def __init__(self, server: Server, begun: Callable[[], None]) -> None:
        settings, guard = server.settings, cast("type[Guard]", functools.partial(Guard, server.bounds))
        self._seconds, self._ending, self._begun = settings.stop_seconds, server.boards.turn_away, begun
        server.bounds.connections, backlog = room_for(settings.connections)
        config = uvicorn.Config(
            make_app(server),
            http=guard,
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
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._begun()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn waits for requests; those for boards would wait in a queue.
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


def start_from_file(connection: Connection, path: Path, parse: bool, text: str | None = None) -> str:
    """Create a model of the file's items or sentences, named after it, unless there is one. Returns what was done."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).lstrip("._-")[:64] or "items"
    if name in log.headers(connection, [name]):
        return f"the model {name!r} exists and stays as it is: {path} was not read"
    settings = ModelSettings(algorithm="gnr", planted=0.05)
    if parse:
        settings = ModelSettings(algorithm="parser", task="parse", planted=0.05)
    groups, found = finish(tasks.find(settings.task).read_file(settings, content(path), text, {}))
    add_groups(connection, create(connection, name, settings), groups)
    what = "sentences" if parse else "items"
    return ": ".join(filter(None, (f"{found.items} {what} from {path}", found.described())))
