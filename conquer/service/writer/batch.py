"""A batch of requests as one transaction: run them all, write their rows, commit; memory never ahead of the disk."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RootTransaction
from sqlalchemy.exc import DBAPIError

from conquer.service.errors import Kind, RefusalError, unknown_model
from conquer.service.log.fold import Folded
from conquer.service.log.loading import Build, catch_up, load
from conquer.service.log.transaction import Turn
from conquer.service.settings import Settings
from conquer.service.store import log_table
from conquer.service.store.database import Database

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Job:
    """Something to do on a model (or, with model None, on the store), and whom to tell.

    `events` are those it will look up; `light` work takes microseconds and may run between two requests.
    """

    model: str | None
    work: Callable[[Any], Any]
    events: tuple[str, ...]
    future: "Future[Any] | asyncio.Future[Any]"
    light: bool = False
    result: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class Prepared:
    """Jobs that have run inside a transaction which waits for its commit."""

    jobs: list[Job]
    transaction: RootTransaction
    turns: dict[str, Turn]


class Batches:
    """Owns every model in memory and the one connection that writes. For one thread at a time."""

    def __init__(self, database: Database, build: Build, settings: Settings, clock: Callable[[], float]) -> None:
        self.database, self.build, self.settings, self.clock = database, build, settings, clock
        self.models: OrderedDict[str, Folded] = OrderedDict()
        self.bases: dict[str, int] = {}
        self.commits = 0
        self._connection: Connection | None = None

    def carry_out(self, jobs: list[Job]) -> None:
        """All in one commit; if that fails, one by one, so that only the culprit is told of its failure."""
        prepared = self.prepare(jobs)
        if prepared is not None:
            self.commit(prepared)

    def prepare(self, jobs: list[Job]) -> Prepared | None:
        """Run the jobs and write their rows. None: it failed, and they have been carried out one by one instead."""
        found: list[Prepared] = []
        failure = _attempt(lambda: found.append(self._prepare(jobs)))
        if failure is None:
            return found[0]
        self._recover(jobs, failure)
        return None

    def commit(self, prepared: Prepared) -> None:
        """Make it durable; only then are the models' new states the ones that later requests see."""
        failure = _attempt(prepared.transaction.commit)
        if failure is not None:
            self._recover(prepared.jobs, failure)
            return
        self.commits += 1
        for name, turn in prepared.turns.items():
            if turn.removed:
                self.models.pop(name, None)
            else:
                self.bases[name] = turn.base
                self.models[name] = turn.folded
                self.models.move_to_end(name)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _recover(self, jobs: list[Job], failure: Exception) -> None:
        """Forget what memory may hold beyond the disk, then give each job a transaction of its own."""
        for name in {job.model for job in jobs if job.model is not None}:
            self.models.pop(name, None)
        if self._connection is not None:
            self._connection.invalidate()
            self.close()
        if len(jobs) == 1:
            jobs[0].error = failure
            return
        for job in jobs:
            self.carry_out([job])

    def _prepare(self, jobs: list[Job]) -> Prepared:
        if self._connection is None:
            self._connection = self.database.engine.connect().execution_options(conquer_writes=True)
        connection = self._connection
        transaction = connection.begin()
        turns = self._turns(connection, jobs)
        for job in jobs:
            job.result = job.error = None
            before = [turn.folded.position for turn in turns.values()]
            try:
                job.result = _run(connection, turns, job)
            except RefusalError as refusal:
                # Refused half-way: what it had appended must go, and with it the transaction.
                if refusal.tainted or [turn.folded.position for turn in turns.values()] != before:
                    raise
                job.error = refusal
        for turn in turns.values():
            turn.flush()
        return Prepared(jobs, transaction, turns)

    def _turns(self, connection: Connection, jobs: list[Job]) -> dict[str, Turn]:
        wanted: dict[str, list[str]] = {}
        for job in jobs:
            if job.model is not None:
                wanted.setdefault(job.model, []).extend(job.events)
        unknown = [name for name in wanted if self.database.shared or name not in self.models]
        found = log_table.headers(connection, unknown, lock=self.database.shared) if unknown else {}
        now = self.clock()
        turns: dict[str, Turn] = {}
        for name, events in wanted.items():
            folded = self.models.get(name)
            if name in unknown:
                if name not in found:
                    self.models.pop(name, None)
                    continue
                folded = self._current(connection, folded, found[name])
                self.bases[name] = found[name].base
            if folded is None:
                raise RuntimeError(f"model {name!r} was neither cached nor looked up")
            turns[name] = Turn(connection, folded, self.bases[name], now, self.build)
            turns[name].look_up(events)
        return turns

    def _current(self, connection: Connection, folded: Folded | None, header: log_table.Header) -> Folded:
        """The model at the head of its log, whoever wrote it."""
        if folded is not None and folded.id == header.id:
            if folded.position < header.position:
                catch_up(connection, folded, self.settings.events_cached)
            if not folded.stale:
                return folded
        return load(connection, header, self.build, self.settings.events_cached)


def _run(connection: Connection, turns: dict[str, Turn], job: Job) -> Any:
    if job.model is None:
        return job.work(connection)
    if job.model not in turns or turns[job.model].removed:
        raise unknown_model(job.model)
    return job.work(turns[job.model])


def _attempt(work: Callable[[], Any]) -> Exception | None:
    """Run it; what went wrong, as the client is to hear it."""
    try:
        work()
    except RefusalError as refusal:
        return refusal
    except (DBAPIError, OSError) as error:
        cause = getattr(error, "orig", None) or error
        message = f"the store did not take it ({cause}); nothing was learnt"
        return RefusalError(Kind.UNAVAILABLE, "storage", message, retry_after=1)
    except Exception as error:
        logger.exception("a batch failed; its models are read again from the store")
        return error
    return None


def deliver(jobs: Iterable[Job]) -> None:
    """Tell everyone what became of their job."""
    for job in jobs:
        if job.future.cancelled():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
