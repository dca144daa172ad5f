"""Work that waits for the engine, shared out between its owners by the time their work takes."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypedDict

from conquer.service.errors import Kind, RefusalError, stopping

Generation = tuple[int, int]
"""A model's id, and the position of a correction or an erasure in its log."""
NOW: Generation = (-1, 0)
"""Stands for the last correction that the log has when the work first runs."""
_OWNERS = 10_000
"""Owners whose used time is remembered."""


class Waits(TypedDict, total=False):
    """What work on a model may ask for; see `Work`."""

    reads: bool
    learns: bool
    after: Generation | None


@dataclass(eq=False, slots=True)
class Work:
    """One piece of work and where its result goes.

    `run(turn)` works on a model, `run(connection)` (model None) on the store. Work with `requests` is grouped with
    work of the same model, owner and function: `run(turn, requests)` returns a result or a RefusalError for each, or
    None for one that must wait for another batch. Its requests may be carried out in several batches.

    - `reads`: changes nothing, even where it fails.
    - `learns`: waits while an erased voter is being removed from the weights.
    - `after`: waits until the model has been replayed with the correction there.
    - `alone`: retried in its own batch, one request at a time, after its previous batch failed.
    - `loads`, `tries`: how often its model was loaded for it, and how often another server was in its way.
    """

    model: str | None
    run: Callable[..., Any]
    future: "asyncio.Future[Any] | Future[Any]"
    owner: str = ""
    requests: Sequence[Any] = ()
    reads: bool = False
    learns: bool = False
    after: Generation | None = None
    alone: bool = False
    loads: int = 0
    tries: int = 0
    results: dict[int, Any] = field(default_factory=dict)
    """Results and errors, by place among the requests, once they are committed or refused; else at place 0."""
    tried: dict[int, Any] = field(default_factory=dict)
    """Those that the batch under way will commit."""

    @property
    def open(self) -> list[int]:
        """The places without a result."""
        done = self.results.keys() | self.tried.keys() if self.results or self.tried else ()
        return [place for place in range(self.size) if place not in done]

    @property
    def size(self) -> int:
        """How many results it has in the end."""
        return len(self.requests) or 1


@dataclass(slots=True)
class _Lane:
    waiting: deque[Work] = field(default_factory=deque)
    used: float = 0.0


class Queue:
    """Waiting work by owner. Safe to use from any thread; `take` is for one thread.

    The owner who has used the least time is served first. An owner who returns after a pause starts level with those
    who were served meanwhile, so a pause earns no credit.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lanes: dict[str, _Lane] = {}
        self._count = 0
        self._level = 0.0
        self._returned: list[tuple[float, Work]] = []
        """Work that was put back, and when it may be taken again."""
        self._changed = threading.Condition()
        self._closed, self._woken = False, False

    def __len__(self) -> int:
        return self._count + len(self._returned)

    def put(self, work: Work, bounded: bool = True) -> None:
        """Add work at the end of its owner's lane. Raises RefusalError if too much waits and the work is `bounded`."""
        with self._changed:
            if self._closed:
                raise stopping()
            waiting = len(self._lanes[work.owner].waiting) if work.owner in self._lanes else 0
            # A quarter of the queue is left to other owners.
            if bounded and (self._count >= self._most or waiting >= max(1, self._most * 3 // 4)):
                message = f"{self._count} requests are waiting; try again"
                raise RefusalError(Kind.BUSY, "busy", message, retry_after=1)
            self._lane(work.owner).waiting.append(work)
            self._count += 1
            self._changed.notify()

    def put_back(self, works: Iterable[Work], seconds: float = 0.0) -> None:
        """Return work to the front of its owners' lanes, in its order, at once or after a while."""
        due = time.monotonic() + seconds
        with self._changed:
            self._returned += [(due, work) for work in works]
            self._changed.notify()

    def wake(self) -> None:
        """Let `take` return an empty batch."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def close(self) -> None:
        """Accept nothing more; `take` returns None once the rest is taken."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def drain(self) -> list[Work]:
        """Take everything that waits, without running it."""
        with self._changed:
            taken = [work for _, work in self._returned]
            taken += [work for lane in self._lanes.values() for work in lane.waiting]
            self._returned, self._lanes, self._count = [], {}, 0
        return taken

    def take(self, most: int) -> list[Work] | None:
        """Wait for work and return the next batch; None when the queue is closed and empty."""
        with self._changed:
            while True:
                self._return_due()
                if self._woken:
                    self._woken = False
                    return []
                if self._count:
                    return self._picked(most)
                if self._closed:
                    return None
                now = time.monotonic()
                self._changed.wait(min((due - now for due, _ in self._returned), default=None))

    def charge(self, owner: str, seconds: float) -> None:
        """Note the time that an owner's work has taken."""
        lane = self._lanes.get(owner)
        if lane is not None:
            lane.used += seconds

    def _lane(self, owner: str) -> _Lane:
        lane = self._lanes.get(owner)
        if lane is None:
            if len(self._lanes) > _OWNERS:
                self._lanes = {name: one for name, one in self._lanes.items() if one.waiting}
            lane = self._lanes[owner] = _Lane()
        if not lane.waiting:
            lane.used = max(lane.used, self._level)
        return lane

    def _return_due(self) -> None:
        now = float("inf") if self._closed else time.monotonic()
        due = [work for when, work in self._returned if when <= now]
        if due:
            self._returned = [(when, work) for when, work in self._returned if when > now]
            for work in reversed(due):
                self._lane(work.owner).waiting.appendleft(work)
            self._count += len(due)

    def _picked(self, most: int) -> list[Work]:
        """Work of all owners, the least served first, each at most an equal share; failed work is retried alone."""
        lanes = sorted((lane for lane in self._lanes.values() if lane.waiting), key=lambda lane: lane.used)
        self._level = lanes[0].used
        batch: list[Work] = []
        share = -(-most // len(lanes))
        for lane in lanes:
            for _ in range(min(share, len(lane.waiting), most - len(batch))):
                if lane.waiting[0].alone and batch:
                    break
                batch.append(lane.waiting.popleft())
                if batch[0].alone:
                    self._count -= 1
                    return batch
        self._count -= len(batch)
        return batch
