"""Work on its way through the writer: what is queued, a batch of it, and who is told."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from sqlalchemy import RootTransaction

from conquer.service.log.fold import Folded
from conquer.service.log.transaction import Turn

logger = logging.getLogger(__name__)
Generation = tuple[int, int]
"""A model's id, and the position of a correction in its log."""


class Listener(Protocol):
    """Whom to tell what became of work: a future, or what does as much of one."""

    def done(self) -> bool: ...

    def set_result(self, result: Any, /) -> None: ...

    def set_exception(self, error: Any, /) -> None: ...


class QueuedWork(msgspec.Struct, eq=False):
    """Work to do on a model (or, with model None, on the store), and whom to tell.

    `events` are those it will look up; `light` work takes microseconds for each of its `rounds` and may run between two
    requests, without writing to the store but through its turn; work with a `generation` (a model's id and a position)
    waits until its log has been folded with the correction there; what only `reads` leaves the model as it was, even
    where it fails; `alone`: in a batch of its own, for one that it was part of has failed; `folds`: how often its model
    was folded for it. Work with a `request` is done together with all of a batch that has the same `work` and model: it
    is called with the turn and the requests, and returns for each its result, or the RefusalError that it is told.
    """

    model: str | None
    work: Callable[..., Any]
    events: tuple[str, ...]
    future: Listener
    light: bool = False
    generation: Generation | None = None
    reads: bool = False
    request: Any = None
    rounds: int = 1
    alone: bool = False
    tries: int = 0
    folds: int = 0
    result: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class Prepared:
    """A batch that was carried out: inside a transaction that waits for its commit, or in memory alone.

    Not part of it: `distant`, whose models must be folded first, and `locked`, which another server holds. `behind`:
    models that were folded again, but whose logs have grown by too much since. `doubtful`: it was written, but its
    models may not be what the store says.
    """

    batch: list[QueuedWork]
    transaction: RootTransaction | None = None
    turns: dict[str, Turn] = field(default_factory=dict)
    distant: list[QueuedWork] = field(default_factory=list)
    locked: list[QueuedWork] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    doubtful: bool = False


def satisfies(folded: Folded, generation: Generation | None) -> bool:
    """Whether the fold knows of the correction that somebody waits for."""
    if generation is None:
        return True
    model, position = generation
    return folded.id == model and (position <= folded.generation or (not folded.stale and position <= folded.position))


def deliver(batch: Iterable[QueuedWork]) -> None:
    """Tell everyone what became of their work."""
    for queued in batch:
        future, error = queued.future, queued.error
        try:
            if future.done():
                continue
            if error is None:
                future.set_result(queued.result)
            elif isinstance(error, StopIteration):
                # asyncio's futures take none: nobody would hear of it, nor of anything after it.
                future.set_exception(RuntimeError(f"work ended with {error!r}"))
            else:
                future.set_exception(error)
        except Exception:
            # Whoever comes after it must hear too, and the next batch must come.
            logger.exception("somebody could not be told what became of their work")
