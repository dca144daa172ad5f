"""A batch of requests as one transaction: run them all, write their rows, commit; memory never ahead of the disk."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from conquer.service.errors import RefusalError, unknown_model
from conquer.service.log.fold import Folded
from conquer.service.log.loading import Build, catch_up
from conquer.service.log.transaction import Turn
from conquer.service.settings import Settings
from conquer.service.store import log_table, snapshots
from conquer.service.store.database import Database
from conquer.service.writer.failures import NotBegunError, UndoneError, UnknownOutcomeError, cause_of, rolled_back

_NEAR = 2000
"""So many rows of others are caught up with inside a transaction; more are folded beside the writer."""
_DIGESTS = 1000
_FINDING_OUT = 5.0
"""Seconds in which to find out what became of a commit whose reply never came."""


@dataclass(slots=True)
class QueuedWork:
    """Work to do on a model (or, with model None, on the store), and whom to tell.

    `events` are those it will look up; `light` work takes microseconds and may run between two requests; work with a
    `generation` waits until the log has been folded again with the correction at that position; `alone`: in a batch
    of its own, for one that it was part of has failed.
    """

    model: str | None
    work: Callable[[Any], Any]
    events: tuple[str, ...]
    future: "Future[Any] | asyncio.Future[Any]"
    light: bool = False
    generation: int = 0
    alone: bool = False
    tries: int = 0
    result: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class Prepared:
    """A batch that was carried out inside a transaction which waits for its commit.

    Not part of it: `distant`, whose models must be folded first, and `locked`, which another server holds.
    """

    batch: list[QueuedWork]
    transaction: RootTransaction
    turns: dict[str, Turn] = field(default_factory=dict)
    distant: list[QueuedWork] = field(default_factory=list)
    locked: list[QueuedWork] = field(default_factory=list)


class Batches:
    """Owns every model in memory and the one connection that writes. For one thread at a time."""

    def __init__(self, database: Database, build: Build, settings: Settings, clock: Callable[[], float]) -> None:
        self.database, self.build, self.settings, self.clock = database, build, settings, clock
        self.models: OrderedDict[str, Folded] = OrderedDict()
        self.fresh: dict[str, Folded] = {}
        """Folded beside the writer, and not yet compared with the end of their logs."""
        self.commits = 0
        self.digests: deque[tuple[int, int, int, str]] = deque(maxlen=_DIGESTS)
        """(model, position, generation, digest) of folds that other servers may compare with theirs."""
        self._headers: dict[str, log_table.Header] = {}
        self._connection: Connection | None = None

    def known(self, name: str) -> Folded | None:
        """The model as the next turn will find it, if it is in memory."""
        folded = self.fresh.get(name) or self.models.get(name)
        return None if folded is None or folded.void else folded

    def prepare(self, batch: list[QueuedWork], wait: float = 5.0, skip_locked: bool = False) -> Prepared:
        """Do its work and write its rows. `wait`: seconds for another process to let go of the store.

        Raises what went wrong; nothing has happened then, in the store or in memory.
        """
        connection, transaction = self._begin(wait)
        prepared = Prepared(batch, transaction)
        starts: dict[str, int] = {}
        try:
            self._open_turns(connection, prepared, skip_locked)
            starts = {name: turn.folded.position for name, turn in prepared.turns.items()}
            self._run_all(connection, prepared)
        except BaseException:
            self._take_back(prepared, starts)
            raise
        return prepared

    def commit(self, prepared: Prepared) -> None:
        """Make it durable; only then are the models' new states the ones that later requests see."""
        try:
            prepared.transaction.commit()
        except Exception as error:
            surely_not = self._surely_not(error)
            self._drop_connection()
            for name in prepared.turns:
                self.forget(name)
            done = False if surely_not else self._find_out(prepared)
            if not done:
                raise (UndoneError if done is False else UnknownOutcomeError)(str(cause_of(error))) from error
            return
        self.commits += 1
        for name, turn in prepared.turns.items():
            if turn.removed:
                self.forget(name)
                continue
            self._headers[name] = turn.header
            self.fresh.pop(name, None)
            self.models[name] = turn.folded
            self.models.move_to_end(name)

    def watch(self, folded: Folded) -> None:
        """Note what a fold came to, where others share the store."""
        if self.database.shared:
            self.digests.append((folded.id, folded.position, folded.generation, folded.digest()))

    def replace(self, name: str, folded: Folded) -> None:
        """A model has been folded: from now on it is this one, once the rows that came meanwhile have been added."""
        self.fresh[name] = folded
        self.models.pop(name, None)

    def forget(self, name: str) -> None:
        """Let go of a model in memory: it is read again when somebody needs it."""
        for known in (self.models, self.fresh, self._headers):
            known.pop(name, None)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin(self, wait: float) -> tuple[Connection, RootTransaction]:
        try:
            if self._connection is None:
                self._connection = self.database.engine.connect().execution_options(conquer_writes=True)
            connection = self._connection.execution_options(conquer_wait=wait)
            return connection, connection.begin()
        except (SQLAlchemyError, OSError) as error:
            self._drop_connection()
            raise NotBegunError(str(cause_of(error))) from error

    def _run_all(self, connection: Connection, prepared: Prepared) -> None:
        turns = prepared.turns
        for queued in prepared.batch:
            queued.result = queued.error = None
            turn = turns.get(queued.model or "")
            before = 0 if turn is None else turn.folded.position
            try:
                queued.result = _run(connection, turn, queued)
            except RefusalError as refusal:
                # Refused half-way: what it had appended must go, and with it the transaction.
                if refusal.tainted or (turn is not None and turn.folded.position != before):
                    raise
                queued.error = refusal
        for turn in turns.values():
            turn.flush()

    def _open_turns(self, connection: Connection, prepared: Prepared, skip_locked: bool) -> None:
        """A turn for every model of the batch; works whose models cannot take part now leave it."""
        wanted: dict[str, list[QueuedWork]] = {}
        for queued in prepared.batch:
            if queued.model is not None:
                wanted.setdefault(queued.model, []).append(queued)
        shared = self.database.shared
        asked = [name for name in wanted if shared or name in self.fresh or name not in self._headers]
        found = log_table.headers(connection, asked, shared, skip_locked) if asked else {}
        held = set(log_table.headers(connection, asked)) - found.keys() if skip_locked and asked else set()
        now = self.clock()
        for name, works in wanted.items():
            header = found.get(name) if name in asked else self._headers[name]
            folded = self.known(name)
            if header is None and name not in held:
                self.forget(name)
                continue
            if (
                header is not None
                and folded is not None
                and self._at_the_end(connection, folded, header, name in asked)
            ):
                turn = prepared.turns[name] = Turn(connection, folded, header, now, self.build)
                turn.look_up(one for queued in works for one in queued.events)
                continue
            (prepared.locked if header is None else prepared.distant).extend(works)
            prepared.batch = [queued for queued in prepared.batch if queued.model != name]

    def _at_the_end(self, connection: Connection, folded: Folded, header: log_table.Header, asked: bool) -> bool:
        """Bring the model to the end of its log, whoever wrote it; False where that is too far for now."""
        if folded.id != header.id or header.position - folded.position > _NEAR:
            return False
        if asked and folded.position < header.position:
            catch_up(connection, folded, self.settings.events_cached)
        for position in folded.unreadable:
            snapshots.drop(connection, folded.id, position)
        folded.unreadable = []
        return not folded.void

    def _take_back(self, prepared: Prepared, starts: dict[str, int]) -> None:
        """Undo a transaction that failed, and forget every model that may hold more than the store."""
        self._drop_connection()
        for name, turn in prepared.turns.items():
            if name not in starts or turn.folded.position != starts[name] or turn.moved:
                self.forget(name)

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self.close()

    def _surely_not(self, error: Exception) -> bool:
        """Whether the store itself said that the commit was not made."""
        if self.database.shared or self._connection is None:
            return rolled_back(error)
        raw: Any = self._connection.connection.driver_connection
        return bool(raw.in_transaction)

    def _find_out(self, prepared: Prepared) -> bool | None:
        """Whether a commit without a reply was made; None: that cannot be told."""
        marks = [(turn.folded, turn.written) for turn in prepared.turns.values() if turn.written is not None]
        if not marks:
            # Light work without a row has changed nothing; other work may have written to tables that keep no trace.
            return False if all(queued.light for queued in prepared.batch) else None
        folded, row = marks[0]
        until = time.monotonic() + _FINDING_OUT
        while time.monotonic() < until:
            try:
                with self.database.writing() as connection:
                    # Under the model's lock: the other connection's transaction has ended, one way or the other.
                    log_table.headers(connection, [folded.name], lock=self.database.shared)
                    return log_table.holds(connection, folded.id, row)
            except (SQLAlchemyError, OSError):
                time.sleep(0.1)
        return None


def _run(connection: Connection, turn: Turn | None, queued: QueuedWork) -> Any:
    if queued.model is None:
        return queued.work(connection)
    if turn is None or turn.removed:
        raise unknown_model(queued.model)
    try:
        return queued.work(turn)
    except RefusalError as refusal:
        turn.moved = turn.moved or refusal.tainted
        raise
    except BaseException:
        turn.moved = True
        raise


def deliver(batch: Iterable[QueuedWork]) -> None:
    """Tell everyone what became of their work."""
    for queued in batch:
        if queued.future.done():
            continue
        if queued.error is not None:
            queued.future.set_exception(queued.error)
        else:
            queued.future.set_result(queued.result)
