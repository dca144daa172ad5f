"""The one thread that writes: it takes whatever requests are waiting, carries them out and commits them together."""

import asyncio
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from conquer.service import store
from conquer.service.database import Database
from conquer.service.folding import Folded
from conquer.service.loading import Build, catch_up, load
from conquer.service.refusals import RefusalError, unknown_model
from conquer.service.settings import Settings
from conquer.service.turns import Turn

Work = Callable[[Turn], Any]
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Job:
    """Something to do on a model (or, with model None, on the store), and whom to tell."""

    model: str | None
    work: Callable[[Any], Any]
    events: tuple[str, ...]
    future: "Future[Any] | asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = field(default=None)


class Writer:
    """Owns every model in memory. `call` from the event loop, `call_now` from any other thread.

    A job runs inside the batch's transaction and is answered after the commit. When a commit fails, the models it
    touched are forgotten and read again from the store, so memory never runs ahead of the disk.
    """

    def __init__(
        self, database: Database, build: Build, settings: Settings, clock: Callable[[], float] = time.time
    ) -> None:
        self.database, self.build, self.settings, self.clock = database, build, settings, clock
        self.models: OrderedDict[str, Folded] = OrderedDict()
        self.commits = 0
        self._bases: dict[str, int] = {}
        self._queue: deque[Job] = deque()
        self._ready = threading.Condition()
        self._stopping = False
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._background = ThreadPoolExecutor(1, "conquer-snapshots")
        self._thread = threading.Thread(target=self._run, name="conquer-writer", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.database.claim()
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued, store a snapshot of every changed model, and let go of the store."""
        with self._ready:
            self._stopping = True
            self._ready.notify()
        self._thread.join()
        self._background.shutdown()
        if self._connection is not None:
            self._connection.close()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def call(
        self, model: str | None, work: Callable[[Any], Any], events: tuple[str, ...] = ()
    ) -> "asyncio.Future[Any]":
        """Queue a job from the event loop; a full queue refuses at once."""
        if self._loop is None:
            raise RuntimeError("start(loop) comes before call")
        if len(self._queue) >= self.settings.queue:
            raise RefusalError(429, "busy", f"{len(self._queue)} requests are waiting; try again", retry_after=1)
        future = self._loop.create_future()
        self._put(Job(model, work, events, future))
        return future

    def call_now(self, model: str | None, work: Callable[[Any], Any], events: tuple[str, ...] = ()) -> Any:
        """Queue a job from another thread and wait for its result."""
        future: Future[Any] = Future()
        self._put(Job(model, work, events, future))
        return future.result()

    def _put(self, job: Job) -> None:
        with self._ready:
            if self._stopping:
                raise RefusalError(503, "stopping", "the server is stopping", retry_after=1)
            self._queue.append(job)
            self._ready.notify()

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._queue and not self._stopping:
                    self._ready.wait()
                if not self._queue:
                    break
                jobs = [self._queue.popleft() for _ in range(min(len(self._queue), self.settings.batch))]
            self._carry_out(jobs)
            self._tell(jobs)
            self._housekeeping()
        for folded in self.models.values():
            if folded.since_snapshot:
                self._store_now(folded)

    def _carry_out(self, jobs: list[Job]) -> None:
        """All in one commit; if that fails, one by one, so that only the culprit is told of its failure."""
        try:
            self._transact(jobs)
            return
        except RefusalError as refusal:
            # Refused half-way: what it had appended goes with the transaction.
            failure: Exception = refusal
        except (DBAPIError, OSError) as error:
            cause = getattr(error, "orig", None) or error
            message = f"the store did not take it ({cause}); nothing was learnt"
            failure = RefusalError(503, "storage", message, retry_after=1)
        except Exception as error:
            logger.exception("a batch of %d failed; its models are read again from the store", len(jobs))
            failure = error
        self._forget(jobs)
        if len(jobs) > 1:
            for job in jobs:
                self._carry_out([job])
        else:
            jobs[0].error = failure

    def _transact(self, jobs: list[Job]) -> None:
        if self._connection is None:
            self._connection = self.database.engine.connect().execution_options(conquer_writes=True)
        connection = self._connection
        with connection.begin():
            turns = self._turns(connection, jobs)
            for job in jobs:
                job.result = job.error = None
                before = _places(turns)
                try:
                    job.result = self._one(connection, turns, job)
                except RefusalError as refusal:
                    if _places(turns) != before:
                        raise
                    job.error = refusal
            for turn in turns.values():
                turn.flush()
        self.commits += 1
        for name, turn in turns.items():
            if turn.removed:
                self.models.pop(name, None)
            else:
                self._bases[name] = turn.base
                self.models[name] = turn.folded
                self.models.move_to_end(name)

    def _one(self, connection: Connection, turns: dict[str, Turn], job: Job) -> Any:
        if job.model is None:
            return job.work(connection)
        if job.model not in turns or turns[job.model].removed:
            raise unknown_model(job.model)
        return job.work(turns[job.model])

    def _turns(self, connection: Connection, jobs: list[Job]) -> dict[str, Turn]:
        wanted: dict[str, list[str]] = {}
        for job in jobs:
            if job.model is not None:
                wanted.setdefault(job.model, []).extend(job.events)
        unknown = [name for name in wanted if self.database.shared or name not in self.models]
        found = store.headers(connection, unknown, lock=self.database.shared) if unknown else {}
        now = self.clock()
        turns: dict[str, Turn] = {}
        for name, events in wanted.items():
            folded = self.models.get(name)
            if name in unknown:
                if name not in found:
                    self.models.pop(name, None)
                    continue
                folded = self._current(connection, folded, found[name])
                self._bases[name] = found[name].base
            if folded is None:
                raise RuntimeError(f"model {name!r} was neither cached nor looked up")
            turns[name] = Turn(connection, folded, self._bases[name], now, self.build)
            turns[name].look_up(events)
        return turns

    def _current(self, connection: Connection, folded: Folded | None, header: store.Header) -> Folded:
        """The model at the head of its log, whoever wrote it."""
        if folded is not None and folded.id == header.id:
            if folded.position < header.position:
                catch_up(connection, folded, self.settings.events_cached)
            if not folded.stale:
                return folded
        return load(connection, header, self.build, self.settings.events_cached)

    def _forget(self, jobs: Iterable[Job]) -> None:
        for name in {job.model for job in jobs if job.model is not None}:
            self.models.pop(name, None)
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _tell(self, jobs: list[Job]) -> None:
        waiting = [job for job in jobs if isinstance(job.future, asyncio.Future)]
        if waiting and self._loop is not None:
            self._loop.call_soon_threadsafe(_deliver, waiting)
        _deliver(job for job in jobs if not isinstance(job.future, asyncio.Future))

    def _housekeeping(self) -> None:
        for folded in list(self.models.values()):
            folded.trim(self.settings.events_cached)
            if folded.since_snapshot >= self.settings.snapshot_every:
                self._store_later(folded)
        used = sum(folded.brain.size for folded in self.models.values())
        while used > self.settings.cache_bytes and len(self.models) > 1:
            _, dropped = self.models.popitem(last=False)
            used -= dropped.brain.size

    def _store_later(self, folded: Folded) -> None:
        """Copy the weights now; compress beside the writer; write part by part between other commits."""
        data, position = folded.dumps(), folded.position
        folded.since_snapshot = 0

        def compress() -> None:
            pieces = store.parts(data)
            for part, piece in enumerate(pieces):
                try:
                    self.call_now(folded.name, _snapshot_part(folded, position, part, len(pieces), piece))
                except RefusalError:
                    return

        self._background.submit(compress)

    def _store_now(self, folded: Folded) -> None:
        pieces = store.parts(folded.dumps())
        with self.database.writing() as connection:
            if folded.position in store.complete(connection, folded.id):
                return
            found = store.headers(connection, [folded.name], lock=self.database.shared)
            if found.get(folded.name) is None or found[folded.name].position != folded.position:
                return
            for part, piece in enumerate(pieces):
                store.write_part(connection, folded.id, folded.position, part, len(pieces), self.clock(), piece)
            store.thin_snapshots(connection, folded.id, self._bases.get(folded.name, 0))


def _snapshot_part(folded: Folded, position: int, part: int, count: int, piece: bytes) -> Work:
    def work(turn: Turn) -> None:
        # A model folded again since then may have been corrected before `position`: its snapshot is void.
        if turn.folded is not folded:
            return
        if part == 0 and store.has_snapshot(turn.connection, folded.id, position):
            raise RefusalError(409, "snapshot_exists", f"another server stores position {position}")
        store.write_part(turn.connection, folded.id, position, part, count, turn.now, piece)
        if part == count - 1:
            store.thin_snapshots(turn.connection, folded.id, turn.base)

    return work


def _places(turns: dict[str, Turn]) -> list[int]:
    return [turn.folded.position for turn in turns.values()]


def _deliver(jobs: Iterable[Job]) -> None:
    for job in jobs:
        if job.future.cancelled():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
