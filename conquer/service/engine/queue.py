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
from conquer.service.model.state import ModelState

Generation = tuple[int, int]
"""A model's id, and the position of a correction or an erasure in its log."""
_OWNERS = 10_000
"""Owners whose used time is remembered."""


class Waits(TypedDict, total=False):
    """What work on a model may ask for; see `Work`."""

    reads: bool
    learns: bool
    settled: bool
    after: Generation | None


@dataclass(eq=False, slots=True)
class Work:
    """One piece of work and where its result goes.

    `run(turn)` works on a model, `run(connection)` (model None) on the store. Work with `requests` is grouped with
    work of the same model, owner and function: `run(turn, requests)` returns a result or a RefusalError for each, or
    None for one that must wait for another batch. Its requests may be carried out in several batches.

    - `reads`: changes nothing, even where it fails.
    - `learns`: waits while an erased voter is being removed from the weights.
    - `settled`: waits until the weights contain no undone answer.
    - `after`: waits until the model has been replayed with the correction there.
    - `alone`: retried in its own batch, one request at a time, after its previous batch failed.
    - `tries`, `conflicts`, `loads`: how often its model was locked by another server, written by another server first,
      and loaded for it.
    """

    model: str | None
    run: Callable[..., Any]
    future: "asyncio.Future[Any] | Future[Any]"
    owner: str = ""
    requests: Sequence[Any] = ()
    reads: bool = False
    learns: bool = False
    settled: bool = False
    after: Generation | None = None
    alone: bool = False
    tries: int = 0
    conflicts: int = 0
    loads: int = 0
    result: Any = None
    error: BaseException | None = None
    results: dict[int, Any] = field(default_factory=dict)
    """Of its requests: by place, once they are committed or refused."""
    tried: dict[int, Any] = field(default_factory=dict)
    """Results that the batch under way will commit."""

    @property
    def open(self) -> list[int]:
        """The places of the requests without a result."""
        return [place for place in range(len(self.requests)) if place not in self.results and place not in self.tried]


def satisfies(state: ModelState, after: Generation | None) -> bool:
    """Whether the model in memory takes the correction at `after` into account."""
    if after is None:
        return True
    model, position = after
    return state.id == model and (position <= state.generation or (not state.stale and position <= state.position))


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
        self._later: list[tuple[float, Work]] = []
        self._changed = threading.Condition()
        self._closed, self._woken = False, False

    def __len__(self) -> int:
        return self._count + len(self._later)

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

    def put_first(self, works: Iterable[Work]) -> None:
        """Return work to the front of its owners' lanes, in its order."""
        with self._changed:
            for work in reversed(list(works)):
                self._lane(work.owner).waiting.appendleft(work)
                self._count += 1
            self._changed.notify()

    def put_later(self, works: Iterable[Work], seconds: float) -> None:
        """Return work to the front of its owners' lanes after a while."""
        due = time.monotonic() + seconds
        with self._changed:
            self._later += [(due, work) for work in works]
            self._changed.notify()

    def wake(self) -> None:
        """Let `take` return, with an empty batch if nothing waits."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def close(self) -> list[Work]:
        """Accept nothing more; `take` returns None once the rest is taken. Returns work put off for later."""
        with self._changed:
            self._closed = True
            later, self._later = [work for _, work in self._later], []
            self._changed.notify()
        return later

    def drain(self, alone: bool = False) -> list[Work]:
        """Take everything that waits, or only what would be retried alone, without running it."""
        with self._changed:
            found = [work for _, work in self._later] + [work for lane in self._lanes.values() for work in lane.waiting]
            taken = [work for work in found if work.alone or not alone]
            gone = set(map(id, taken))
            self._later = [(due, work) for due, work in self._later if id(work) not in gone]
            for lane in self._lanes.values():
                lane.waiting = deque(work for work in lane.waiting if id(work) not in gone)
            self._count = sum(len(lane.waiting) for lane in self._lanes.values())
        return taken

    def take(self, most: int) -> list[Work] | None:
        """Wait for work and return the next batch; None when the queue is closed and empty."""
        with self._changed:
            while True:
                self._return_due()
                if self._count or self._woken:
                    self._woken = False
                    return self._picked(most)
                if self._closed:
                    return None
                now = time.monotonic()
                self._changed.wait(min((due - now for due, _ in self._later), default=None))

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
        now = time.monotonic()
        due = [work for when, work in self._later if when <= now]
        if due:
            self._later = [(when, work) for when, work in self._later if when > now]
            for work in reversed(due):
                self._lane(work.owner).waiting.appendleft(work)
                self._count += 1

    def _picked(self, most: int) -> list[Work]:
        """Work of all owners, the least served first, each at most an equal share; failed work is retried alone."""
        lanes = sorted((lane for lane in self._lanes.values() if lane.waiting), key=lambda lane: lane.used)
        if lanes:
            self._level = lanes[0].used
        batch: list[Work] = []
        share = -(-most // max(1, len(lanes)))
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
