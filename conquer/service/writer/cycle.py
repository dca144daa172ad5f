"""One batch after the other: decided, written, told. While one is being written, the next is decided.

Light work is decided on the event loop, between reading sockets, and only the disk is waited for in a thread of its
own: two threads that compute would take turns holding the interpreter and slow each other down.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from conquer.kernels.core import background
from conquer.service.errors import RefusalError
from conquer.service.log.fold import Folded
from conquer.service.writer.batch import Batches
from conquer.service.writer.failures import NotBegunError, UndoneError, as_told, concerns_all, is_locked
from conquer.service.writer.folding import Folding
from conquer.service.writer.upkeep import Upkeep
from conquer.service.writer.waiting import MOST_ROUNDS, Waiting, stopping
from conquer.service.writer.work import Prepared, QueuedWork, deliver

logger = logging.getLogger(__name__)
_ENOUGH = 64
"""Rounds that are worth a commit of their own: it costs as much as ten rounds, and fewer do better to wait."""


class Cycle:
    """Takes work from `waiting` and has `batches` do it. Its methods are for the event loop, but where they say so."""

    def __init__(self, batches: Batches, upkeep: Upkeep, folding: Folding) -> None:
        self._batches, self._upkeep, self._folding = batches, upkeep, folding
        self.waiting = Waiting(batches, folding.want, self.tell, upkeep.arrived)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = ThreadPoolExecutor(1, "conquer-writer")
        self._done: list[QueuedWork] = []
        self._under_way: Prepared | None = None
        """Light work that is being written."""
        self._ahead: Prepared | None = None
        """Light work that was done meanwhile, and is written next."""
        self._looking = False
        self._even = False
        """Nothing more is done ahead until memory and store are even: a model is to be copied."""

    def start(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop

    def stop(self, wait: bool) -> None:
        """End the thread, after what it does if there is time to `wait`."""
        self._worker.shutdown(wait=wait)

    def wake(self) -> None:
        """From any thread: begin, where nothing was being done."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.next)
        else:
            self._worker.submit(self._drain)

    def look_ahead_soon(self, queued: QueuedWork) -> None:
        """Somebody waits while a batch is being written: theirs may be done meanwhile, with all that come just now."""
        if self._under_way is None or self._looking or self._loop is None:
            return
        if queued.rounds >= _ENOUGH or self.waiting.queued >= _ENOUGH:
            self._looking = True
            self._loop.call_soon(self._look_ahead)

    def next(self) -> None:
        """Do the waiting requests, then let a thread wait for the disk."""
        batch = self.waiting.take()
        if not batch:
            return
        if not (self._is_quick() and all(map(self._batches.is_at_hand, batch))):
            self._submit(batch, self._carry_out, batch)
        elif self._compute(batch):
            self._write()
        else:
            asyncio.get_running_loop().call_soon(self.next)

    def _is_quick(self) -> bool:
        # On a shared store others may hold a model's lock: waiting for that may not stop the loop.
        # Kernels that are still being compiled are interpreted: what they decide takes milliseconds, not microseconds.
        return not self._batches.database.shared and not background.pending()

    def _compute(self, works: list[QueuedWork]) -> bool:
        """Whether these have been done in memory; where not, all that was waits to be done one by one."""
        self._ahead = self._ahead or Prepared([])
        try:
            self._batches.compute(works, self._ahead)
        except Exception as error:
            if not isinstance(error, RefusalError):
                logger.warning("a batch cannot be done in memory; its works are tried one by one", exc_info=error)
            for queued in self._ahead.batch:
                queued.alone = True
            self._take_back()
            return False
        return True

    def _take_back(self) -> None:
        """What was done ahead has not happened: it waits once more, before all others."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            self._batches.take_back(ahead)
            self.waiting.put_first(ahead.batch)

    def _look_ahead(self) -> None:
        self._looking = False
        if self._under_way is not None and not self._even and self._is_quick():
            done = 0 if self._ahead is None else sum(queued.rounds for queued in self._ahead.batch)
            works = self.waiting.take_at_hand(MOST_ROUNDS - done)
            if works:
                self._compute(works)

    def _write(self) -> None:
        """Have the worker write what was done; nothing is added to it any more."""
        prepared, self._ahead = self._ahead, None
        if prepared is None:
            raise RuntimeError("nothing was done that could be written")
        for turn in prepared.turns.values():
            turn.end = turn.folded.position
        self._under_way = prepared
        try:
            self._worker.submit(self._write_out, prepared)
        except RuntimeError:
            # The thread has ended: the server is stopping.
            self._landed(prepared, stopping())

    def _write_out(self, prepared: Prepared) -> None:
        """In the worker: wait for the disk, and hardly more. What is computed there keeps the loop from computing."""
        failure: Exception | None = None
        try:
            self._batches.write(prepared)
        except Exception as error:
            failure = error
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._landed, prepared, failure)

    def _landed(self, prepared: Prepared, failure: Exception | None) -> None:
        """A batch has been written, or not: tell of it, and send what was done meanwhile after it."""
        self._under_way = None
        grown: list[Folded] = []
        try:
            if failure is None:
                grown = self._settle(prepared)
            else:
                self._take_back()
                self._batches.take_back(prepared)
                self._failed(prepared.batch, failure)
        except Exception as error:
            self._went_wrong(prepared.batch, error)
        done, self._done = self._done, []
        if self._ahead is not None and not self._fits(self._ahead):
            self._take_back()
        self._even = bool(grown) and self._ahead is not None
        if self._ahead is not None:
            self._write()
            deliver(one for one in done if not isinstance(one.future, Future))
        elif grown:
            deliver(one for one in done if not isinstance(one.future, Future))
            self._submit([], self._upkeep.look_after, grown)
        else:
            self._deliver_and_go_on(done)

    def _fits(self, prepared: Prepared) -> bool:
        """Whether it goes on from what is now in the store."""
        return all(self._batches.models.get(name) is turn.folded for name, turn in prepared.turns.items())

    def _submit(self, batch: list[QueuedWork], step: Callable[..., None], *arguments: Any) -> None:
        try:
            self._worker.submit(self._in_worker, batch, step, *arguments)
        except RuntimeError:
            # The thread has ended: the server is stopping.
            self.tell(batch, stopping())
            # Whoever is queued behind them waits for an answer too.
            asyncio.get_running_loop().call_soon(self.next)

    def _in_worker(self, batch: list[QueuedWork], step: Callable[..., None], *arguments: Any) -> None:
        """Do it; whatever happens, everyone of the batch is told something and the next batch comes."""
        try:
            step(*arguments)
        except Exception as error:
            self._went_wrong(batch, error)
        finally:
            done, self._done = self._done, []
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._deliver_and_go_on, done)

    def _carry_out(self, batch: list[QueuedWork], skip_locked: bool = False) -> None:
        """In the worker: do what needs the store, commit, reply, and only then look after the models."""
        # Whose model was locked a moment ago does not make the others wait a second time.
        skip_locked = skip_locked or any(queued.tries for queued in batch)
        try:
            prepared = self._batches.prepare(batch, skip_locked)
        except Exception as error:
            if is_locked(error) and not skip_locked:
                self._carry_out(batch, skip_locked=True)
            else:
                self._failed(batch, error)
            return
        try:
            self._batches.write(prepared)
        except Exception as error:
            self._batches.take_back(prepared)
            self._set_aside(prepared)
            self._failed(prepared.batch, error)
            return
        for turn in prepared.turns.values():
            turn.end = turn.folded.position
        grown = self._settle(prepared)
        self._set_aside(prepared)
        if grown:
            self._reply(self._done)
            self._done = []
            self._upkeep.look_after(grown)

    def _set_aside(self, prepared: Prepared) -> None:
        """Those who could not take part wait for their models. Not before these are nobody's: others fold them then."""
        self.waiting.put_aside(prepared.distant)
        for name in prepared.behind:
            self._folding.want(name)
        self.waiting.try_later(prepared.locked, self.wake)

    def _settle(self, prepared: Prepared) -> list[Folded]:
        """Note whom to tell; returns the models that want looking after, which may take a while."""
        self._batches.settle(prepared)
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
            self.waiting.put_first(batch)
        else:
            # Without a store each of those who are tried one by one would wait for it in vain, and all behind them.
            same = self.waiting.take_alone() if isinstance(error, NotBegunError) else []
            self.tell([*batch, *same], as_told(error))

    def _went_wrong(self, batch: Iterable[QueuedWork], error: Exception) -> None:
        logger.error("a batch went wrong where nothing should", exc_info=error)
        self.tell([queued for queued in batch if not queued.future.done()], error)

    def tell(self, works: Iterable[QueuedWork], error: Exception) -> None:
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

    def _deliver_and_go_on(self, done: list[QueuedWork]) -> None:
        """Let the loop send these replies and read what has come meanwhile: the next commit then carries more."""
        deliver(one for one in done if not isinstance(one.future, Future))
        if self._loop is not None:
            self._loop.call_soon(self._loop.call_soon, self.next)

    def _drain(self) -> None:
        """In the worker, without an event loop, as from the command line."""
        while batch := self.waiting.take():
            self._in_worker(batch, self._carry_out, batch)
