"""A batch of requests as one transaction: run them all, write their rows, commit; nobody is told before that.

Light work is done in memory alone, while the batch before it is on its way to the disk. So memory may be ahead of the
store, by one batch that is being written and one that waits for it; if the first fails, both are taken back.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from conquer.service.log.fold import Folded
from conquer.service.log.loading import Build, catch_up
from conquer.service.log.transaction import Turn
from conquer.service.settings import Settings
from conquer.service.store import log_table, snapshots
from conquer.service.store.database import Database
from conquer.service.writer.connection import StoreConnection
from conquer.service.writer.failures import NotBegunError, UndoneError, UnknownOutcomeError, cause_of
from conquer.service.writer.running import run_all
from conquer.service.writer.work import Prepared, QueuedWork, satisfies

_NEAR = 2000
"""So many rows of others are caught up with inside a transaction; more are folded beside the writer."""
_DIGESTS = 1000
_FINDING_OUT = 5.0
"""Seconds in which to find out what became of a commit whose reply never came."""


class Batches:
    """Owns every model in memory and the one connection that writes. For one thread at a time, but for `write`."""

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
        self._store = StoreConnection(database)

    def known(self, name: str) -> Folded | None:
        """The model as the next turn will find it, if it is in memory."""
        folded = self.fresh.get(name) or self.models.get(name)
        return None if folded is None or folded.void else folded

    def prepare(self, batch: list[QueuedWork], skip_locked: bool = False) -> Prepared:
        """Do its work inside a transaction and write its rows.

        Raises what went wrong; nothing has happened then, in the store or in memory.
        """
        self._noted = []
        connection, transaction = self._store.begin()
        prepared = Prepared(batch, transaction)
        starts: dict[str, int] = {}
        try:
            self._open_turns(connection, prepared, skip_locked)
            starts = {name: turn.folded.position for name, turn in prepared.turns.items()}
            run_all(connection, prepared.turns, prepared.batch)
            for turn in prepared.turns.values():
                turn.flush()
        except BaseException:
            self._store.drop()
            for name, turn in prepared.turns.items():
                if name not in starts or turn.folded.position != starts[name] or turn.moved:
                    self.forget(name)
            raise
        return prepared

    def is_at_hand(self, queued: QueuedWork) -> bool:
        """Whether this work can be done in memory, beside what is being written."""
        name = queued.model
        if not queued.light or queued.alone or name is None or name not in self._headers or name in self.fresh:
            return False
        folded = self.models.get(name)
        known = self._store.reader is not None and folded is not None and not folded.void
        return known and (queued.generation is None or (folded is not None and satisfies(folded, queued.generation)))

    def compute(self, works: Sequence[QueuedWork], prepared: Prepared) -> None:
        """Do works that are at hand in memory, after those of `prepared`; `write` brings them to the disk.

        Raises what went wrong: then all of `prepared` must be taken back.
        """
        connection = self._store.reader
        if connection is None:
            raise RuntimeError("nothing is at hand before the store was opened")
        prepared.batch.extend(works)
        turns, missing = prepared.turns, dict[str, list[str]]()
        for queued in works:
            name = str(queued.model)
            if name not in turns:
                now, header = self.clock(), self._headers[name]
                turns[name] = Turn(connection, self.models[name], header, now, self.build, ahead=True)
            cached = turns[name].folded.events
            if queued.events and not all(map(cached.__contains__, queued.events)):
                missing.setdefault(name, []).extend(queued.events)
        try:
            for name, events in missing.items():
                turns[name].look_up(events)
            run_all(connection, turns, works)
        except (SQLAlchemyError, OSError):
            self._store.drop_reader()
            raise
        finally:
            self._store.end_reading()

    def write(self, prepared: Prepared) -> None:
        """Make it durable. Touches no model: others may be computing with them.

        Raises UndoneError, NotBegunError, or an UnknownOutcomeError.
        """
        try:
            if prepared.transaction is not None:
                prepared.transaction.commit()
                return
            connection = self._store.begin_straight()
            for turn in prepared.turns.values():
                turn.write(connection)
            self._store.commit_straight()
        except NotBegunError:
            raise
        except Exception as error:
            surely_not = self._store.surely_not(error)
            self._store.drop()
            done = False if surely_not else self._find_out(prepared)
            if not done:
                raise (UndoneError if done is False else UnknownOutcomeError)(str(cause_of(error))) from error
            prepared.doubtful = True

    def settle(self, prepared: Prepared) -> None:
        """It has been written: the models' new states are the ones that later requests see."""
        if prepared.doubtful:
            self.take_back(prepared)
            return
        self.commits += 1
        self.digests.extend(self._noted)
        self._noted = []
        for name, turn in prepared.turns.items():
            if turn.removed or turn.folded.void:
                self.forget(name)
                continue
            self._headers[name] = turn.header
            if self.fresh.get(name) is turn.folded:
                del self.fresh[name]
            self.models[name] = turn.folded
            self.models.move_to_end(name)

    def take_back(self, prepared: Prepared) -> None:
        """Memory may hold more than the store: its models are read again."""
        for name, turn in prepared.turns.items():
            # Whoever still holds it must not go on with it.
            turn.folded.void = True
            self.forget(name)

    def watch(self, folded: Folded) -> None:
        """Note what a fold came to, where others share the store; it counts once it has been committed."""
        if self.database.shared:
            self._noted.append((folded.id, folded.position, folded.generation, folded.digest()))

    def forget(self, name: str) -> None:
        """Let go of a model in memory: it is read again when somebody needs it."""
        for known in (self.models, self.fresh, self._headers):
            known.pop(name, None)

    def close(self) -> None:
        self._store.close()

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
