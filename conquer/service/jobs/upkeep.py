"""Jobs in the background: their schedule, the rows of deleted models, and the other servers of a store."""

import asyncio
import functools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import Connection, Table, delete, func, select, tuple_

from conquer.service.alarms import Alarms
from conquer.service.engine.engine import Engine
from conquer.service.store import schema
from conquer.service.store.database import Database
from conquer.service.store.schema import images, models, snapshots
from conquer.service.store.servers import enter, first_digest

_LONGEST = 60.0
"""Seconds between two attempts at a job that fails."""
_TABLES = [table for table in schema.metadata.sorted_tables if "model_id" in table.c]
_ROWS = 1000
_PIECES = 8
"""Rows of snapshots, of up to half a megabyte each, and of images."""
_END = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Job:
    """`work`, called every `seconds`, or `once`, at the start. Each failure in a row doubles the wait, up to a minute.

    Jobs of one owner run one at a time, urgent ones however busy the others are.
    """

    name: str
    seconds: float
    work: Callable[[], object]
    owner: str = "jobs"
    urgent: bool = False
    once: bool = False

    async def repeat(self, engine: Engine) -> None:
        """Run the job by the clock, as long work."""
        failures = 0
        while True:
            wait = max(self.seconds, min(_LONGEST, self.seconds * 2.0 ** min(failures, 16)))
            await asyncio.sleep(0 if self.once and not failures else wait)
            succeeded = await engine.long.run(self.owner, lambda: self.attempt(engine.alarms), self.urgent)
            if succeeded and self.once:
                return
            failures = 0 if succeeded else failures + 1

    def attempt(self, alarms: Alarms) -> bool:
        """Whether it went well. A failure raises the alarm `job:NAME`, the next success clears it."""
        try:
            self.work()
        except Exception as error:  # noqa: BLE001 - whatever it was, the next time may go well
            alarms.count(self.name)
            alarms.raise_(f"job:{self.name}", f"{self.name} failed: {type(error).__name__}: {error}")
            return False
        alarms.clear(f"job:{self.name}")
        return True


def sweep_deleted(engine: Engine) -> int:
    """Delete all rows of deleted models, a slice at a time; returns the number of slices.

    It searches the tables themselves, so the next run finds what a crash has left.
    """
    slices = 0
    while True:
        with engine.database.reading() as connection:
            found = orphan(connection)
        if found is None:
            break
        slices += 1
        while engine.call_now(None, functools.partial(delete_slice, table=found[0], model=found[1])):
            slices += 1
    if slices:
        engine.database.scrub()
    return slices


def orphan(connection: Connection) -> tuple[Table, int] | None:
    """A table with rows of a deleted model, and the model's id; None if there is none.

    Looks up the ids between those of existing models, so the cost does not grow with the logs.
    """
    known = connection.execute(select(models.c.id).order_by(models.c.id)).scalars().all()
    gaps = [(low, high) for low, high in pairwise([0, *known, _END]) if high - low > 1]
    for table in _TABLES:
        for low, high in gaps:
            number = table.c.model_id
            found = connection.execute(select(func.min(number)).where(number > low, number < high)).scalar()
            if found is not None:
                return table, int(found)
    return None


def delete_slice(connection: Connection, table: Table, model: int) -> bool:
    """Delete the next rows of a deleted model; returns whether there may be more."""
    most = _PIECES if table is snapshots or table is images else _ROWS
    columns = [column for column in table.primary_key if column is not table.c.model_id]
    rows = select(*columns).where(table.c.model_id == model).order_by(*columns).limit(most)
    gone = connection.execute(delete(table).where(table.c.model_id == model, tuple_(*columns).in_(rows)))
    return gone.rowcount == most


def look_around(database: Database, alarms: Alarms, digests: deque[tuple[int, int, int, str]]) -> None:
    """On a shared store: announce this server, and compare its (model, position, generation, digest).

    Alarms: `mixed` for servers with other replay rules, as after an absence of more than ten seconds, and `diverged`
    for other weights from the same rows.
    """
    if not database.shared:
        return
    me = database.identity
    with database.writing() as connection:
        others = enter(connection, me)
    if others:
        alarms.raise_("mixed", f"servers with other replay rules use this store: {'; '.join(others)}. Stop them")
    else:
        alarms.clear("mixed")
    while digests:
        model, position, generation, digest = digests[0]
        with database.writing() as connection:
            first = first_digest(connection, me, model, position, generation, digest)
        # Only now: a failing store leaves it to the next time.
        digests.popleft()
        if first is not None and first[1] != digest:
            alarms.raise_(
                f"diverged:{first[0]}",
                f"model {first[0]!r} at position {position} is {digest} on {me} but {first[1]} on {first[2]}: the"
                " same rows gave different weights. Restart both, and see which agrees with a third",
            )
