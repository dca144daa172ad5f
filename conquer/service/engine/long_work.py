"""Work that takes longer than a request may: run in slices, by turns between owners, in a few threads."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from concurrent.futures import Future, InvalidStateError
from typing import Any, NamedTuple

from conquer.service.errors import Kind, RefusalError, stopping

Job = Generator[Any, None, Any]
"""Yields between two slices, and returns its result."""
_WAITING = 4
"""Jobs of one owner that may wait behind the one that runs."""
_Lane = tuple[bool, str]
"""Whether its jobs are urgent, and their owner."""


class _Running(NamedTuple):
    steps: Job
    future: "Future[Any]"


class LongWork:
    """Threads that run jobs slice by slice. Each owner has one job running at a time; owners take turns.

    Urgent jobs go first, and one thread of several is theirs alone. A job whose caller has gone is closed before its
    next slice.

    >>> work = LongWork("example", 1)
    >>> def job():
    ...     yield
    ...     return 3
    >>> work.submit("ann", job()).result(), work.submit("ann", lambda: 4).result()
    (3, 4)
    >>> work.stop()
    """

    def __init__(self, name: str, threads: int) -> None:
        self._lanes: dict[_Lane, deque[_Running]] = {}
        self._ready: dict[bool, deque[_Lane]] = {True: deque(), False: deque()}
        self._busy = 0
        self._most = max(1, threads - 1)
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._run, name=f"{name}-{k}", daemon=True) for k in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(
        self, owner: str, work: "Job | Callable[[], Any]", urgent: bool = False, bounded: bool = False
    ) -> "Future[Any]":
        """Start a job, or a call of one slice; its future may be cancelled at any time.

        Raises RefusalError if it is `bounded` and the owner has too many waiting. Not from inside another job.
        """
        lane, running = (urgent, owner), _Running(_steps(work), Future())
        with self._changed:
            count = len(self._lanes.get(lane, ()))
            if self._closed:
                raise stopping()
            if bounded and count > _WAITING:
                message = f"{count} long requests of this key are running or waiting; try again later"
                raise RefusalError(Kind.BUSY, "busy", message, retry_after=5)
            self._lanes.setdefault(lane, deque()).append(running)
            if not count:
                self._ready[urgent].append(lane)
                self._changed.notify()
        return running.future

    def run(
        self, owner: str, work: "Job | Callable[[], Any]", urgent: bool = False, bounded: bool = False
    ) -> "asyncio.Future[Any]":
        """`submit` from the event loop."""
        return asyncio.wrap_future(self.submit(owner, work, urgent, bounded))

    async def stream(self, owner: str, chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a download, each produced when the one before it has been sent."""
        producer = iter(chunks)
        try:
            while (chunk := await self.run(owner, lambda: next(producer, None))) is not None:
                yield chunk
        finally:
            if isinstance(producer, Generator):
                with contextlib.suppress(RefusalError):
                    self.submit(owner, producer.close)

    def stop(self, wait: float = 5.0) -> None:
        """Refuse new jobs, end those that run at their next slice, and fail those that wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(wait)
        for running in [one for lane in list(self._lanes.values()) for one in lane]:
            with contextlib.suppress(InvalidStateError):
                running.future.set_exception(stopping())
            # ValueError: a slice that does not end is still running.
            with contextlib.suppress(ValueError):
                running.steps.close()

    def _run(self) -> None:
        while (lane := self._take()) is not None:
            done = _step(self._lanes[lane][0])
            with self._changed:
                urgent, _ = lane
                self._busy -= not urgent
                if done:
                    self._lanes[lane].popleft()
                if self._lanes[lane]:
                    self._ready[urgent].append(lane)
                else:
                    del self._lanes[lane]
                self._changed.notify()

    def _take(self) -> _Lane | None:
        urgent, ready = self._ready[True], self._ready[False]
        with self._changed:
            self._changed.wait_for(lambda: self._closed or urgent or (ready and self._busy < self._most))
            if self._closed:
                return None
            if urgent:
                return urgent.popleft()
            self._busy += 1
            return ready.popleft()


def _steps(work: "Job | Callable[[], Any]") -> Job:
    if not callable(work):
        return (yield from work)
    return work()


def _step(running: _Running) -> bool:
    """Run one slice; whether the job has ended."""
    future = running.future
    try:
        if future.cancelled():
            running.steps.close()
            return True
        next(running.steps)
        return False
    except StopIteration as end:
        with contextlib.suppress(InvalidStateError):
            future.set_result(end.value)
    except BaseException as error:
        with contextlib.suppress(InvalidStateError):
            future.set_exception(error)
    return True


def finish(job: Job) -> Any:
    """Run a job to its end in this thread."""
    try:
        while True:
            next(job)
    except StopIteration as end:
        return end.value
