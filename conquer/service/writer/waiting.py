"""Who waits for the writer: a queue, and aside from it those whose models are not in memory yet."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from conquer.service.errors import Kind, RefusalError, unknown_model
from conquer.service.log.fold import Folded
from conquer.service.writer.batch import Batches, QueuedWork
from conquer.service.writer.failures import as_told
from conquer.service.writer.folding import Arrival

Tell = Callable[[Iterable[QueuedWork], Exception], None]
Moved = Callable[[str, Arrival], Any]


def stopping() -> RefusalError:
    return RefusalError(Kind.UNAVAILABLE, "stopping", "the server is stopping", retry_after=1)


class Waiting:
    """Safe to use from any thread. What adds to it returns True when the writer was idle and must be started.

    `want` has a model folded; `tell` tells of a failure; `moved` hears what became of a model that was wanted.
    """

    def __init__(self, batches: Batches, want: Callable[[str], None], tell: Tell, moved: Moved) -> None:
        self._batches, self._want, self._tell, self._moved = batches, want, tell, moved
        self._queue: deque[QueuedWork] = deque()
        self._aside: dict[str, list[QueuedWork]] = {}
        self._count_aside = 0
        self._arrived: deque[tuple[str, Arrival]] = deque()
        self._lock = threading.Lock()
        self._busy, self._closed = False, False
        self.idle = threading.Event()
        self.idle.set()

    def __len__(self) -> int:
        return len(self._queue) + self._count_aside

    def put(self, queued: QueuedWork) -> bool:
        """Add to the end of the queue."""
        with self._lock:
            if self._closed:
                raise stopping()
            self._queue.append(queued)
            return not self._busy and self._begin()

    def put_first(self, works: Iterable[QueuedWork]) -> bool:
        """Add to the beginning, in their order: they have waited before."""
        with self._lock:
            self._queue.extendleft(reversed(list(works)))
            return self._begin()

    def put_aside(self, works: Iterable[QueuedWork]) -> None:
        """Until their models have been folded."""
        with self._lock:
            for queued in works:
                self._put_aside(queued)

    def arrive(self, name: str, arrival: Arrival) -> bool:
        """A model has been folded, or cannot be."""
        with self._lock:
            self._arrived.append((name, arrival))
            return self._begin()

    def close(self) -> None:
        """Nobody else may wait; those who wait for a model are told."""
        with self._lock:
            self._closed = True
            works = [queued for waiting in self._aside.values() for queued in waiting]
            self._aside, self._count_aside = {}, 0
        self._tell(works, stopping())

    def take(self) -> list[QueuedWork]:
        """The next batch; an empty one leaves the writer idle."""
        batch: list[QueuedWork] = []
        with self._lock:
            while self._arrived:
                self._admit(*self._arrived.popleft())
            most, queue, ready = self._batches.settings.batch, self._queue, self._ready
            while queue and len(batch) < most:
                if batch and (queue[0].alone or batch[-1].alone):
                    break
                queued = queue.popleft()
                if ready(queued):
                    batch.append(queued)
                else:
                    self._put_aside(queued)
            if not batch:
                self._busy = False
                self.idle.set()
        return batch

    def _begin(self) -> bool:
        begin = not self._busy
        self._busy = True
        self.idle.clear()
        return begin

    def _ready(self, queued: QueuedWork) -> bool:
        if queued.model is None:
            return True
        folded = self._batches.known(queued.model)
        wanted = queued.generation
        if folded is None or not wanted:
            return folded is not None
        return wanted <= folded.generation or (not folded.stale and wanted <= folded.position)

    def _put_aside(self, queued: QueuedWork) -> None:
        if self._closed:
            self._tell([queued], stopping())
            return
        name = str(queued.model)
        self._aside.setdefault(name, []).append(queued)
        self._count_aside += 1
        self._want(name)

    def _admit(self, name: str, arrival: Arrival) -> None:
        """Whoever waited for the model goes on, before all others."""
        works = self._aside.pop(name, [])
        self._count_aside -= len(works)
        if isinstance(arrival, Folded):
            self._batches.replace(name, arrival)
            self._queue.extendleft(reversed(works))
        else:
            self._tell(works, unknown_model(name) if arrival is None else as_told(arrival))
        self._moved(name, arrival)
