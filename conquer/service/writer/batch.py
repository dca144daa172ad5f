"""A batch of requests as one transaction: run them all, write their rows, commit; memory never ahead of the disk."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
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
from conquer.service.writer.work import Prepared, QueuedWork, satisfies

_NEAR = 2000
"""So many rows of others are caught up with inside a transaction; more are folded beside the writer."""
_DIGESTS = 1000
_FINDING_OUT = 5.0
"""Seconds in which to find out what became of a commit whose reply never came."""


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
        self._noted: list[tuple[int, int, int, str]] = []
        self._headers: dict[str, log_table.Header] = {}
        self._connection: Connection | None = None
        self._wait = -1.0
        """Seconds that the connection was last told to wait."""

    @property
    def connected(self) -> bool:
        """Whether a transaction can begin without waiting for a connection."""
        return self._connection is not None

    def known(self, name: str) -> Folded | None:
        """The model as the next turn will find it, if it is in memory."""
        folded = self.fresh.get(name) or self.models.get(name)
        return None if folded is None or folded.void else folded

    def prepare(self, batch: list[QueuedWork], wait: float = 5.0, skip_locked: bool = False) -> Prepared:
        """Do its work and write its rows. `wait`: seconds for another process to let go of the store.

        Raises what went wrong; nothing has happened then, in the store or in memory.
        """
        self._noted = []
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

    def write_out(self) -> Exception | None:
        """Have SQLite commit, outside of the interpreter, while other threads compute; what went wrong, if anything.

        What is left for `commit` then takes no time. It must be told of a failure: a transaction that SQLite has rolled
        back by itself could be committed once more without a word, and nothing would be there.
        """
        raw: Any = None if self._connection is None else self._connection.connection.driver_connection
        try:
            raw.commit()
        except Exception as error:
            return error
        return None

    def commit(self, prepared: Prepared, failure: Exception | None = None) -> None:
        """Make it durable; only then are the models' new states the ones that later requests see.

        `failure`: what went wrong when it was written out.
        """
        try:
            if failure is not None:
                raise failure
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
        self.digests.extend(self._noted)
        for name, turn in prepared.turns.items():
            if turn.removed:
                self.forget(name)
                continue
            self._headers[name] = turn.header
            if self.fresh.get(name) is turn.folded:
                del self.fresh[name]
            self.models[name] = turn.folded
            self.models.move_to_end(name)

    def watch(self, folded: Folded) -> None:
        """Note what a fold came to, where others share the store; it counts once it has been committed."""
        if self.database.shared:
            self._noted.append((folded.id, folded.position, folded.generation, folded.digest()))

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
                self._wait = -1.0
            if self._wait != wait:
                self._connection = self._connection.execution_options(conquer_wait=wait)
                self._wait = wait
            return self._connection, self._connection.begin()
        except (SQLAlchemyError, OSError) as error:
            self._drop_connection()
            raise NotBegunError(str(cause_of(error))) from error

    def _run_all(self, connection: Connection, prepared: Prepared) -> None:
        turns = prepared.turns
        for works in _together(prepared.batch):
            turn = turns.get(works[0].model or "")
            before = 0 if turn is None else turn.folded.position
            try:
                _run(connection, turn, works)
            except RefusalError as refusal:
                # Refused half-way: what it had appended must go, and with it the transaction.
                if refusal.tainted or (turn is not None and turn.folded.position != before):
                    raise
                for queued in works:
                    queued.error = refusal
            except (SQLAlchemyError, OSError):
                raise
            except Exception as error:
                # Who reads has moved nothing: the model and the others' work are as they would be without.
                if not works[0].reads or turn is None or turn.folded.position != before:
                    raise
                works[0].error = error
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
            if header is None and name not in held:
                self.forget(name)
                continue
            try:
                folded = None if header is None else self._current(connection, prepared, header, name in asked)
            except BaseException:
                # Whatever kept it from catching up, it may have taken in half a row: beside the writer it is read anew.
                self.forget(name)
                raise
            if header is not None and folded is not None:
                turn = prepared.turns[name] = Turn(connection, folded, header, now, self.build)
                turn.look_up(one for queued in works for one in queued.events)
                left = [queued for queued in works if not satisfies(folded, queued.generation)]
            else:
                left = works
            if left:
                (prepared.locked if header is None else prepared.distant).extend(left)
                gone = set(map(id, left))
                prepared.batch = [queued for queued in prepared.batch if id(queued) not in gone]

    def _current(
        self, connection: Connection, prepared: Prepared, header: log_table.Header, asked: bool
    ) -> Folded | None:
        """The model at the end of its log; the one that was folded again if it can be brought there, else the old."""
        fresh, old = self.fresh.get(header.name), self.models.get(header.name)
        if fresh is not None:
            if self._at_the_end(connection, fresh, header, asked):
                return fresh
            prepared.behind.append(header.name)
        return old if old is not None and self._at_the_end(connection, old, header, asked) else None

    def _at_the_end(self, connection: Connection, folded: Folded, header: log_table.Header, asked: bool) -> bool:
        """Bring the model to the end of its log, whoever wrote it; False where that is too far for now."""
        if folded.void or folded.id != header.id or header.position - folded.position > _NEAR:
            return False
        if header.base > folded.position:
            # Another server has pruned rows that this fold has not seen.
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


def _together(batch: Sequence[QueuedWork]) -> Iterable[list[QueuedWork]]:
    """The works of a batch in their order, those that are done together where the first of them is.

    Requests that wait at the same time have no order that anybody could rely on.
    """
    groups: dict[Any, list[QueuedWork]] = {}
    for queued in batch:
        queued.result = queued.error = None
        key = id(queued) if queued.request is None else (queued.model, queued.work)
        groups.setdefault(key, []).append(queued)
    return groups.values()


def _run(connection: Connection, turn: Turn | None, works: list[QueuedWork]) -> None:
    """Give each its result, or its refusal."""
    first = works[0]
    if first.model is None:
        first.result = first.work(connection)
        return
    if turn is None or turn.removed:
        raise unknown_model(first.model)
    try:
        if first.request is None:
            first.result = first.work(turn)
            return
        for queued, found in zip(works, first.work(turn, [one.request for one in works]), strict=True):
            if isinstance(found, RefusalError):
                queued.error = found
            else:
                queued.result = found
    except RefusalError as refusal:
        turn.moved = turn.moved or refusal.tainted
        raise
    except BaseException:
        turn.moved = turn.moved or not first.reads
        raise
