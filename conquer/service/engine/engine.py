"""The engine: one thread that chooses, learns and writes, a batch of requests at a time.

                       take                                            commit
    put ---> WAITING --------> BATCH: begin, open turns, run, insert --------> results are told
             ^  ^  ^            |        |              |         |
             |  |  |            |        |              |         +-- commit fails: told "nothing was learnt" (503),
             |  |  |            |        |              |             or "outcome unknown" (504)
             |  |  |            |        |              +-- one request fails half-way: all again, each alone
             |  |  |            |        +-- time is up: the rest again, in the next batch
             |  |  |            +-- model not loaded, or stale for this request: ASIDE until it is loaded
             |  |  +-- loaded -------- ASIDE
             |  +----- a moment later  another server is writing the model
             +-------- model reloaded  another server has written the model's next position

Memory moves while a batch runs and the store when it commits. Whenever a commit is not made, the models that moved are
dropped and loaded again from the store, so memory never keeps what the store does not have. Nothing is told before the
commit. Only the engine's thread touches models, turns and the connection that writes.
"""

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Unpack

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from conquer.service.alarms import Alarms
from conquer.service.engine.failures import (
    NotBegunError,
    RolledBackError,
    UnknownOutcomeError,
    as_told,
    cause_of,
    is_conflict,
    is_locked,
    is_rolled_back,
)
from conquer.service.engine.loading import Build, catch_up, load_in_slices
from conquer.service.engine.long_work import LongWork
from conquer.service.engine.memory import LoadedModels
from conquer.service.engine.queue import Queue, Waits, Work, satisfies
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, stopping, unknown_model
from conquer.service.model.schemas import ChooseRequest
from conquer.service.model.state import ModelState
from conquer.service.settings import Settings
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.database import Database
from conquer.service.store.servers import try_lock

logger = logging.getLogger(__name__)
_Place = tuple[Work, int]
"""A request of a piece of work by its place, or all of it."""
_WHOLE = -1
_Told = tuple["asyncio.Future[Any] | Future[Any]", Any, BaseException | None]
"""Where a result goes, the result, and what went wrong."""
Decide = Callable[[Turn, Sequence[Any]], Sequence[Any]]
"""Chooses and answers: a reply or a RefusalError for each request."""
_SLICE = 0.025
"""Seconds of running after which a batch commits; the rest of its work waits for the next."""
_NEAR = 2000
"""Rows of another server that are replayed inside a batch; more are replayed by the loading thread."""
_AGAIN, _TRIES = 0.05, 100
"""Seconds until work on a model that another server is writing is tried again, and how often."""
_CONFLICTS = 5
"""How often work is decided again because another server wrote first."""
_CONTENDED = 32
"""Batches for which a model is locked after another server was seen to write it."""
_LOADS = 40
"""How often a model is loaded for one piece of work: a damaged store never reaches what the work waits for."""
_FINDING_OUT = 2.0
"""Seconds in which to look for a batch whose commit got no reply."""
_STOPPING = 20.0
_OF_THE_STORE = (RolledBackError, SQLAlchemyError, OSError)
"""Failures after which even a single piece of work is tried once more: its connection may have been cut long ago."""
_DIGESTS = 1000


class Engine:
    """Owns the models in memory and the connection that writes.

    `decide` and `call` are for the event loop, `call_now` for other threads, `long` for work that takes longer than a
    request may.
    """

    def __init__(
        self,
        database: Database,
        build: Build,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        alarms: Alarms | None = None,
        decide: Decide | None = None,
    ) -> None:
        self.database, self.build, self.settings, self.clock = database, build, settings, clock
        self.limits = settings
        self.alarms = alarms or Alarms()
        self.long = LongWork("conquer-long", 4)
        self.commits = 0
        self.digests: deque[tuple[int, int, int, str]] = deque(maxlen=_DIGESTS)
        """(model, position, generation, digest) of states that servers of a shared store compare."""
        self._decide = decide
        self._loading = LongWork("conquer-loading", 1)
        self._queue = Queue(settings.queue)
        self._memory = LoadedModels(settings, self.alarms, self.long, self.call_now)
        self._fresh: dict[str, ModelState] = {}
        """Loaded, and not yet compared with the end of their logs."""
        self._aside: dict[str, list[Work]] = {}
        self._wanted: set[str] = set()
        self._arrived: deque[tuple[str, ModelState | BaseException | None]] = deque()
        self._contended: dict[str, int] = {}
        self._headers: dict[str, log_table.Header] = {}
        """Of a store that no other server writes: the rows of `models` as of the last commit."""
        self._noted: list[tuple[int, int, int, str]] = []
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="conquer-engine", daemon=True)

    @property
    def models(self) -> OrderedDict[str, ModelState]:
        """The models in memory, least recently used first."""
        return self._memory.models

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._queue) + sum(map(len, list(self._aside.values())))

    @property
    def model_bytes(self) -> int:
        """Bytes of the models in memory, roughly."""
        return self._memory.used

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Become a process that writes the store, and start the thread."""
        self.database.claim()
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, store snapshots of the models that have changed, and let go of the store."""
        self._closed = True
        self._tell(self._queue.close(), stopping())
        if self._thread.is_alive():
            self._thread.join(_STOPPING)
        self._tell(self._queue.drain(), stopping())
        self.long.stop()
        self._loading.stop()
        if not self._thread.is_alive():
            self._memory.stop(self.database, self.clock)
            self._drop_connection()

    # From other threads.

    def decide(self, model: str, requests: Sequence[Any], owner: str = "") -> "asyncio.Future[list[Any]]":
        """Choose and answer: a reply or a RefusalError for each request, in order. For the event loop.

        Raises RefusalError if too many requests wait.
        """
        if self._decide is None:
            raise RuntimeError("this engine was made without decide=")
        learns = any(not isinstance(request, ChooseRequest) for request in requests)
        future = self._future()
        self._queue.put(Work(model, self._decide, future, owner, requests, learns=learns))
        return future

    def call(
        self, model: str | None, work: Callable[[Any], Any], *, owner: str = "", **waits: Unpack[Waits]
    ) -> "asyncio.Future[Any]":
        """Run work in the engine's thread. For the event loop.

        Raises RefusalError if too many requests wait.
        """
        future = self._future()
        self._queue.put(Work(model, work, future, owner, **waits))
        return future

    def call_now(
        self, model: str | None, work: Callable[[Any], Any], *, owner: str = "", **waits: Unpack[Waits]
    ) -> Any:
        """`call` from another thread, which waits for the result; never refused because others wait."""
        future: Future[Any] = Future()
        self._queue.put(Work(model, work, future, owner, **waits), bounded=False)
        return future.result()

    def _future(self) -> "asyncio.Future[Any]":
        if self._loop is None:
            raise RuntimeError("call start(loop) first")
        return self._loop.create_future()

    # From here on: the engine's thread alone.

    def _run(self) -> None:
        while (batch := self._queue.take(self.settings.batch)) is not None:
            try:
                self._admit()
                self._carry_out([work for work in batch if self._is_ready(work)])
            except Exception as error:
                logger.error("a batch went wrong where nothing should", exc_info=error)
                self._tell(batch, error)
        # A batch that failed during the stop may have put work off.
        self._tell([*self._queue.drain(), *(work for works in self._aside.values() for work in works)], stopping())

    def _carry_out(self, batch: list[Work]) -> None:
        """Run a batch in one transaction, commit it, deliver the results."""
        if not batch:
            return
        try:
            connection, transaction = self._begin()
        except NotBegunError as error:
            # The rest of a failed batch would wait for a connection one by one.
            self._tell([*batch, *self._queue.drain(alone=True)], as_told(error))
            return
        turns: dict[str, Turn] = {}
        self._noted = []
        try:
            batch = self._open_turns(connection, batch, turns)
            done, left = self._run_all(connection, turns, batch)
            for turn in turns.values():
                turn.flush()
        except Exception as error:
            self._drop_connection()
            self._drop_moved(turns)
            self._failed(batch, error)
            return
        outcome: BaseException | None = None
        try:
            transaction.commit()
        except Exception as error:
            self._drop_connection()
            self._drop_moved(turns)
            if is_rolled_back(error):
                self._failed(batch, RolledBackError(str(cause_of(error))))
                return
            outcome = None if self._is_written(turns) else as_told(UnknownOutcomeError(cause_of(error)))
        else:
            self.commits += 1
            self.digests.extend(self._noted)
        for work in batch:
            work.results |= dict.fromkeys(work.tried, outcome) if outcome else work.tried
            work.tried = {}
        self._tell(done, outcome)
        self._queue.put_first(left)
        if any(work.model is None and not work.reads for work in done):
            # It may have changed or removed any model's row.
            self._headers.clear()
        if self._connection is not None:
            self._settle(turns)

    def _is_written(self, turns: dict[str, Turn]) -> bool:
        """Whether the store has a batch whose commit got no reply. Where it has not, the outcome is still unknown."""
        rows = [(turn.state.id, turn.last) for turn in turns.values() if turn.last is not None]
        until = time.monotonic() + _FINDING_OUT
        while rows and self.database.shared and time.monotonic() < until:
            try:
                with self.database.reading() as connection:
                    if log_table.holds(connection, *rows[0]):
                        return True
            except (SQLAlchemyError, OSError):
                pass
            time.sleep(0.1)
        return False

    def _begin(self) -> tuple[Connection, Any]:
        try:
            if self._connection is None:
                self._connection = self.database.engine.connect().execution_options(conquer_writes=True)
            return self._connection, self._connection.begin()
        except (SQLAlchemyError, OSError) as error:
            self._drop_connection()
            raise NotBegunError(str(cause_of(error))) from error

    def _drop_connection(self) -> None:
        """Roll back whatever is open, and connect anew for the next batch, with nothing known of the store's rows."""
        connection, self._connection = self._connection, None
        self._headers.clear()
        if connection is not None:
            try:
                connection.close()
            except Exception as error:
                logger.warning("a connection to the store could not be closed: %s", cause_of(error))
                with contextlib.suppress(SQLAlchemyError, OSError):
                    connection.invalidate()

    # Which work can run now.

    def _is_ready(self, work: Work) -> bool:
        """Whether the model is in memory and meets what the work waits for; else the work is put aside."""
        name = work.model
        if name is None:
            return True
        if name in self._fresh:
            # Compared with its log in the transaction.
            return True
        state = self.models.get(name)
        return (state is not None and not state.void and self._meets(work, state)) or self._put_aside(work)

    def _meets(self, work: Work, state: ModelState) -> bool:
        """Whether the model is as the work needs it. A model made anew under its name answers the work's wait too."""
        if work.settled and state.stale and work.after is None:
            work.after = (state.id, state.position)
        if work.after is not None and state.id != work.after[0]:
            work.after = None
        return satisfies(state, work.after) and not (work.learns and state.unlearning)

    def _put_aside(self, work: Work) -> bool:
        """Let work wait for its model to be loaded; returns False, for it cannot run now."""
        name = str(work.model)
        works = self._aside.get(name, [])
        if self._closed:
            self._tell([work], stopping())
        elif work.loads >= _LOADS:
            message = f"model {name!r} was loaded {_LOADS} times and never as far as this needs; try again"
            self._tell([work], RefusalError(Kind.UNAVAILABLE, "behind", message, retry_after=1))
        elif len(works) >= max(1, self.settings.queue // 4):
            message = f"{len(works)} requests are waiting for model {name!r} to be loaded; try again"
            self._tell([work], RefusalError(Kind.BUSY, "busy", message, retry_after=1))
        else:
            work.loads += 1
            self._aside.setdefault(name, []).append(work)
            self._want(name)
        return False

    def _want(self, name: str) -> None:
        """Have a model loaded, unless it is being loaded."""
        if name in self._wanted or self._closed:
            return
        begun = self._fresh.pop(name, None)
        if begun is not None and (begun.stale or begun.void):
            # It would reach the end of its log without the correction, again and again.
            begun = None
        job = load_in_slices(self.database, name, self.build, self.settings.events_cached, begun)
        self._wanted.add(name)
        self._loading.submit(name, job, counted=False).add_done_callback(functools.partial(self._arrive, name))

    def _arrive(self, name: str, future: "Future[ModelState | None]") -> None:
        """In the loading thread."""
        self._arrived.append((name, future.exception() or future.result()))
        self._queue.wake()

    def _admit(self) -> None:
        """Return work to the queue whose models have been loaded."""
        while self._arrived:
            name, arrival = self._arrived.popleft()
            self._wanted.discard(name)
            works = self._aside.pop(name, [])
            if isinstance(arrival, ModelState):
                arrival.watch = self._watch
                self.alarms.clear(f"load:{name}")
                if works or name in self.models:
                    self._fresh[name] = arrival
                    # Without work of others, it still takes the place of the one in memory.
                    self._queue.put_first(works or [Work(name, _nothing, Future(), reads=True)])
            elif arrival is None:
                self.alarms.clear(f"load:{name}")
                # A first load may have looked before the model was made.
                self._tell([work for work in works if work.loads > 1], unknown_model(name))
                for work in works:
                    if work.loads == 1:
                        self._put_aside(work)
            else:
                self.alarms.count("load")
                self.alarms.raise_(f"load:{name}", f"model {name!r} cannot be loaded: {arrival}")
                self._tell(works, as_told(arrival))

    # A batch.

    def _open_turns(self, connection: Connection, batch: list[Work], turns: dict[str, Turn]) -> list[Work]:
        """Open a turn for every model; returns the work that can run now."""
        by_model: dict[str, list[Work]] = {}
        for work in batch:
            if work.model is not None:
                by_model.setdefault(work.model, []).append(work)
        out = {name for name in by_model if not self._locked(connection, name)}
        headers = (
            {} if self.database.shared else {name: self._headers[name] for name in by_model if name in self._headers}
        )
        unknown = [name for name in by_model if name not in out and (name not in headers or name in self._fresh)]
        if unknown:
            headers |= log_table.headers(connection, unknown)
        now, behind = self.clock(), list[Work]()
        for name, works in by_model.items():
            header = headers.get(name)
            if name in out:
                continue
            if header is None:
                self._forget(name)
                continue
            state = self._current(connection, header)
            if state is not None:
                turns[name] = Turn(connection, state, header, now, self.build, self.limits)
            behind += [work for work in works if state is None or not self._meets(work, state)]
        # Not before every model has been looked at: what fails until then runs the whole batch again.
        locked = [work for work in batch if work.model in out]
        for work in behind:
            self._put_aside(work)
        self._try_later(locked)
        waiting = {id(work) for work in (*behind, *locked)}
        return [work for work in batch if id(work) not in waiting]

    def _locked(self, connection: Connection, name: str) -> bool:
        """Lock a model that another server writes too; False if that server is writing it now."""
        state = self._fresh.get(name) or self.models.get(name)
        if not self.database.shared or state is None or name not in self._contended:
            return True
        return try_lock(connection, state.id)

    def _try_later(self, works: list[Work]) -> None:
        """Put off work on models that another server is writing."""
        held = [work for work in works if work.tries >= _TRIES]
        message = "another server has been writing this model for too long; try again"
        self._tell(held, RefusalError(Kind.UNAVAILABLE, "locked", message, retry_after=1))
        again = [work for work in works if work.tries < _TRIES]
        for work in again:
            work.tries += 1
        self._queue.put_later(again, _AGAIN)

    def _current(self, connection: Connection, header: log_table.Header) -> ModelState | None:
        """The model at the end of its log; None where it must be loaded first."""
        name = header.name
        try:
            fresh = self._fresh.get(name)
            if fresh is not None:
                if self._catch_up(connection, fresh, header):
                    del self._fresh[name]
                    self._memory.keep(fresh)
                else:
                    self._want(name)
            state = self.models.get(name)
            if state is not None and not self._catch_up(connection, state, header):
                self._memory.drop(name)
                return None
        except BaseException:
            # It may have taken in half a row.
            self._forget(name)
            raise
        return state

    def _catch_up(self, connection: Connection, state: ModelState, header: log_table.Header) -> bool:
        """Replay the rows that other servers have written; False where there are too many, or some are pruned."""
        behind = header.position - state.position
        if state.void or state.id != header.id or not 0 <= behind <= _NEAR or header.base > state.position:
            return False
        if behind:
            if self.models.get(header.name) is state:
                self._contended[header.name] = _CONTENDED
            catch_up(connection, state, header.position, self.settings.events_cached)
        for position in state.unreadable:
            snapshots.drop(connection, state.id, position, position)
        state.unreadable = []
        return not state.void

    def _run_all(
        self, connection: Connection, turns: dict[str, Turn], batch: list[Work]
    ) -> tuple[list[Work], list[Work]]:
        """Run a batch's work in order, related requests together, until time is up; returns work done and left.

        Raises what went wrong where a model may have changed by more than its rows say.
        """
        groups: dict[Any, list[Work]] = {}
        for work in batch:
            work.result = work.error = None
            key = (work.model, work.owner, work.run) if work.requests else id(work)
            groups.setdefault(key, []).append(work)
        end = time.perf_counter() + _SLICE
        started, unbegun = False, set[int]()
        for works in groups.values():
            size, todo = 1, [(work, place) for work in works for place in (work.open if work.requests else [_WHOLE])]
            while todo:
                if started and (time.perf_counter() > end or works[0].alone):
                    unbegun |= {id(work) for work, place in todo if place == _WHOLE}
                    break
                part, todo = todo[:size], todo[size:]
                before, started = time.perf_counter(), True
                self._run_part(connection, turns, part)
                now = time.perf_counter()
                self._queue.charge(works[0].owner, now - before)
                # As many more as the rest of the time allows, at the rate seen.
                size = max(1, min(4 * size, int(len(part) * (end - now) / max(now - before, 1e-6))))
        left = [work for work in batch if work.open or id(work) in unbegun]
        return [work for work in batch if work not in left], left

    def _run_part(self, connection: Connection, turns: dict[str, Turn], part: "list[_Place]") -> None:
        """Run one piece of work, or requests that go together."""
        first = part[0][0]
        turn = turns.get(first.model or "")
        if first.model is not None and (turn is None or turn.removed):
            _refuse(part, unknown_model(first.model))
            return
        before = 0 if turn is None else turn.state.position
        try:
            if first.requests:
                results = first.run(turn, [work.requests[place] for work, place in part])
                for (work, place), result in zip(part, results, strict=True):
                    if result is not None:
                        work.tried[place] = result
            else:
                first.result = first.run(connection if turn is None else turn)
        except RefusalError as refusal:
            if refusal.tainted or (turn is not None and turn.state.position != before):
                # Refused half-way: what it appended goes, and with it the transaction.
                _mark_moved(turn)
                raise
            _refuse(part, refusal)
        except BaseException as error:
            store = not isinstance(error, Exception) or isinstance(error, SQLAlchemyError | OSError)
            if store or not first.reads or turn is None or turn.state.position != before:
                _mark_moved(turn)
                if isinstance(error, Exception):
                    raise
                # An exit or a cancellation, which would end the thread.
                raise RuntimeError(f"work ended with {error!r}") from error
            first.error = error

    def _failed(self, batch: list[Work], error: Exception) -> None:
        """Run the work of a failed batch again where that can help; else deliver the error."""
        for work in batch:
            work.tried = {}
        if is_conflict(error) or is_locked(error):
            for work in batch:
                work.conflicts += 1
                # Work that always conflicts fails no other for long.
                work.alone = work.conflicts > 1
                if work.model is not None and self.database.shared:
                    self._contended[work.model] = _CONTENDED
            over = [work for work in batch if work.conflicts > _CONFLICTS]
            self._tell(over, as_told(RolledBackError(str(cause_of(error)))))
            self._queue.put_later([work for work in batch if work.conflicts <= _CONFLICTS], _AGAIN)
            return
        told, again, store = list[Work](), list[Work](), isinstance(error, _OF_THE_STORE)
        for work in batch:
            if not work.alone and (store or len(batch) > 1 or len(work.open) > 1):
                work.alone = True
                again.append(work)
            elif len(work.open) > 1 and not store:
                # Alone, requests run one by one: this error is the first one's.
                work.results[work.open[0]] = as_told(error)
                again.append(work)
            else:
                told.append(work)
        self._tell(told, as_told(error))
        self._queue.put_first(again)

    def _settle(self, turns: dict[str, Turn]) -> None:
        """After a commit: keep the models, and have those loaded again whose earlier rows have changed."""
        for name, turn in turns.items():
            self._headers[name] = replace(turn.header, position=turn.state.position)
            if turn.removed or turn.state.void:
                self._forget(name)
            elif turn.state.stale:
                self._want(name)
            if name in self._contended:
                self._contended[name] -= 1
                if not self._contended[name]:
                    del self._contended[name]
        self._memory.after_commit(turns)

    def _drop_moved(self, turns: dict[str, Turn]) -> None:
        for name, turn in turns.items():
            if turn.moved or turn.state.position != turn.start:
                turn.state.void = True
                self._forget(name)

    def _forget(self, name: str) -> None:
        """Let go of a model: it is loaded again when it is needed."""
        for known in (self._fresh, self._contended, self._headers):
            known.pop(name, None)
        self._memory.drop(name)

    def _watch(self, state: ModelState) -> None:
        if self.database.shared:
            self._noted.append((state.id, state.position, state.generation, state.digest()))

    def _tell(self, works: Iterable[Work], error: BaseException | None = None) -> None:
        """Tell results, from whatever thread."""
        now, later = list[_Told](), list[_Told]()
        for work in works:
            told = (work.future, work.result, error or work.error)
            if work.requests and (work.results or error is None):
                told = (work.future, [work.results.get(place, error) for place in range(len(work.requests))], None)
            (now if isinstance(work.future, Future) else later).append(told)
        _deliver(now)
        if later and self._loop is not None:
            # The loop may have been closed, and its futures with it.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_deliver, later)


def _refuse(part: "list[_Place]", refusal: RefusalError) -> None:
    for work, place in part:
        if place == _WHOLE:
            work.error = refusal
        else:
            work.tried[place] = refusal


def _mark_moved(turn: Turn | None) -> None:
    if turn is not None:
        turn.moved = True


def _nothing(turn: Turn) -> None:
    """Work that has its model compared with the end of its log."""


def _deliver(told: list[_Told]) -> None:
    """Set results. A future that cannot take its result must not keep the others from theirs."""
    for future, result, error in told:
        try:
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            elif isinstance(error, StopIteration):
                # asyncio's futures refuse a StopIteration.
                future.set_exception(RuntimeError(f"work ended with {error!r}"))
            else:
                future.set_exception(error)
        except Exception:
            logger.exception("a result could not be delivered")
