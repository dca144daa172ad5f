"""The one place that writes: whatever requests are waiting are carried out and committed together.

Requests are decided on the event loop, between reading sockets, and only the commit waits for the disk in a thread
of its own: two threads that compute would take turns holding the interpreter and slow each other down.
"""

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from conquer.service.errors import Kind, RefusalError, conflict
from conquer.service.log.fold import EVENT_BYTES, Folded
from conquer.service.log.loading import Build
from conquer.service.log.transaction import Turn
from conquer.service.settings import Settings
from conquer.service.store import log_table, snapshots
from conquer.service.store.database import Database
from conquer.service.writer.batch import Batches, Job, Prepared, deliver

Work = Callable[[Any], Any]


class Writer:
    """A queue in front of `Batches`. `call` from the event loop, `call_now` from any other thread."""

    def __init__(
        self, database: Database, build: Build, settings: Settings, clock: Callable[[], float] = time.time
    ) -> None:
        self.database, self.settings, self.clock = database, settings, clock
        self.batches = Batches(database, build, settings, lambda: self.clock())
        self._queue: deque[Job] = deque()
        self._lock = threading.Lock()
        self._busy, self._stopping = False, False
        self._idle = threading.Event()
        self._idle.set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = ThreadPoolExecutor(1, "conquer-writer")
        self._background = ThreadPoolExecutor(1, "conquer-snapshots")

    @property
    def models(self) -> OrderedDict[str, Folded]:
        return self.batches.models

    @property
    def build(self) -> Build:
        """How a model's learner is made."""
        return self.batches.build

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.database.claim()
        self._loop = loop

    def stop(self) -> None:
        """Finish what is queued, store a snapshot of every changed model, and let go of the store."""
        with self._lock:
            self._stopping = True
        self._idle.wait()
        self._worker.shutdown()
        self._background.shutdown()
        for folded in self.models.values():
            if folded.since_snapshot:
                self._store_now(folded)
        self.batches.close()

    def call(
        self, model: str | None, work: Work, events: tuple[str, ...] = (), light: bool = False
    ) -> "asyncio.Future[Any]":
        """Queue a job from the event loop; a full queue refuses at once."""
        if self._loop is None:
            raise RuntimeError("start(loop) comes before call")
        if len(self._queue) >= self.settings.queue:
            raise RefusalError(Kind.BUSY, "busy", f"{len(self._queue)} requests are waiting; try again", retry_after=1)
        future = self._loop.create_future()
        if self._put(Job(model, work, events, future, light)):
            self._loop.call_soon(self._next)
        return future

    def call_now(self, model: str | None, work: Work, events: tuple[str, ...] = ()) -> Any:
        """Queue a job from another thread and wait for its result."""
        future: Future[Any] = Future()
        if self._put(Job(model, work, events, future)):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._next)
            else:
                self._worker.submit(self._drain)
        return future.result()

    def _put(self, job: Job) -> bool:
        """True when nobody is at work, so that somebody must begin."""
        with self._lock:
            if self._stopping:
                raise RefusalError(Kind.UNAVAILABLE, "stopping", "the server is stopping", retry_after=1)
            self._queue.append(job)
            begin = not self._busy
            self._busy = True
            self._idle.clear()
        return begin

    def _take(self) -> list[Job]:
        with self._lock:
            jobs = [self._queue.popleft() for _ in range(min(len(self._queue), self.settings.batch))]
            if not jobs:
                self._busy = False
                self._idle.set()
        return jobs

    def _next(self) -> None:
        """On the event loop: decide the waiting requests, then let a thread wait for the disk."""
        jobs = self._take()
        if not jobs:
            return
        # Loading a model takes long, and on a shared store others may hold its lock: neither may stop the loop.
        quick = not self.database.shared and all(job.light and job.model in self.models for job in jobs)
        if not quick:
            self._worker.submit(self._all_of, jobs)
            return
        prepared = self.batches.prepare(jobs)
        self._worker.submit(self._rest_of, jobs, prepared)

    def _all_of(self, jobs: list[Job]) -> None:
        self._rest_of(jobs, self.batches.prepare(jobs))

    def _rest_of(self, jobs: list[Job], prepared: Prepared | None) -> None:
        if prepared is not None:
            self.batches.commit(prepared)
        self._housekeeping()
        deliver(job for job in jobs if isinstance(job.future, Future))
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._finished, jobs)

    def _finished(self, jobs: list[Job]) -> None:
        deliver(job for job in jobs if not isinstance(job.future, Future))
        # Let the loop send these replies and read what has come meanwhile: the next commit then carries more.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._next)

    def _drain(self) -> None:
        """Without an event loop, as from the command line."""
        while jobs := self._take():
            self._all_of(jobs)

    def _housekeeping(self) -> None:
        for folded in list(self.models.values()):
            folded.trim(self.settings.events_cached, min(EVENT_BYTES, self.settings.cache_bytes // 4))
            if folded.since_snapshot >= self.settings.snapshot_every:
                self._store_later(folded)
        used = sum(folded.size for folded in self.models.values())
        while used > self.settings.cache_bytes and len(self.models) > 1:
            _, dropped = self.models.popitem(last=False)
            used -= dropped.size

    def _store_later(self, folded: Folded) -> None:
        """Copy the weights now; compress in the background; write part by part between other commits."""
        data, position = folded.dumps(), folded.position
        folded.since_snapshot = 0

        def compress() -> None:
            pieces = snapshots.pieces(data)
            for part, piece in enumerate(pieces):
                try:
                    self.call_now(folded.name, _snapshot_part(folded, position, part, len(pieces), piece))
                except RefusalError:
                    return

        self._background.submit(compress)

    def _store_now(self, folded: Folded) -> None:
        pieces = snapshots.pieces(folded.dumps())
        with self.database.writing() as connection:
            found = log_table.headers(connection, [folded.name], lock=self.database.shared).get(folded.name)
            if found is None or found.id != folded.id or found.position != folded.position:
                return
            if snapshots.exists(connection, folded.id, folded.position):
                return
            snapshots.replace(connection, folded.id, folded.position, pieces, self.clock())
            snapshots.thin(connection, folded.id, found.base)


def _snapshot_part(folded: Folded, position: int, part: int, count: int, piece: bytes) -> Work:
    def work(turn: Turn) -> None:
        # A model folded again since then may have been corrected before `position`: its snapshot is void.
        if turn.folded is not folded:
            raise conflict("void", f"model {folded.name!r} has been folded again")
        if part == 0 and snapshots.exists(turn.connection, folded.id, position):
            raise conflict("snapshot_exists", f"another server stores position {position}")
        snapshots.write_piece(turn.connection, folded.id, position, part, count, turn.now, piece)
        if part == count - 1:
            snapshots.thin(turn.connection, folded.id, turn.base)

    return work
