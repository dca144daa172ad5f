"""The engine: one thread that chooses, learns and writes, a batch of work at a time.

A piece of work is one call: a function, or a list of requests to one function. It is *waiting* in the queue, *loading*
(its model is), in the *batch*, or done. Every row below is a way to leave a step; otherwise the next step follows.

    step     what happens                                 the work is then   its caller gets
    -------  -------------------------------------------  -----------------  -------------------------------------------
    take     its model is not in memory                   loading
    begin    the store is away                            done               503, and all requests that wait with it;
                                                                             work of `call_now` waits on
    turns    another server has locked the model          waiting, 50 ms     503 after 100 times
             the model is far behind, or not as needed    loading
    run      a refusal; or work that only reads fails     batch              its own error
             25 ms are over                               waiting, in front
             anything else fails                          waiting, alone     alone: its own error
    commit   succeeds                                     done               its result
             the store says that it rolled back           waiting, alone     alone: 503
             no reply                                     done               its result if the store has a row of the
                                                                             batch within 2 s, else 504
    load     succeeds                                     waiting, in front
             fails, or 40 loads were not enough           done               503
             a quarter of the queue waits for the model   done               429
             a second look finds no such model            done               404

Alone, a piece of work has a batch of its own, and its requests run one by one.

The batch is one transaction. Rows are applied to the models in memory as they are appended, and stored by the commit.
Where it is not certain that they are stored, the models that moved are dropped, so memory never keeps what the store
does not have; a dropped model is loaded when work next needs it. Only the engine's thread touches models in memory,
turns and the connection that writes, until `stop` has ended it; a model that is being loaded belongs to the loading
thread. Other threads add work to the queue and read results from futures.

A model is *stale* when a correction or an erasure is in its log that its weights do not know: it goes on choosing and
learning while the log is replayed into another copy, and work with `after` waits for that. It is *unlearning* when a
weighed voter was erased: work with `learns` waits too, since a weight estimated now would rest on theirs. It is *void*
when another server has fitted its features: it is dropped.

Other servers of a PostgreSQL store: each batch locks its models until it ends. The lock is tried, never waited for, so
a frozen server delays no other model. In its turn a model first replays the rows that others have written. The log's
primary key, (model, position), is the fence: where another server has written a row first, the batch is rolled back,
and each piece runs alone, up to five times more.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Unpack

from sqlalchemy import Connection

from conquer.service.alarms import Alarms
from conquer.service.engine.failures import STORE, as_told, cause_of, is_conflict, is_rolled_back, unknown_outcome
from conquer.service.engine.loading import Build, catch_up, load_in_slices
from conquer.service.engine.long_work import LongWork
from conquer.service.engine.memory import LoadedModels
from conquer.service.engine.queue import NOW, Queue, Waits, Work
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, stopping, unknown_model
from conquer.service.model.schemas import ChooseRequest
from conquer.service.model.state import ModelState
from conquer.service.settings import Settings
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.database import Database
from conquer.service.store.servers import lock_models

logger = logging.getLogger(__name__)
_Result = tuple["asyncio.Future[Any] | Future[Any]", Any]
"""A future and its result; an exception is raised by the future."""
Decide = Callable[[Turn, Sequence[Any]], Sequence[Any]]
"""Chooses and answers: a reply or a RefusalError for each request."""
_SLICE = 0.025
"""Seconds of running after which a batch commits; the rest of its work waits for the next."""
_PAUSE = 0.0005
"""Seconds between two batches, in which the event loop reads requests that have arrived: commits are fewer."""
_FIRST = 16
"""Requests of a quick model that run together at first; those of others begin with one, whose time is unknown."""
_NEAR, _STEP = 2000, 20
"""Rows of another server that are replayed inside a batch, for 25 ms; more are replayed by the loading thread."""
_AGAIN, _TRIES = 0.05, 100
"""Seconds until work that another server keeps from its model is tried again, and how often."""
_CONFLICT = 20
"""How many tries a conflict counts as: it costs a whole batch, a lock that cannot be had one query."""
_LOADS = 40
"""How often a model is loaded for one piece of work: a damaged log may never reach the correction it waits for."""
_FINDING_OUT = 2.0
"""Seconds in which to look for a batch whose commit got no reply."""
_STOPPING = 20.0
_DIGESTS = 1000


class _Load(NamedTuple):
    """A model that is being loaded, and the work that waits for it."""

    future: "Future[ModelState | None]"
    works: list[Work]


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
        self._loads: dict[str, _Load] = {}
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="conquer-engine", daemon=True)

    @property
    def models(self) -> OrderedDict[str, ModelState]:
        """The models in memory, least recently used first."""
        return self._memory.models

    @property
    def waiting(self) -> int:
        """The pieces of work that wait."""
        return len(self._queue) + sum(len(load.works) for load in list(self._loads.values()))

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Become a process that writes the store, and start the thread."""
        self.database.claim()
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Finish what can run, refuse what waits for a model, store snapshots of changes, release the store."""
        self._queue.close()
        if self._thread.is_alive():
            self._thread.join(_STOPPING)
        aside = [work for load in list(self._loads.values()) for work in load.works]
        self._deliver([*self._queue.drain(), *aside], stopping())
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
                cold = [work for work in batch if work.model is not None and work.model not in self.models]
                self._put_aside(cold)
                self._carry_out([work for work in batch if work.model is None or work.model in self.models])
            except BaseException as error:
                logger.error("a batch went wrong where nothing should", exc_info=error)
                self._drop_connection()
                for work in batch:
                    self._memory.drop(work.model or "")
                # None of it may run after its caller has the error.
                for load in self._loads.values():
                    load.works[:] = [work for work in load.works if work not in batch]
                self._queue.put_back([work for work in self._queue.drain() if work not in batch])
                self._deliver(batch, as_told(error))
            time.sleep(_PAUSE)

    def _carry_out(self, batch: list[Work]) -> None:
        """Run a batch in one transaction, commit it, deliver the results."""
        if not batch:
            return
        try:
            if self._connection is None:
                self._connection = self.database.engine.connect().execution_options(conquer_writes=True)
            connection = self._connection
            transaction = connection.begin()
        except STORE as error:
            self._drop_connection()
            # All other requests would wait for the store in vain, one by one; steps of long work may.
            waiting = self._queue.drain()
            requests = [work for work in waiting if not isinstance(work.future, Future)]
            self._deliver([*batch, *requests], as_told(error))
            self._queue.put_back([work for work in waiting if isinstance(work.future, Future)], _AGAIN)
            return
        turns: dict[str, Turn] = {}
        try:
            batch = self._open_turns(connection, batch, turns)
            self._run_all(connection, turns, batch)
            for turn in turns.values():
                turn.flush()
        except Exception as error:
            self._roll_back(turns)
            self._run_again(batch, error)
            return
        outcome: RefusalError | None = None
        try:
            transaction.commit()
        except Exception as error:
            self._roll_back(turns)
            if is_rolled_back(error):
                self._run_again(batch, error)
                return
            outcome = None if self._is_written(turns) else unknown_outcome(error)
            turns = {}
        else:
            self.commits += 1
        for work in batch:
            work.results |= dict.fromkeys(work.tried, outcome) if outcome else work.tried
            work.tried = {}
        left = [work for work in batch if len(work.results) < work.size]
        self._deliver([work for work in batch if work not in left] if left else batch)
        self._queue.put_back(left)
        self._settle(turns)

    def _is_written(self, turns: dict[str, Turn]) -> bool:
        """Whether the store has a batch whose commit got no reply. Where it has not, the outcome is still unknown."""
        rows = [(turn.state.id, turn.last) for turn in turns.values() if turn.last is not None]
        until = time.monotonic() + _FINDING_OUT
        while rows and self.database.shared and time.monotonic() < until:
            with contextlib.suppress(*STORE), self.database.reading() as connection:
                if log_table.holds(connection, *rows[0]):
                    return True
            time.sleep(0.1)
        return False

    def _roll_back(self, turns: dict[str, Turn]) -> None:
        """Drop the models that have moved, and the connection."""
        for name, turn in turns.items():
            self._memory.headers.pop(name, None)
            if turn.moved or turn.state.position != turn.start:
                self._memory.drop(name)
        self._drop_connection()

    def _drop_connection(self) -> None:
        """Roll back whatever is open; the next batch connects anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception as error:
                logger.warning("a connection to the store could not be closed: %s", cause_of(error))
                with contextlib.suppress(*STORE):
                    connection.invalidate()

    def _run_again(self, batch: list[Work], error: Exception) -> None:
        """After a rollback: run each piece of work again, alone. Work that has failed alone gets the error."""
        failed, again, later = list[Work](), list[Work](), list[Work]()
        for work in batch:
            work.tried = {}
            if not work.alone and (isinstance(error, STORE) or len(batch) > 1 or len(work.open) > 1):
                # A single piece is run again too: an idle connection may have been cut.
                work.alone = True
                again.append(work)
            elif is_conflict(error) and work.tries < _TRIES:
                work.tries += _CONFLICT
                later.append(work)
            elif len(work.open) > 1 and not isinstance(error, STORE):
                # Alone, requests run one by one: this error is the first one's.
                work.results[work.open[0]] = as_told(error)
                again.append(work)
            else:
                failed.append(work)
        self._deliver(failed, as_told(error))
        self._queue.put_back(again)
        self._queue.put_back(later, _AGAIN)

    def _settle(self, turns: dict[str, Turn]) -> None:
        """After a commit: keep the models, and have those loaded again whose earlier rows have changed."""
        for name, turn in turns.items():
            self.digests.extend(turn.state.digests)
            turn.state.digests.clear()
            if not self.database.shared:
                # No other process writes the store: the next batch need not read this again.
                self._memory.headers[name] = turn.header
            if turn.removed or turn.state.void:
                self._memory.drop(name)
            elif turn.state.stale:
                self._load(name)
        self._memory.after_commit(turns)

    # Loading.

    def _put_aside(self, works: Iterable[Work]) -> None:
        """Let work wait for its model to be loaded."""
        for work in works:
            name, error = str(work.model), None
            waiting = self._load(name)
            if work.loads >= _LOADS:
                message = f"model {name!r} was loaded {_LOADS} times and never as far as this needs; try again"
                error = RefusalError(Kind.UNAVAILABLE, "behind", message, retry_after=1)
            elif len(waiting) >= max(1, self.settings.queue // 4):
                message = f"{len(waiting)} requests are waiting for model {name!r} to be loaded; try again"
                error = RefusalError(Kind.BUSY, "busy", message, retry_after=1)
            if error is not None:
                self._deliver([work], error)
                continue
            work.loads += 1
            waiting.append(work)

    def _load(self, name: str, begun: ModelState | None = None) -> list[Work]:
        """Load a model, from `begun` on if that is given, unless that is under way; returns the work that waits."""
        if name not in self._loads:
            job = load_in_slices(self.database, name, self.build, self.settings.events_cached, begun)
            self._loads[name] = _Load(self._loading.submit(name, job), [])
            self._loads[name].future.add_done_callback(lambda _: self._queue.wake())
        return self._loads[name].works

    def _admit(self) -> None:
        """Keep the models that have been loaded, and return the work that waits for them to the queue."""
        for name in [name for name, load in self._loads.items() if load.future.done()]:
            future, works = self._loads.pop(name)
            error = future.exception()
            if error is not None:
                self.alarms.count("load")
                self.alarms.raise_(f"load:{name}", f"model {name!r} cannot be loaded: {error}")
                self._deliver(works, as_told(error))
                continue
            self.alarms.clear(f"load:{name}")
            state = future.result()
            if state is None:
                # A first load may have looked before the model was made.
                self._deliver([work for work in works if work.loads > 1], unknown_model(name))
                works = [work for work in works if work.loads == 1]
            elif works or name in self.models:
                state.compares = self.database.shared
                if name in self.models and self.models[name].id == state.id:
                    state.asked = self.models[name].asked
                self._memory.keep(state)
            self._queue.put_back(works)

    # A batch.

    def _open_turns(self, connection: Connection, batch: list[Work], turns: dict[str, Turn]) -> list[Work]:
        """Open a turn for every model; returns the work that can run now."""
        by_model: dict[str, list[Work]] = {}
        for work in batch:
            if work.model is not None:
                by_model.setdefault(work.model, []).append(work)
        others = lock_models(connection, [self.models[name].id for name in by_model]) if self.database.shared else ()
        locked = [work for name, works in by_model.items() if self.models[name].id in others for work in works]
        names = [name for name in by_model if self.models[name].id not in others]
        known = self._memory.headers
        unknown = [name for name in names if name not in known]
        headers = log_table.headers(connection, unknown) if unknown else {}
        now, aside = self.clock(), list[Work]()
        for name in names:
            header, state = known.get(name) or headers.get(name), self.models.get(name)
            if header is None:
                self._memory.drop(name)
                continue
            if name not in known:
                state = self._current(connection, header)
            if state is not None:
                turns[name] = Turn(connection, state, header, now, self.build, self.limits)
            aside += [work for work in by_model[name] if state is None or not _meets(work, state)]
        # Not before every model has been looked at: what fails until then runs the whole batch again.
        self._put_aside(aside)
        if locked:
            self._put_off(locked)
        waiting = {*aside, *locked}
        return [work for work in batch if work not in waiting]

    def _put_off(self, works: list[Work]) -> None:
        """Try work again in a moment whose model another server has locked."""
        message = "another server has been writing this model for too long; try again"
        locked = RefusalError(Kind.UNAVAILABLE, "locked", message, retry_after=1)
        self._deliver([work for work in works if work.tries >= _TRIES], locked)
        self._queue.put_back([work for work in works if work.tries < _TRIES], _AGAIN)
        for work in works:
            work.tries += 1

    def _current(self, connection: Connection, header: log_table.Header) -> ModelState | None:
        """The model after replaying what other servers have written; None where it must be loaded first."""
        state, behind = self.models[header.name], header.position - self.models[header.name].position
        same = state.id == header.id and behind >= 0 and header.base <= state.position
        try:
            end = time.perf_counter() + _SLICE
            while same and behind <= _NEAR and state.position < header.position and time.perf_counter() < end:
                catch_up(connection, state, header.position, self.settings.events_cached, _STEP)
            if same and state.position == header.position:
                for position in state.unreadable:
                    snapshots.drop(connection, state.id, position, position)
                state.unreadable = []
                if not state.void:
                    return state
        except BaseException:
            # It may have taken in half a row.
            self._memory.drop(header.name)
            raise
        self._memory.drop(header.name)
        # A stale model is loaded afresh: replaying on would skip the correction.
        self._load(header.name, state if same and not (state.stale or state.void) else None)
        return None

    def _run_all(self, connection: Connection, turns: dict[str, Turn], batch: list[Work]) -> None:
        """Run a batch's work until time is up, requests of one owner on one model together.

        Raises what went wrong where a model may have changed by more than its rows say.
        """
        groups: dict[Any, list[Work]] = {}
        for work in batch:
            groups.setdefault((work.model, work.owner, work.run) if work.requests else work, []).append(work)
        end, started = time.perf_counter() + _SLICE, False
        for works in groups.values():
            state = self.models.get(works[0].model or "")
            if state is not None and not _meets(works[0], state):
                # A voter was erased in this batch: the next one lets it wait for the replay.
                continue
            size, todo = 1, [(work, place) for work in works for place in work.open]
            if state is not None and state.learner.quick and not works[0].alone:
                size = _FIRST
            while todo and not (started and (works[0].alone or time.perf_counter() > end)):
                part, todo = todo[:size], todo[size:]
                before, started = time.perf_counter(), True
                self._run_part(connection, turns, part, end)
                now = time.perf_counter()
                self._queue.charge(works[0].owner, now - before)
                # As many more as the rest of the time allows, at the rate seen.
                size = max(1, min(4 * size, int(len(part) * (end - now) / max(now - before, 1e-6))))

    def _run_part(
        self, connection: Connection, turns: dict[str, Turn], part: list[tuple[Work, int]], end: float
    ) -> None:
        """Run one piece of work, or requests that go together, until `end`."""
        first = part[0][0]
        turn = turns.get(first.model or "")
        before = 0 if turn is None else turn.state.position
        results: Sequence[Any]
        try:
            if first.model is not None and (turn is None or turn.removed):
                raise unknown_model(first.model)
            if turn is not None:
                turn.end = end
            if first.requests and turn is not None:
                results = first.run(turn, [work.requests[place] for work, place in part])
            else:
                results = [first.run(connection if turn is None else turn)]
        except BaseException as error:
            if isinstance(error, RefusalError):
                harmless = not error.tainted
            else:
                harmless = first.reads and turn is not None and not isinstance(error, STORE)
            if isinstance(error, StopIteration) or not isinstance(error, Exception):
                # It would end the thread, or cannot be the result of a future.
                error = RuntimeError(f"work ended with {error!r}")
            if not harmless or (turn is not None and turn.state.position != before):
                if turn is not None:
                    turn.moved = True
                raise error
            results = [error] * len(part)
        for (work, place), result in zip(part, results, strict=True):
            if result is not None or not work.requests:
                work.tried[place] = result

    def _deliver(self, works: Iterable[Work], error: BaseException | None = None) -> None:
        """Deliver results, or an error in place of those that are missing; from whatever thread."""
        now, later = list[_Result](), list[_Result]()
        for work in works:
            result = work.results.get(0, error)
            if work.requests and work.results:
                result = [work.results.get(place, error) for place in range(len(work.requests))]
            (now if isinstance(work.future, Future) else later).append((work.future, result))
        _set(now)
        if later and self._loop is not None:
            # The loop may have been closed, and its futures with it.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_set, later)


def _meets(work: Work, state: ModelState) -> bool:
    """Whether the model is as the work needs it."""
    if work.after is not None and work.after[0] != state.id:
        # A model made anew under its name answers the wait too.
        work.after = (state.id, state.position) if work.after == NOW and state.stale else None
    position = 0 if work.after is None else work.after[1]
    replayed = position <= state.generation or (position <= state.position and not state.stale)
    return replayed and not (work.learns and state.unlearning)


def _set(results: list[_Result]) -> None:
    """Set results. A future that cannot take its result must not keep the others from theirs."""
    for future, result in results:
        try:
            if future.done():
                continue
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)
        except Exception:
            logger.exception("a result could not be delivered")
