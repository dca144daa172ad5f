"""The one place that writes: whatever requests are waiting are carried out and committed together.

Requests are decided on the event loop, between reading sockets, and only the commit waits for the disk in a thread
of its own: two threads that compute would take turns holding the interpreter and slow each other down. Models that
are not in memory are folded in another thread, and the requests for them wait aside.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from conquer.kernels.core import building
from conquer.service.alarms import Alarms
from conquer.service.errors import Kind, RefusalError
from conquer.service.log.fold import Folded
from conquer.service.log.loading import Build, load_in_slices
from conquer.service.settings import Settings
from conquer.service.store.database import Database
from conquer.service.writer.batch import Batches
from conquer.service.writer.failures import NotBegunError, UndoneError, as_told, concerns_all, is_busy, is_locked
from conquer.service.writer.folding import Arrival, Folding, Job
from conquer.service.writer.upkeep import Upkeep, Work
from conquer.service.writer.waiting import Waiting, stopping
from conquer.service.writer.work import Generation, Prepared, QueuedWork, deliver

logger = logging.getLogger(__name__)
_STOPPING = 20.0


class Writer:
    """A queue in front of `Batches`. `call` from the event loop, `call_now` from any other thread."""

    def __init__(
        self,
        database: Database,
        build: Build,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        alarms: Alarms | None = None,
    ) -> None:
        self.database, self.settings, self.clock = database, settings, clock
        self.alarms = alarms or Alarms()
        self.batches = Batches(database, build, settings, lambda: self.clock())
        self._upkeep = Upkeep(self.batches, self.call_now, self.alarms)
        self._folding = Folding(self._fold, self._arrive)
        self._waiting = Waiting(self.batches, self._folding.want, self._tell, self._upkeep.arrived)
        self._done: list[QueuedWork] = []
        self._written: Prepared | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = ThreadPoolExecutor(1, "conquer-writer")

    @property
    def models(self) -> OrderedDict[str, Folded]:
        return self.batches.models

    @property
    def build(self) -> Build:
        """How a model's learner is made."""
        return self.batches.build

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def model_bytes(self) -> int:
        """What the models in memory take, roughly."""
        return self._upkeep.used

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.database.claim()
        self._loop = loop

    def stop(self) -> None:
        """Finish what is queued, store snapshots of the models that have changed, and let go of the store."""
        self._waiting.close()
        idle = self._waiting.idle.wait(_STOPPING)
        self._folding.finish(drop=True)
        self._worker.shutdown(wait=idle)
        if idle:
            self._upkeep.stop()
            self.batches.close()

    def call(
        self,
        model: str | None,
        work: Callable[..., Any],
        events: tuple[str, ...] = (),
        light: bool = False,
        generation: Generation | None = None,
        reads: bool = False,
        request: Any = None,
    ) -> "asyncio.Future[Any]":
        """Queue work from the event loop; a full queue refuses at once. With a `request`, see `QueuedWork`."""
        if self._loop is None:
            raise RuntimeError("start(loop) comes before call")
        future = self._loop.create_future()
        self.put(QueuedWork(model, work, events, future, light, generation, reads, request))
        return future

    def put(self, queued: QueuedWork) -> None:
        """`call` for those who bring what is told: anything with a future's `done`, `set_result`, `set_exception`.

        Those are then called on the event loop.
        """
        if self._loop is None:
            raise RuntimeError("start(loop) comes before put")
        waiting = self._waiting.queued
        if waiting >= self.settings.queue:
            raise RefusalError(Kind.BUSY, "busy", f"{waiting} requests are waiting; try again", retry_after=1)
        if self._waiting.put(queued):
            self._loop.call_soon(self._next)

    def call_now(
        self,
        model: str | None,
        work: Work,
        events: tuple[str, ...] = (),
        generation: Generation | None = None,
        reads: bool = False,
    ) -> Any:
        """Queue work from another thread and wait for its result."""
        future: Future[Any] = Future()
        if self._waiting.put(QueuedWork(model, work, events, future, generation=generation, reads=reads)):
            self._wake()
        return future.result()

    def _wake(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._next)
        else:
            self._worker.submit(self._drain)

    def _fold(self, name: str) -> Job:
        # One that was folded before and could not keep up with its log goes on from where it was; not one that lacks
        # a correction: it would come to the log's end without it, again and again.
        begun = self.batches.fresh.pop(name, None)
        if begun is not None and (begun.stale or begun.void):
            begun = None
        return load_in_slices(self.database, name, self.batches.build, self.settings.events_cached, begun)

    def _arrive(self, name: str, arrival: Arrival) -> None:
        """In the folding thread: hand a model over, and start the writer if it is idle."""
        if self._waiting.arrive(name, arrival):
            self._wake()

    def _next(self) -> None:
        """On the event loop: decide the waiting requests, then let a thread wait for the disk."""
        batch = self._waiting.take()
        if not batch:
            return
        # On a shared store others may hold a model's lock: waiting for that may not stop the loop.
        # Kernels that are still being compiled are interpreted: what they decide takes milliseconds, not microseconds.
        alone = not self.database.shared and self.batches.connected and not building.pending()
        if not (alone and all(one.light and one.model not in self.batches.fresh for one in batch)):
            self._submit(batch, self._carry_out, batch)
            return
        try:
            prepared = self.batches.prepare(batch, wait=0)
        except Exception as error:
            # Another process may hold the store: it is waited for where nobody else waits.
            step: Any = (self._carry_out, batch) if is_busy(error) else (self._failed, batch, error)
            self._submit(batch, *step)
            return
        self._submit(batch, self._write_out, prepared)

    def _write_out(self, prepared: Prepared) -> None:
        """In the worker: wait for the disk, and no more. Whatever is computed there keeps the loop from computing."""
        failure = self.batches.write_out()
        if failure is None:
            self._written = prepared
        else:
            self._finish(prepared, failure)

    def _submit(self, batch: list[QueuedWork], step: Callable[..., None], *arguments: Any) -> None:
        try:
            self._worker.submit(self._in_worker, batch, step, *arguments)
        except RuntimeError:
            # The thread has ended: the server is stopping.
            self._tell(batch, stopping())
            # Whoever is queued behind them waits for an answer too.
            asyncio.get_running_loop().call_soon(self._next)

    def _in_worker(self, batch: list[QueuedWork], step: Callable[..., None], *arguments: Any) -> None:
        """Do it; whatever happens, everyone of the batch is told something and the next batch comes."""
        try:
            step(*arguments)
        except Exception as error:
            logger.exception("a batch went wrong where nothing should")
            self._tell([queued for queued in batch if not queued.future.done()], error)
        finally:
            done, self._done, written, self._written = self._done, [], self._written, None
            self._go_on(done, written)

    def _carry_out(self, batch: list[QueuedWork], skip_locked: bool = False) -> None:
        # Whose model was locked a moment ago does not make the others wait a second time.
        skip_locked = skip_locked or any(queued.tries for queued in batch)
        try:
            prepared = self.batches.prepare(batch, skip_locked=skip_locked)
        except Exception as error:
            if is_locked(error) and not skip_locked:
                self._carry_out(batch, skip_locked=True)
            else:
                self._failed(batch, error)
            return
        self._finish(prepared)

    def _finish(self, prepared: Prepared, failure: Exception | None = None) -> None:
        """Commit, reply, and only then look after the models."""
        grown = self._finish_at_once(prepared, failure)
        if grown:
            self._reply(self._done)
            self._done = []
            self._upkeep.look_after(grown)

    def _finish_at_once(self, prepared: Prepared, failure: Exception | None = None) -> list[Folded]:
        """Commit and note whom to tell; returns the models that want looking after, which may take a while."""
        self._waiting.put_aside(prepared.distant)
        for name in prepared.behind:
            self._folding.want(name)
        self._waiting.try_later(prepared.locked, self._wake)
        try:
            self.batches.commit(prepared, failure)
        except Exception as error:
            self._failed(prepared.batch, error)
            return []
        deliver(one for one in prepared.batch if isinstance(one.future, Future))
        # One message to the loop carries the replies and the start of the next batch; a snapshot does not delay them.
        self._done = prepared.batch
        stale, grown = self._upkeep.after_commit(prepared.turns)
        for name in stale:
            self._folding.want(name)
        return grown

    def _failed(self, batch: list[QueuedWork], error: Exception) -> None:
        """One by one, so that only the culprit is told of its failure; what concerns all, all are told."""
        if not batch:
            # All of them have left it, and wait until their models are folded.
            return
        again = len(batch) > 1 or (isinstance(error, UndoneError) and not batch[0].alone)
        if again and not concerns_all(error):
            for queued in batch:
                queued.alone = True
            self._waiting.put_first(batch)
        else:
            # Without a store each of those who are tried one by one would wait for it in vain, and all behind them.
            same = self._waiting.take_alone() if isinstance(error, NotBegunError) else []
            self._tell([*batch, *same], as_told(error))

    def _tell(self, works: Iterable[QueuedWork], error: Exception) -> None:
        """Tell these of a failure, from whatever thread."""
        told = list(works)
        for queued in told:
            queued.error = error
        if told:
            self._reply(told)

    def _reply(self, batch: list[QueuedWork]) -> None:
        deliver(one for one in batch if isinstance(one.future, Future))
        if self._loop is not None:
            self._loop.call_soon_threadsafe(deliver, [one for one in batch if not isinstance(one.future, Future)])

    def _go_on(self, done: list[QueuedWork], written: Prepared | None = None) -> None:
        if self._loop is not None and written is not None:
            self._loop.call_soon_threadsafe(self._finish_and_go_on, self._loop, written)
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(self._deliver_and_go_on, self._loop, done)

    def _finish_and_go_on(self, loop: asyncio.AbstractEventLoop, written: Prepared) -> None:
        """On the loop, after a commit: what takes a moment here, what may take longer in the worker."""
        grown: list[Folded] = []
        try:
            grown = self._finish_at_once(written)
        except Exception as error:
            logger.exception("a batch went wrong where nothing should")
            self._tell([queued for queued in written.batch if not queued.future.done()], error)
        done, self._done = self._done, []
        if grown:
            deliver(one for one in done if not isinstance(one.future, Future))
            self._submit([], self._upkeep.look_after, grown)
        else:
            self._deliver_and_go_on(loop, done)

    def _deliver_and_go_on(self, loop: asyncio.AbstractEventLoop, done: list[QueuedWork]) -> None:
        """Let the loop send these replies and read what has come meanwhile: the next commit then carries more."""
        deliver(one for one in done if not isinstance(one.future, Future))
        loop.call_soon(loop.call_soon, self._next)

    def _drain(self) -> None:
        """Without an event loop, as from the command line."""
        while batch := self._waiting.take():
            self._in_worker(batch, self._carry_out, batch)
