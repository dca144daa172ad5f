"""A running service: its store, its writer, its keys and its meters, with one beginning and one end."""

import asyncio
import contextlib
import logging
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy.exc import DBAPIError

from conquer.kernels.core import background
from conquer.service import tasks
from conquer.service.alarms import Alarms
from conquer.service.errors import Kind, RefusalError
from conquer.service.http import keys
from conquer.service.http.auth import Doorkeeper
from conquer.service.http.bounds import Bounds
from conquer.service.http.budget import Budget
from conquer.service.http.cors import origins_of
from conquer.service.http.invitations import all_invitations
from conquer.service.http.metrics import Meters
from conquer.service.http.rates import Buckets
from conquer.service.http.sessions import end_session, ended_sessions
from conquer.service.jobs.agreement import compare
from conquer.service.jobs.boards import Boards
from conquer.service.jobs.deletion import sweep_deleted
from conquer.service.jobs.each import each_model
from conquer.service.jobs.expiry import Seen, sweep
from conquer.service.jobs.listing import Listing
from conquer.service.jobs.presence import beat
from conquer.service.jobs.retention import prune_all
from conquer.service.jobs.schedule import Job
from conquer.service.pages.insight import Names
from conquer.service.settings import Settings
from conquer.service.store.database import Database, StoreError
from conquer.service.store.log_table import Header
from conquer.service.store.secrecy import cookie_secret
from conquer.service.store.servers import BEAT
from conquer.service.writer.queue import Writer

logger = logging.getLogger(__name__)
_PRUNING = 600.0
_MEASURING = 20.0
_CHECKPOINT = 1.0
_DELETING = 1.0
_KEYS = 1.0
_PATIENCE = 2.0
"""How long a look at the store may take before it counts as not taking writes."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Server:
    """What the handlers share. `start` and `stop` run in the event loop that serves."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.store)
        try:
            origins = origins_of(settings.cors)
            if settings.key:
                with self.database.writing() as connection:
                    keys.adopt(connection, settings.key)
        except ValueError:
            self.database.close()
            raise
        self.doorkeeper = Doorkeeper(cookie_secret(self.database), origins)
        self.refresh_keys()
        if self.doorkeeper.open and settings.host not in _LOOPBACK:
            self.database.close()
            raise StoreError(
                "without keys only this machine is served: add one with 'conquer keys add', or give one of your own as"
                f" CONQUER_KEY, or leave --host at 127.0.0.1, got {settings.host}"
            )
        self.alarms = Alarms()
        self.writer = Writer(self.database, tasks.build, settings, alarms=self.alarms)
        self.listing = Listing(self.database, self.writer)
        self.boards = Boards(self.writer)
        self.meters = Meters()
        self.bounds = Bounds(
            settings.read_seconds, settings.connections, settings.connections_per_address, settings.proxy
        )
        self.budget = Budget(settings.flight_bytes)
        self.buckets = Buckets(settings.requests_per_second) if settings.requests_per_second else None
        self.long_work = ThreadPoolExecutor(2, "conquer-long")
        """For uploads, imports and files being read: whatever else needs a thread does not wait behind them."""
        self.parsing = ThreadPoolExecutor(1, "conquer-parsing")
        """For whole treebanks to be parsed or measured, one at a time."""
        self.asking = ThreadPoolExecutor(2, "conquer-asking")
        """For long logs that are read for annotators, two models' at a time."""
        self._jobs = ThreadPoolExecutor(4, "conquer-jobs")
        self._presence = ThreadPoolExecutor(1, "conquer-presence")
        """Whoever is not seen for ten seconds does not count: this waits behind nobody."""
        self.reading: dict[str, asyncio.Task[None]] = {}
        """Models whose logs are being read for who answered about what: whoever else needs it waits for the same."""
        self._seen: Seen = {}
        self.deleted = threading.Event()
        """Models have been deleted, and their rows may be there; at the start nobody knows."""
        self.deleted.set()
        self._stopping = threading.Event()
        self._keys = threading.Thread(target=self._watch_keys, name="conquer-keys", daemon=True)
        self._probe: asyncio.Future[Any] | None = None
        self._probed, self._mark = -_PATIENCE, f"probe of {secrets.token_hex(8)}"
        self.names = Names(self.database)
        self.document: dict[str, Any] = {}
        """The OpenAPI document, set by the application built around this server."""
        self.ready = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self.writer.start(asyncio.get_running_loop())
        self._keys.start()
        jobs = [
            Job("checkpoint", _CHECKPOINT, self.database.checkpoint),
            Job("sweep", self.settings.sweep_seconds, lambda: sweep(self.writer, self._seen)),
            Job("sweep-deleted", _DELETING, self._sweep_deleted),
            Job("measure", _MEASURING, self._measure),
        ]
        if self.settings.retention_days:
            jobs.append(Job("prune", _PRUNING, self._prune))
        self._tasks = [
            asyncio.create_task(self._warm()),
            *(asyncio.create_task(job.again_and_again(self.alarms, self._jobs)) for job in jobs),
        ]
        if self.database.shared:
            presence = Job("presence", BEAT, self._look_around)
            self._tasks.append(asyncio.create_task(presence.again_and_again(self.alarms, self._presence)))
        self.ready = True

    async def _warm(self) -> None:
        """Ask for the kernels of all kinds of models; until they are compiled, requests work, only slower."""
        job, failures = Job("warm", 1.0, self._load_kernels), 0
        while not await asyncio.get_running_loop().run_in_executor(self._jobs, job.attempt, self.alarms):
            failures += 1
            await asyncio.sleep(job.pause(failures))

    def _load_kernels(self) -> None:
        background.compile_all()
        background.report = logger.info
        for name in dict.fromkeys(["pick", *(header.settings.task for header in self.listed())]):
            tasks.find(name).warm()

    def _measure(self) -> None:
        """The models in memory whose task can tell how good they are, so that curves have no gaps."""
        rows = {name: tasks.find(folded.settings.task) for name, folded in list(self.writer.models.items())}
        measures = {name: row.measure for name, row in rows.items() if row.measure is not None}

        def one(header: Header) -> int:
            if header.name in measures:
                measures[header.name](self.writer, header.name)
            return 0

        if measures:
            each_model(self.writer, "measure", one)

    def _look_around(self) -> None:
        """On a shared store: say that this server is there, and compare its folds with the others'."""
        beat(self.database, self.alarms.raise_, self.alarms.clear)
        compare(self.database, self.writer.batches.digests, self.alarms.raise_)

    def _sweep_deleted(self) -> None:
        if self.deleted.is_set():
            self.deleted.clear()
            try:
                sweep_deleted(self.writer)
            except BaseException:
                self.deleted.set()
                raise

    def _prune(self) -> None:
        prune_all(self.writer, self.settings.retention_days)

    async def stop(self) -> None:
        self.ready = False
        self._stopping.set()
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.get_running_loop().run_in_executor(None, self._finish)

    def _finish(self) -> None:
        self.writer.stop()
        self.boards.close()
        for threads in (self.long_work, self.parsing, self.asking, self._jobs, self._presence):
            threads.shutdown(cancel_futures=True)
        self._keys.join()
        self.database.close()

    async def check_store(self) -> None:
        """A RefusalError unless the store takes a write: a real one, made once a second for all who ask."""
        now = time.monotonic()
        if self._probe is None or (self._probe.done() and now - self._probed >= 1):
            self._probed = now
            self._probe = self.writer.call(
                None, lambda connection: end_session(connection, self._mark, time.time() + 3600)
            )
            # It may end when nobody waits for it any more.
            self._probe.add_done_callback(lambda probe: probe.cancelled() or probe.exception())
        done, _ = await asyncio.wait({self._probe}, timeout=_PATIENCE)
        if not done:
            raise RefusalError(Kind.UNAVAILABLE, "store_slow", f"the store took no write in {_PATIENCE:g} s", 1)
        self._probe.result()

    def listed(self) -> list[Header]:
        """Every model as it stands in the store."""
        return self.listing.headers()

    def refresh_keys(self) -> None:
        """Keys, links and ended sessions, from the shell or from another server, count within a second."""
        with self.database.reading() as connection:
            known, ended, links = keys.every(connection), ended_sessions(connection), all_invitations(connection)
        self.doorkeeper.refresh(known, ended, links)

    async def refresh_now(self) -> None:
        """Take up keys and links at once; if the store is away, the next look comes within a second anyway."""
        with contextlib.suppress(DBAPIError, OSError):
            await asyncio.get_running_loop().run_in_executor(None, self.refresh_keys)

    def _watch_keys(self) -> None:
        """In a thread of its own: a revoked key must not work for longer because others are busy."""
        job = Job("keys", _KEYS, self.refresh_keys)
        while not self._stopping.wait(_KEYS):
            job.attempt(self.alarms)
