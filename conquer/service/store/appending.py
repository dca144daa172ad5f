"""Writing a model's next rows: the two statements of a commit, as text for the driver."""

import functools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from conquer.service.log.records import FOLD, Entry, checksum
from conquer.service.store.connections import run_straight

_ROWS = 500


def append(connection: Connection, model: int, rows: Sequence[Entry]) -> None:
    """Write sealed rows whose positions were given out under the model's lock."""
    # One statement for many rows: every step of the driver hands the interpreter over, and waits to get it back.
    style = connection.dialect.paramstyle
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        values: list[Any] = []
        for row in part:
            kind, text = row.kind, row.text.decode()
            values += (model, row.position, kind, row.event, row.voter, row.at, text, FOLD, checksum(row, kind))
        run_straight(connection, _insert(len(part), style), tuple(values))
    mark = _mark(style)
    run_straight(connection, f"UPDATE models SET position = {mark} WHERE id = {mark}", (rows[-1].position, model))


def _mark(paramstyle: str) -> str:
    return "?" if paramstyle == "qmark" else "%s"


@functools.cache
def _insert(rows: int, paramstyle: str) -> str:
    mark = _mark(paramstyle)
    one = f"({', '.join([mark] * 9)})"
    columns = "model_id, position, kind, event_id, voter, at, body, format, checksum"
    return f"INSERT INTO log ({columns}) VALUES {', '.join([one] * rows)}"
