"""The one place that writes: whatever requests are waiting are carried out and committed together (`Cycle`).

Models that are not in memory are folded in another thread, and the requests for them wait aside.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from conquer.service.alarms import Alarms
from conquer.service.errors import Kind, RefusalError
from conquer.service.log.fold import Folded
from conquer.service.log.loading import Build, load_in_slices
from conquer.service.settings import Settings
from conquer.service.store.database import Database
from conquer.service.writer.batch import Batches
from conquer.service.writer.cycle import Cycle
from conquer.service.writer.folding import Arrival, Folding, Job
from conquer.service.writer.upkeep import Upkeep, Work
from conquer.service.writer.work import Generation, QueuedWork

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
        self._cycle = Cycle(self.batches, self._upkeep, self._folding)
        self._waiting = self._cycle.waiting
        self._loop: asyncio.AbstractEventLoop | None = None

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
        self._cycle.start(loop)

    def stop(self) -> None:
        """Finish what is queued, store snapshots of the models that have changed, and let go of the store."""
        self._waiting.close()
        idle = self._waiting.idle.wait(_STOPPING)
        self._folding.finish(drop=True)
        self._cycle.stop(wait=idle)
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
        rounds: int = 1,
    ) -> "asyncio.Future[Any]":
        """Queue work from the event loop; a full queue refuses at once. See `QueuedWork`."""
        if self._loop is None:
            raise RuntimeError("start(loop) comes before call")
        future = self._loop.create_future()
        self.put(QueuedWork(model, work, events, future, light, generation, reads, request, rounds))
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
            self._loop.call_soon(self._cycle.next)
        else:
            self._cycle.look_ahead_soon(queued)

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
            self._cycle.wake()
        return future.result()

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
            self._cycle.wake()
