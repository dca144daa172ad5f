"""A running service: its store, its writer, its keys and its meters, with one beginning and one end."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from conquer.service import tasks
from conquer.service.http import keys
from conquer.service.http.auth import Doorkeeper
from conquer.service.http.metrics import Meters
from conquer.service.jobs.expiry import sweep
from conquer.service.jobs.listing import Listing
from conquer.service.jobs.retention import prune_all
from conquer.service.pages.insight import Names
from conquer.service.settings import Settings
from conquer.service.store.database import Database, StoreError
from conquer.service.store.log_table import Header
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
        with self.database.writing() as connection:
            secret = keys.server_secret(connection)
        self.doorkeeper = Doorkeeper(secret)
        self.refresh_keys()
        if self.doorkeeper.open and settings.host not in _LOOPBACK:
            self.database.close()
            raise StoreError(
                "without keys only this machine is served: add one with 'conquer keys add', or leave --host"
                f" at 127.0.0.1, got {settings.host}"
            )
        self.writer = Writer(self.database, tasks.build, settings)
        self.listing = Listing(self.database, self.writer)
        self.meters = Meters()
        self.names = Names(self.database)
        self.document: dict[str, Any] = {}
        """The OpenAPI document, set by the application built around this server."""
        self.ready = False
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

    def listed(self) -> list[Header]:
        """Every model as it stands in the store."""
        return self.listing.headers()

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
