"""A batch of requests as one transaction: run them all, write their rows, commit; memory never ahead of the disk."""

import asyncio
import logging
from collections import OrderedDict, deque
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
class QueuedWork:
    """Work to do on a model (or, with model None, on the store), and whom to tell.

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
    """A batch that was carried out inside a transaction which waits for its commit."""

    batch: list[QueuedWork]
    transaction: RootTransaction
    turns: dict[str, Turn]


class Batches:
    """Owns every model in memory and the one connection that writes. For one thread at a time."""

    def __init__(self, database: Database, build: Build, settings: Settings, clock: Callable[[], float]) -> None:
        self.database, self.build, self.settings, self.clock = database, build, settings, clock
        self.models: OrderedDict[str, Folded] = OrderedDict()
        self.bases: dict[str, int] = {}
        self.commits = 0
        self.digests: deque[tuple[int, int, int, str]] = deque(maxlen=1000)
        self._connection: Connection | None = None

    def carry_out(self, batch: list[QueuedWork]) -> None:
        """All in one commit; if that fails, one by one, so that only the culprit is told of its failure."""
        prepared = self.prepare(batch)
        if prepared is not None:
            self.commit(prepared)

    def prepare(self, batch: list[QueuedWork]) -> Prepared | None:
        """Do its work and write its rows. None: that failed, and each was carried out on its own instead."""
        found: list[Prepared] = []
        failure = _attempt(lambda: found.append(self._prepare(batch)))
        if failure is None:
            return found[0]
        self._recover(batch, failure)
        return None

    def commit(self, prepared: Prepared) -> None:
        """Make it durable; only then are the models' new states the ones that later requests see."""
        failure = _attempt(prepared.transaction.commit)
        if failure is not None:
            self._recover(prepared.batch, failure)
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

    def _recover(self, batch: list[QueuedWork], failure: Exception) -> None:
        """Forget what memory may hold beyond the disk, then give each of the batch a transaction of its own."""
        for name in {queued.model for queued in batch if queued.model is not None}:
            self.models.pop(name, None)
        if self._connection is not None:
            self._connection.invalidate()
            self.close()
        if len(batch) == 1:
            batch[0].error = failure
            return
        for queued in batch:
            self.carry_out([queued])

    def _prepare(self, batch: list[QueuedWork]) -> Prepared:
        if self._connection is None:
            self._connection = self.database.engine.connect().execution_options(conquer_writes=True)
        connection = self._connection
        transaction = connection.begin()
        turns = self._turns(connection, batch)
        for queued in batch:
            queued.result = queued.error = None
            before = [turn.folded.position for turn in turns.values()]
            try:
                queued.result = _run(connection, turns, queued)
            except RefusalError as refusal:
                # Refused half-way: what it had appended must go, and with it the transaction.
                if refusal.tainted or [turn.folded.position for turn in turns.values()] != before:
                    raise
                queued.error = refusal
        for turn in turns.values():
            turn.flush()
        return Prepared(batch, transaction, turns)

    def _turns(self, connection: Connection, batch: list[QueuedWork]) -> dict[str, Turn]:
        wanted: dict[str, list[str]] = {}
        for queued in batch:
            if queued.model is not None:
                wanted.setdefault(queued.model, []).extend(queued.events)
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


def _run(connection: Connection, turns: dict[str, Turn], queued: QueuedWork) -> Any:
    if queued.model is None:
        return queued.work(connection)
    if queued.model not in turns or turns[queued.model].removed:
        raise unknown_model(queued.model)
    return queued.work(turns[queued.model])


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


def deliver(batch: Iterable[QueuedWork]) -> None:
    """Tell everyone what became of their work."""
    for queued in batch:
        if queued.future.cancelled():
            continue
        if queued.error is not None:
            queued.future.set_exception(queued.error)
        else:
            queued.future.set_result(queued.result)
