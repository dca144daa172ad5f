"""Weights found anew: without a voter the others' answers are believed more or less, and their rows say so."""

from collections.abc import Set
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, update

from conquer.service.commands.answering import weigh
from conquer.service.errors import unknown_model
from conquer.service.log.event import Event
from conquer.service.log.fold import Folded
from conquer.service.log.loading import load_up_to, take_in
from conquer.service.log.records import Answered, Entry, Erased, Voted, checksum, seal
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table
from conquer.service.store.schema import log
from conquer.service.writer.queue import Writer

_SLICE = 500
"""Rows written in one turn: requests of other models come in between."""
_UPDATE = (
    update(log)
    .where(log.c.model_id == bindparam("model"), log.c.position == bindparam("at_position"))
    .values(body=bindparam("text"), checksum=bindparam("total"))
)


class Reweighing:
    """A fold of the log without some rows, from before the first of them; what it weighs otherwise is written anew.

    A crash on the way leaves old and new weights side by side, each a weight that was once right; the voter's first
    row is still there then, and erasing once more finds all of them.
    """

    def __init__(self, writer: Writer, header: log_table.Header, gone: Set[int]) -> None:
        self._writer, self._header, self._gone = writer, header, set(gone)
        self._folded: Folded | None = None
        self._changed: list[dict[str, Any]] = []

    def catch_up_beside(self, head: int) -> None:
        """Fold up to the row at `head`, apart from the writer."""
        with self._writer.database.reading(patient=True) as connection:
            before = max(min(self._gone) - 1, self._header.base)
            self._folded = load_up_to(connection, self._header, self._writer.build, before)
            self._take(connection, self._folded, head)

    def write_beside(self) -> None:
        """Write what has changed, a slice at a time."""

        def one_slice(turn: Turn) -> None:
            self._check_same(turn)
            turn.flush()
            turn.connection.execute(_UPDATE, self._changed[-_SLICE:])

        while self._changed:
            self._writer.call_now(self._header.name, one_slice)
            del self._changed[-_SLICE:]

    def finish(self, turn: Turn, late: Set[int]) -> None:
        """In the turn that ends the erasure: the rows that have come meanwhile."""
        self._check_same(turn)
        self._gone |= late
        if self._folded is not None:
            self._take(turn.connection, self._folded, turn.folded.position)
        if self._changed:
            turn.connection.execute(_UPDATE, self._changed)
            self._changed = []
            # What is cached of their events holds the old weights.
            turn.folded.trim(0)

    def _check_same(self, turn: Turn) -> None:
        if turn.folded.id != self._header.id:
            raise unknown_model(turn.folded.name)

    def _take(self, connection: Connection, folded: Folded, head: int) -> None:
        folded.undone = log_table.undone(connection, folded.id, self._header.base)
        while folded.position < head:
            found = next(log_table.entries(connection, folded.id, folded.position, _SLICE), [])
            rows = [row for row in found if row.position <= head]
            if not rows:
                return
            take_in(connection, folded, rows, partial(self._replay, folded))
            folded.trim(1000)

    def _replay(self, folded: Folded, row: Entry) -> None:
        if row.position in self._gone:
            row.body = Erased(getattr(row.body, "ordinal", None))
            row.event = row.voter = None
        elif isinstance(row.body, Answered | Voted) and row.body.weight is not None:
            self._reweigh(folded, row)
        folded.replay(row)

    def _reweigh(self, folded: Folded, row: Entry) -> None:
        body: Any = row.body
        event = Event.of(row) if isinstance(body, Voted) else folded.events.get(row.event or "")
        if event is None or row.position in folded.undone:
            return
        before, said = body.weight, body.said if isinstance(body, Voted) else body
        weigh(folded, event, said, row.voter)
        body.weight = said.weight
        if body.weight != before:
            seal(row)
            self._changed.append(
                {
                    "model": folded.id,
                    "at_position": row.position,
                    "text": row.text.decode(),
                    "total": checksum(row),
                }
            )
