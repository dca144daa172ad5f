"""Work that takes longer than a request may: run in slices, by turns between owners, in a few threads."""

import asyncio
import contextlib
import functools
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any

from conquer.service.errors import Kind, RefusalError, stopping

Job = Generator[Any, None, Any]
"""Yields between two slices, and returns its result."""
_WAITING = 4
"""Jobs of one owner that may wait behind the one that runs."""


@dataclass(eq=False, slots=True)
class _Running:
    steps: Job
    future: "Future[Any]" = field(default_factory=Future)


class LongWork:
    """Threads that run jobs slice by slice. Each owner has one job running at a time; owners take turns.

    Urgent jobs go first, and one thread of several is theirs alone. A job whose caller has gone is closed before its
    next slice.

    >>> work = LongWork("example", 1)
    >>> def job():
    ...     yield
    ...     return 3
    >>> work.run_now("ann", job()); work.stop()
    3
    """

    def __init__(self, name: str, threads: int) -> None:
        self._lanes: dict[str, deque[_Running]] = {}
        self._ready: deque[str] = deque()
        self._urgent: deque[str] = deque()
        self._busy = 0
        self._most = max(1, threads - 1)
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._run, name=f"{name}-{k}", daemon=True) for k in range(threads)]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        return sum(map(len, list(self._lanes.values())))

    def run(self, owner: str, job: "Job | Callable[[], Any]", urgent: bool = False) -> "asyncio.Future[Any]":
        """Start a job from the event loop. Raises RefusalError if the owner has too many waiting."""
        return asyncio.wrap_future(self.submit(owner, job, urgent))

    def run_now(self, owner: str, job: Job, urgent: bool = False) -> Any:
        """Start a job from another thread and wait for its result. Not from inside another job."""
        return self.submit(owner, job, urgent, counted=False).result()

    async def stream(self, owner: str, chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a download, each produced when the one before it has been sent."""
        producer = iter(chunks)
        try:
            next_chunk = functools.partial(next, producer, None)
            while (chunk := await asyncio.wrap_future(self.submit(owner, next_chunk, counted=False))) is not None:
                yield chunk
        finally:
            if isinstance(producer, Generator):
                with contextlib.suppress(RefusalError):
                    self.submit(owner, producer.close, counted=False)

    def submit(
        self, owner: str, job: "Job | Callable[[], Any]", urgent: bool = False, counted: bool = True
    ) -> "Future[Any]":
        """Start a job, or a call as a job of one slice; its future may be cancelled at any time."""
        lane = f"urgent {owner}" if urgent else owner
        running = _Running(job if isinstance(job, Generator) else _once(job))
        with self._changed:
            waiting = self._lanes.setdefault(lane, deque())
            if self._closed or (counted and len(waiting) > _WAITING):
                if not waiting:
                    del self._lanes[lane]
                running.steps.close()
                message = f"{len(waiting)} long requests of this key are running or waiting; try again later"
                raise stopping() if self._closed else RefusalError(Kind.BUSY, "busy", message, retry_after=5)
            waiting.append(running)
            if len(waiting) == 1:
                (self._urgent if urgent else self._ready).append(lane)
                self._changed.notify()
        return running.future

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
            running = self._lanes[lane][0]
            done = _step(running)
            with self._changed:
                urgent = lane.startswith("urgent ")
                self._busy -= not urgent
                if done:
                    self._lanes[lane].popleft()
                if not self._lanes[lane]:
                    del self._lanes[lane]
                else:
                    (self._urgent if urgent else self._ready).append(lane)
                self._changed.notify()

    def _take(self) -> str | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._urgent or (self._ready and self._busy < self._most))
            if self._closed:
                return None
            if self._urgent:
                return self._urgent.popleft()
            self._busy += 1
            return self._ready.popleft()


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


def _once(call: Callable[[], Any]) -> Job:
    """A job of one slice."""
    yield from ()
    return call()
