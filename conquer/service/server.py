"""A running service: its store, its writer, its keys and its meters, with one beginning and one end."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from conquer.service import tasks
from conquer.service.alarms import Alarms
from conquer.service.errors import unknown_model
from conquer.service.http import keys
from conquer.service.http.auth import Doorkeeper
from conquer.service.http.metrics import Meters
from conquer.service.jobs.agreement import compare
from conquer.service.jobs.expiry import sweep
from conquer.service.jobs.presence import beat
from conquer.service.jobs.retention import prune_all
from conquer.service.log.summaries import counts
from conquer.service.pages.insight import Names
from conquer.service.settings import Settings
from conquer.service.store import log_table
from conquer.service.store.database import Database, StoreError
from conquer.service.store.secrecy import cookie_secret
from conquer.service.store.servers import BEAT
from conquer.service.writer.queue import Writer

logger = logging.getLogger("conquer.service")
_PRUNING = 600.0
_MEASURING = 20.0
_CHECKPOINT = 1.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Server:
    """What the handlers share. `start` and `stop` run in the event loop that serves."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.store)
        self.doorkeeper = Doorkeeper(cookie_secret(self.database))
        self.refresh_keys()
        if self.doorkeeper.open and settings.host not in _LOOPBACK:
            self.database.close()
            raise StoreError(
                "without keys only this machine is served: add one with 'conquer keys add', or leave --host"
                f" at 127.0.0.1, got {settings.host}"
            )
        self.alarms = Alarms()
        self.writer = Writer(self.database, tasks.build, settings)
        self.meters = Meters()
        self.names = Names()
        self.document: dict[str, Any] = {}
        """The OpenAPI document, set by the application built around this server."""
        self.ready = False
        self._summaries: dict[int, tuple[int, dict[str, Any]]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self.writer.start(loop)
        self._tasks = [
            asyncio.create_task(self._warm()),
            asyncio.create_task(self._every(1.0, self.refresh_keys)),
            asyncio.create_task(self._every(_CHECKPOINT, self.database.checkpoint)),
            asyncio.create_task(self._every(self.settings.sweep_seconds, lambda: sweep(self.writer))),
            asyncio.create_task(self._every(_MEASURING, self._measure)),
        ]
        if self.database.shared:
            self._tasks.append(asyncio.create_task(self._every(BEAT, self._look_around)))
        if self.settings.retention_days:
            self._tasks.append(asyncio.create_task(self._every(_PRUNING, self._prune)))

    async def _warm(self) -> None:
        """Kernels are loaded beside the first requests, which work meanwhile, only slower."""
        loop = asyncio.get_running_loop()
        there = await loop.run_in_executor(None, self.listed)
        for name in ["pick", *{header.settings.task for header in there}]:
            await loop.run_in_executor(None, tasks.find(name).warm)
        self.ready = True

    def _measure(self) -> None:
        for name in {folded.settings.task for folded in list(self.writer.models.values())}:
            measure = tasks.find(name).measure
            if measure is not None:
                measure(self.writer)

    def _look_around(self) -> None:
        """On a shared store: say that this server is there, and compare its folds with the others'."""
        beat(self.database, self.alarms.raise_, self.alarms.clear)
        compare(self.database, self.writer.batches.digests, self.alarms.raise_)

    def _prune(self) -> None:
        prune_all(self.writer, self.settings.retention_days)

    async def stop(self) -> None:
        self.ready = False
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.get_running_loop().run_in_executor(None, self.writer.stop)
        self.database.close()

    def listed(self) -> list[log_table.Header]:
        """Every model as it stands in the store; numbers of those that have gone are forgotten."""
        with self.database.reading() as connection:
            headers = log_table.all_headers(connection)
        here = {header.id for header in headers}
        self._summaries = {model: known for model, known in self._summaries.items() if model in here}
        return headers

    def summary(self, header: log_table.Header) -> tuple[int, dict[str, Any]]:
        """(position, a model's numbers there), counted anew only when its log has grown."""
        known = self._summaries.get(header.id)
        if known is not None and known[0] == header.position:
            return known
        with self.database.reading() as connection:
            # The log may have been pruned since: the header must be of the same moment as the rows.
            now = log_table.headers(connection, [header.name], lock=False).get(header.name)
            if now is None or now.id != header.id:
                raise unknown_model(header.name)
            found = now.position, counts(connection, now).summary()
        self._summaries[header.id] = found
        return found

    def refresh_keys(self) -> None:
        """Keys added or revoked from the shell, or on another server, count within a second."""
        with self.database.reading() as connection:
            known = keys.every(connection)
        self.doorkeeper.keys = {digest: key for digest, key in known if key.revoked is None}
        self.doorkeeper.open = not known

    async def _every(self, seconds: float, work: Callable[[], None]) -> None:
        """Again and again; what fails once is tried again, and says so in the log."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await asyncio.get_running_loop().run_in_executor(None, work)
            except Exception:
                # Whatever it was (a full disk, a model deleted meanwhile), the next time may go well.
                logger.exception("a task failed; trying again in %g s", seconds)
