"""A running service: its store, engine, keys, limits and metrics, and its jobs in the background."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from sqlalchemy.exc import DBAPIError

from conquer.kernels.core import background
from conquer.service.alarms import Alarms
from conquer.service.engine.engine import Engine
from conquer.service.errors import Kind, RefusalError
from conquer.service.jobs.retention import prune_all
from conquer.service.jobs.upkeep import Job, look_around, sweep_deleted
from conquer.service.model.state import ModelState
from conquer.service.settings import Settings
from conquer.service.store import keys
from conquer.service.store.database import Database, NoStoreError, StoreError
from conquer.service.store.keys import all_invitations, cookie_secret, end_session, ended_sessions
from conquer.service.store.log import all_headers
from conquer.service.store.servers import BEAT
from conquer.service.web.access import Access, Budget, Rates, origins_of
from conquer.service.web.connections import Bounds
from conquer.service.web.metrics import Meters
from conquer.service.work import tasks
from conquer.service.work.boards import Boards
from conquer.service.work.decisions import decide
from conquer.service.work.listing import Listing

logger = logging.getLogger(__name__)
_PATIENCE = 2.0
"""Seconds after which a store that takes no write counts as unavailable."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Server:
    """What the handlers share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database, self.access = _opened(settings)
        self._ended = 0
        """The number of the last ended session that was read."""
        self.refresh_keys()
        self.alarms = Alarms()
        self.engine = Engine(self.database, tasks.build, settings, alarms=self.alarms, decide=decide)
        self.listing = Listing(self.engine)
        self.boards = Boards(self.engine)
        self.meters = Meters(self.alarms, self._gauges())
        self.bounds = Bounds(settings.read_seconds, settings.connections, settings.connections_per_address)
        self.budget = Budget(settings.flight_bytes)
        rate, joins = settings.requests_per_second, settings.joins_per_address
        message = f"this key may make {rate:g} requests a second"
        self.rates = Rates(rate, max(1.0, 2 * rate), "too_many_requests", message) if rate else None
        message = f"{joins} people joined by this link from this address; wait"
        self.joins = Rates(joins / settings.lease_seconds, joins, "too_many_joins", message)
        self.deletions, self._swept = 1, 0
        """Models deleted, and those whose rows are known to be gone; at the start some may be left of another run."""
        self._probe: asyncio.Future[Any] | None = None
        self._probed, self._mark = -_PATIENCE, f"probe of {secrets.token_hex(8)}"

    def _gauges(self) -> Iterable[tuple[str, str, Callable[[], float]]]:
        engine = self.engine

        def total(of: Callable[[ModelState], int]) -> Callable[[], float]:
            return lambda: sum(of(state) for state in list(engine.models.values()))

        yield "conquer_queue", "Requests waiting for the engine.", lambda: engine.waiting
        yield "conquer_commits", "Commits since the start.", lambda: engine.commits
        yield "conquer_models_in_memory", "Models in memory.", total(lambda state: 1)
        yield "conquer_model_bytes", "Bytes of models in memory.", total(lambda state: state.size)
        quarantined = total(lambda state: getattr(state.tally, "quarantined", 0))
        yield "conquer_quarantined_rows", "Rows of models in memory that could not be read.", quarantined
        yield "conquer_store_bytes", "Bytes of the store on disk.", self.database.bytes_used
        yield "conquer_flight_bytes", "Bytes of large requests and replies.", lambda: self.budget.used
        yield "conquer_connections", "Open connections.", lambda: self.bounds.open

    @contextlib.asynccontextmanager
    async def running(self, _: object = None) -> AsyncIterator[None]:
        """Start in this event loop, and stop at the end. The argument is the application, of its lifespan."""
        engine, days = self.engine, self.settings.retention_days
        engine.start(asyncio.get_running_loop())
        jobs = [
            Job("warm", 1.0, self._load_kernels, "warm", once=True),
            Job("checkpoint", 1.0, self.database.checkpoint),
            Job("sweep-deleted", 1.0, self._sweep_deleted),
            # A revoked key and a silent server are noticed at once.
            Job("keys", 1.0, self.refresh_keys, "keys", urgent=True),
            Job("presence", BEAT, lambda: look_around(self.database, self.alarms, engine.digests), "presence", True),
        ]
        if days:
            jobs.append(Job("prune", 600.0, lambda: prune_all(engine, days)))
        running = [asyncio.create_task(job.repeat(engine)) for job in jobs]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            # Off the event loop, which the engine's last results go to.
            await asyncio.to_thread(engine.stop)
            self.database.close()

    def _load_kernels(self) -> None:
        """Load the kernels of all kinds of models; until they are compiled, requests are slower."""
        background.compile_all()
        background.report = logger.info
        with self.database.reading() as connection:
            headers = all_headers(connection)
        for name in {"pick", *(header.settings.task for header in headers)}:
            tasks.find(name).warm()

    def _sweep_deleted(self) -> None:
        deletions = self.deletions
        if self._swept != deletions:
            sweep_deleted(self.engine)
            self._swept = deletions

    async def check_store(self) -> None:
        """Raise RefusalError unless the store takes a write. It is a real one, made at most once a second."""
        now = time.monotonic()
        if self._probe is None or (self._probe.done() and now - self._probed >= 1):
            self._probed = now
            self._probe = self.engine.call(
                None, lambda connection: end_session(connection, self._mark, time.time() + 3600)
            )
            # Its failure is read here, also if every caller has gone.
            self._probe.add_done_callback(lambda probe: probe.cancelled() or probe.exception())
        done, _ = await asyncio.wait({self._probe}, timeout=_PATIENCE)
        if not done:
            raise RefusalError(Kind.UNAVAILABLE, "store_slow", f"the store took no write in {_PATIENCE:g} s", 1)
        self._probe.result()

    def refresh_keys(self) -> None:
        """Read keys, links and ended sessions, which the shell and other servers change too."""
        with self.database.reading() as connection:
            known, links = keys.every(connection), all_invitations(connection)
            ended, last = ended_sessions(connection, self._ended)
        self.access.refresh(known, ended, links)
        self._ended = last

    async def refresh_now(self) -> None:
        """Read keys and links at once. If the store is away, they are read within a second of its return."""
        with contextlib.suppress(DBAPIError, OSError):
            await self.engine.long.run("keys", self.refresh_keys, urgent=True)


def _opened(settings: Settings) -> tuple[Database, Access]:
    """The store, locked for this server, and its keys. A store is created only for a start that is not refused."""
    origins = origins_of(settings.cors)
    if settings.key:
        keys.check_secret(settings.key, "CONQUER_KEY")
    try:
        database = Database(settings.store)
    except NoStoreError:
        _check(settings, without_keys=True)
        database = Database(settings.store, create=True)
    try:
        with database.reading() as connection:
            _check(settings, without_keys=not keys.every(connection))
        database.claim()
        if settings.key:
            with database.writing() as connection:
                keys.adopt(connection, settings.key)
        return database, Access(cookie_secret(database), origins)
    except (ValueError, OSError):
        database.close()
        raise


def _check(settings: Settings, without_keys: bool) -> None:
    if without_keys and not settings.key and (settings.host not in _LOOPBACK or "*" in origins_of(settings.cors)):
        raise StoreError(
            "without keys only this machine is served: add one with 'conquer keys add', or give one of your own as"
            f" CONQUER_KEY, or leave --host at 127.0.0.1, got {settings.host}, and CONQUER_CORS without *"
        )
