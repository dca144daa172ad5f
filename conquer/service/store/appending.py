"""Writing a model's next rows: the two statements of a commit, as text for the driver."""

import functools
import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from conquer.service.log.records import FOLD, HEAD, NAMES, Entry
from conquer.service.store.connections import run_straight

_ROWS = 500


def append(connection: Connection, model: int, rows: Sequence[Entry]) -> None:
    """Write sealed rows of one turn, all of one time, whose positions were given out under the model's lock."""
    # One statement for many rows: every step of the driver hands the interpreter over, and waits to get it back.
    style, at = connection.dialect.paramstyle, rows[0].at
    common = (model, at)
    values: list[Any] = []
    numbered = style == "qmark"
    pack, crc32 = HEAD.pack, zlib.crc32
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        values = [*common] if numbered else []
        for row in part:
            position, kind, event, voter, text = row.position, NAMES[type(row.body)], row.event, row.voter, row.text
            # As `checksum` has it.
            total = crc32(text, crc32(pack(position, at) + f"{kind}\x1f{event}\x1f{voter}\x1f".encode()))
            if not numbered:
                values += common
            values += (position, kind, event, voter, text.decode(), total)
        run_straight(connection, _insert(len(part), style), tuple(values))
    mark = "?" if numbered else "%s"
    run_straight(connection, f"UPDATE models SET position = {mark} WHERE id = {mark}", (rows[-1].position, model))


@functools.cache
def _insert(rows: int, paramstyle: str) -> str:
    """With SQLite what all rows share is bound once: every value that is bound costs time."""
    common, mark = ("?1, ?2", "?") if paramstyle == "qmark" else ("%s, %s", "%s")
    one = f"({common}, {', '.join([mark] * 6)}, {FOLD})"
    columns = "model_id, at, position, kind, event_id, voter, body, checksum, format"
    return f"INSERT INTO log ({columns}) VALUES {', '.join([one] * rows)}"
