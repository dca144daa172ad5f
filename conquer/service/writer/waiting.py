"""Who waits for the writer: a queue, and aside from it those whose models are not in memory yet."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from conquer.service.errors import Kind, RefusalError, unknown_model
from conquer.service.log.fold import Folded
from conquer.service.writer.batch import Batches
from conquer.service.writer.failures import as_told
from conquer.service.writer.folding import Arrival
from conquer.service.writer.work import QueuedWork, satisfies

MOST_ROUNDS = 512
"""Rounds and answers of a batch: what is decided on the event loop takes some milliseconds."""
_AGAIN = 0.25
_TRIES = 40
"""A model that another server holds is tried again so often, so far apart."""
_FOLDS = 40
"""So often a model is folded for one who waits for it: a store that has lost rows never comes to what they wait for."""
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
        self._later: list[QueuedWork] = []
        self._arrived: deque[tuple[str, Arrival]] = deque()
        self._lock = threading.Lock()
        self._busy, self._closed = False, False
        self.idle = threading.Event()
        self.idle.set()

    def __len__(self) -> int:
        return len(self._queue) + self._count_aside + len(self._later)

    @property
    def queued(self) -> int:
        """How many wait in the queue itself: whoever waits for one model takes no room from the others."""
        return len(self._queue)

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

    def take_alone(self) -> list[QueuedWork]:
        """All that wait to be tried one by one."""
        with self._lock:
            found = [queued for queued in self._queue if queued.alone]
            self._queue = deque(queued for queued in self._queue if not queued.alone)
        return found

    def put_aside(self, works: Iterable[QueuedWork]) -> None:
        """Until their models have been folded."""
        with self._lock:
            for queued in works:
                self._put_aside(queued)

    def put_later(self, works: Sequence[QueuedWork], seconds: float, wake: Callable[[], None]) -> None:
        """Back to the beginning of the queue after a while; `wake` starts the writer if it is idle then."""
        if not works:
            return
        with self._lock:
            if not self._closed:
                timer = threading.Timer(seconds, self._come_back, [works, wake])
                timer.daemon = True
                timer.start()
                self._later.extend(works)
                return
        self._tell(works, stopping())

    def try_later(self, works: Sequence[QueuedWork], wake: Callable[[], None]) -> None:
        """Another server holds their models: once more in a moment, but not for ever."""
        if not works:
            return
        held = [queued for queued in works if queued.tries >= _TRIES]
        message = "another server has been writing this model for too long; try again"
        self._tell(held, RefusalError(Kind.UNAVAILABLE, "locked", message, retry_after=1))
        again = [queued for queued in works if queued.tries < _TRIES]
        for queued in again:
            queued.tries += 1
        self.put_later(again, _AGAIN, wake)

    def _come_back(self, works: Sequence[QueuedWork], wake: Callable[[], None]) -> None:
        mine = set(map(id, works))
        with self._lock:
            # After a stop none of them is there.
            back = [queued for queued in self._later if id(queued) in mine]
            self._later = [queued for queued in self._later if id(queued) not in mine]
            self._queue.extendleft(reversed(back))
            begin = bool(back) and self._begin()
        if begin:
            wake()

    def arrive(self, name: str, arrival: Arrival) -> bool:
        """A model has been folded, or cannot be."""
        with self._lock:
            self._arrived.append((name, arrival))
            return self._begin()

    def close(self) -> None:
        """Nobody else may wait; those who are not in the queue itself are told."""
        with self._lock:
            self._closed = True
            works = [*self._later, *(queued for waiting in self._aside.values() for queued in waiting)]
            self._aside, self._count_aside, self._later = {}, 0, []
        self._tell(works, stopping())

    def take(self) -> list[QueuedWork]:
        """The next batch; an empty one leaves the writer idle."""
        rounds = MOST_ROUNDS
        batch: list[QueuedWork] = []
        with self._lock:
            while self._arrived:
                self._admit(*self._arrived.popleft())
            most, queue, ready = self._batches.settings.batch, self._queue, self._ready
            while queue and len(batch) < most:
                if batch and (queue[0].alone or batch[-1].alone or queue[0].rounds > rounds):
                    break
                queued = queue.popleft()
                if ready(queued):
                    batch.append(queued)
                    rounds -= queued.rounds
                elif self._is_over(queued):
                    self._tell([queued], unknown_model(str(queued.model)))
                else:
                    self._put_aside(queued)
            if not batch:
                self._busy = False
                self.idle.set()
        return batch

    def take_at_hand(self, rounds: int) -> list[QueuedWork]:
        """The first of the queue that can be done in memory, of so many rounds together; the writer stays busy.

        None while a model has been folded: `take` lets it in, and whoever waits for it.
        """
        found: list[QueuedWork] = []
        queue, is_at_hand = self._queue, self._batches.is_at_hand
        with self._lock:
            while queue and not self._arrived and queue[0].rounds <= rounds and is_at_hand(queue[0]):
                found.append(queue.popleft())
                rounds -= found[-1].rounds
        return found

    def _begin(self) -> bool:
        begin = not self._busy
        self._busy = True
        self.idle.clear()
        return begin

    def _ready(self, queued: QueuedWork) -> bool:
        if queued.model is None:
            return True
        folded = self._batches.known(queued.model)
        return folded is not None and (queued.generation is None or satisfies(folded, queued.generation))

    def _is_over(self, queued: QueuedWork) -> bool:
        """Whether the model that it waits for has been deleted, and another made under its name."""
        folded = self._batches.known(queued.model) if queued.generation is not None and queued.model else None
        return folded is not None and queued.generation is not None and folded.id != queued.generation[0]

    def _put_aside(self, queued: QueuedWork) -> None:
        if self._closed:
            self._tell([queued], stopping())
            return
        name = str(queued.model)
        if queued.folds >= _FOLDS:
            message = f"model {name!r} was read {_FOLDS} times, and never as far as this needs; try again"
            self._tell([queued], RefusalError(Kind.UNAVAILABLE, "behind", message, retry_after=1))
            return
        works = self._aside.setdefault(name, [])
        if len(works) >= max(1, self._batches.settings.queue // 4):
            message = f"{len(works)} requests are waiting for model {name!r} to be read; try again"
            self._tell([queued], RefusalError(Kind.BUSY, "busy", message, retry_after=1))
            return
        queued.folds += 1
        works.append(queued)
        self._count_aside += 1
        self._want(name)

    def _admit(self, name: str, arrival: Arrival) -> None:
        """Whoever waited for the model goes on, before all others."""
        works = self._aside.pop(name, [])
        self._count_aside -= len(works)
        if isinstance(arrival, Folded):
            self._batches.fresh[name] = arrival
            self._queue.extendleft(reversed(works))
        elif arrival is None:
            # Whose first fold it was may have come after it had looked for the model, which was made meanwhile.
            self._tell([queued for queued in works if queued.folds > 1], unknown_model(name))
            for queued in works:
                if queued.folds == 1:
                    self._put_aside(queued)
        else:
            self._tell(works, as_told(arrival))
        self._moved(name, arrival)
