"""Writing a model's next rows: the two statements of a commit, as text for the driver."""

import functools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from conquer.service.log.records import FOLD, NAMES, Entry, summed
from conquer.service.store.connections import run_straight

_ROWS = 500


def append(connection: Connection, model: int, rows: Sequence[Entry]) -> None:
    """Write sealed rows of one turn, all of one time, whose positions were given out under the model's lock."""
    # One statement for many rows: every step of the driver hands the interpreter over, and waits to get it back.
    numbered, at = connection.dialect.paramstyle == "qmark", rows[0].at
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        # Every value that is bound costs time: what all rows share is bound once, where parameters have numbers.
        values: list[Any] = [model, at] if numbered else []
        for row in part:
            position, kind, event, voter, text = row.position, NAMES[type(row.body)], row.event, row.voter, row.text
            if not numbered:
                values += (model, at)
            values += (position, kind, event, voter, text.decode(), summed(position, at, kind, event, voter, text))
        run_straight(connection, _insert(len(part), numbered), tuple(values))
    mark = "?" if numbered else "%s"
    run_straight(connection, f"UPDATE models SET position = {mark} WHERE id = {mark}", (rows[-1].position, model))


@functools.cache
def _insert(rows: int, numbered: bool) -> str:
    shared, mark = ("?1, ?2", "?") if numbered else ("%s, %s", "%s")
    one = f"({shared}, {', '.join([mark] * 6)}, {FOLD})"
    columns = "model_id, at, position, kind, event_id, voter, body, checksum, format"
    return f"INSERT INTO log ({columns}) VALUES {', '.join([one] * rows)}"
