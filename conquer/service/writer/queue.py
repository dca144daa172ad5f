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

from conquer.service.errors import Kind, RefusalError
from conquer.service.log.fold import Folded
from conquer.service.log.loading import Build
from conquer.service.settings import Settings
from conquer.service.store.database import Database
from conquer.service.writer.batch import Batches, Prepared, QueuedWork, deliver
from conquer.service.writer.upkeep import Upkeep, Work


class Writer:
    """A queue in front of `Batches`. `call` from the event loop, `call_now` from any other thread."""

    def __init__(
        self, database: Database, build: Build, settings: Settings, clock: Callable[[], float] = time.time
    ) -> None:
        self.database, self.settings, self.clock = database, settings, clock
        self.batches = Batches(database, build, settings, lambda: self.clock())
        self._upkeep = Upkeep(self.batches, self.call_now)
        self._queue: deque[QueuedWork] = deque()
        self._lock = threading.Lock()
        self._busy, self._stopping = False, False
        self._idle = threading.Event()
        self._idle.set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = ThreadPoolExecutor(1, "conquer-writer")

    @property
    def models(self) -> OrderedDict[str, Folded]:
        return self.batches.models

    @property
    def digests(self) -> deque[tuple[int, int, int, str]]:
        """(model, position, generation, digest) of folds that other servers may compare with theirs."""
        return self.batches.digests

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
        self._upkeep.stop()
        self.batches.close()

    def call(
        self, model: str | None, work: Work, events: tuple[str, ...] = (), light: bool = False
    ) -> "asyncio.Future[Any]":
        """Queue work from the event loop; a full queue refuses at once."""
        if self._loop is None:
            raise RuntimeError("start(loop) comes before call")
        if len(self._queue) >= self.settings.queue:
            raise RefusalError(Kind.BUSY, "busy", f"{len(self._queue)} requests are waiting; try again", retry_after=1)
        future = self._loop.create_future()
        if self._put(QueuedWork(model, work, events, future, light)):
            self._loop.call_soon(self._next)
        return future

    def call_now(self, model: str | None, work: Work, events: tuple[str, ...] = ()) -> Any:
        """Queue work from another thread and wait for its result."""
        future: Future[Any] = Future()
        if self._put(QueuedWork(model, work, events, future)):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._next)
            else:
                self._worker.submit(self._drain)
        return future.result()

    def _put(self, queued: QueuedWork) -> bool:
        """Add to the queue. True: it was idle, so the caller must start it."""
        with self._lock:
            if self._stopping:
                raise RefusalError(Kind.UNAVAILABLE, "stopping", "the server is stopping", retry_after=1)
            self._queue.append(queued)
            begin = not self._busy
            self._busy = True
            self._idle.clear()
        return begin

    def _take(self) -> list[QueuedWork]:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), self.settings.batch))]
            if not batch:
                self._busy = False
                self._idle.set()
        return batch

    def _next(self) -> None:
        """On the event loop: decide the waiting requests, then let a thread wait for the disk."""
        batch = self._take()
        if not batch:
            return
        # Loading a model takes long, and on a shared store others may hold its lock: neither may stop the loop.
        quick = not self.database.shared and all(one.light and one.model in self.models for one in batch)
        if not quick:
            self._worker.submit(self._all_of, batch)
            return
        prepared = self.batches.prepare(batch)
        self._worker.submit(self._rest_of, batch, prepared)

    def _all_of(self, batch: list[QueuedWork]) -> None:
        self._rest_of(batch, self.batches.prepare(batch))

    def _rest_of(self, batch: list[QueuedWork], prepared: Prepared | None) -> None:
        if prepared is not None:
            self.batches.commit(prepared)
        self._upkeep.after_commit()
        deliver(one for one in batch if isinstance(one.future, Future))
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._finished, batch)

    def _finished(self, batch: list[QueuedWork]) -> None:
        deliver(one for one in batch if not isinstance(one.future, Future))
        # Let the loop send these replies and read what has come meanwhile: the next commit then carries more.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._next)

    def _drain(self) -> None:
        """Without an event loop, as from the command line."""
        while batch := self._take():
            self._all_of(batch)
