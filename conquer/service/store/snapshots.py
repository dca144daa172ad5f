"""A model's state beside its log, so that loading replays only the rows after it: compressed, in pieces."""

import zlib
from collections.abc import Sequence

from msgspec import Raw
from sqlalchemy import Connection, delete, func, insert, select

from conquer.service.model.records import FOLD
from conquer.service.store.schema import snapshots

_PIECE = 1 << 19
_LAST = 2**62
_KEPT = 3


def pieces(data: bytes) -> list[bytes]:
    """A snapshot compressed and cut, so that writing it never holds the store for long."""
    packed = zlib.compress(data, 1)
    return [packed[start : start + _PIECE] for start in range(0, max(1, len(packed)), _PIECE)]


def write_piece(
    connection: Connection, model: int, position: int, part: int, count: int, at: float, data: bytes, summary: str = ""
) -> None:
    """Store one of `count` pieces. `summary`: the model's counts as JSON, for lists."""
    values = {"model_id": model, "position": position, "part": part, "parts": count, "at": at, "format": FOLD}
    connection.execute(insert(snapshots), {**values, "summary": summary, "data": data})


def replace(
    connection: Connection, model: int, position: int, parts: Sequence[bytes], at: float, summary: str = ""
) -> None:
    """Store all pieces at a position, in place of what is there."""
    drop(connection, model, position, position)
    for part, piece in enumerate(parts):
        write_piece(connection, model, position, part, len(parts), at, piece, "" if part else summary)


def complete(connection: Connection, model: int) -> list[int]:
    """Positions of the complete snapshots of a model, newest first."""
    found = (
        select(snapshots.c.position)
        .where(snapshots.c.model_id == model)
        .group_by(snapshots.c.position)
        .having(func.count() == func.max(snapshots.c.parts))
        .order_by(snapshots.c.position.desc())
    )
    return list(connection.execute(found).scalars())


def exists(connection: Connection, model: int, position: int) -> bool:
    """Whether a snapshot at this position is there, or being written."""
    here = (snapshots.c.model_id == model) & (snapshots.c.position == position)
    return connection.execute(select(snapshots.c.part).where(here).limit(1)).first() is not None


def read(connection: Connection, model: int, position: int) -> tuple[bytes, int]:
    """A complete snapshot as it was before `pieces`, and the replay rules that made it; a zlib.error for damage."""
    here = (snapshots.c.model_id == model) & (snapshots.c.position == position)
    rows = connection.execute(select(snapshots.c.data, snapshots.c.format).where(here).order_by(snapshots.c.part)).all()
    return zlib.decompress(b"".join(row.data for row in rows)), max(row.format for row in rows)


def summaries(connection: Connection, positions: dict[int, int]) -> dict[int, tuple[int, Raw]]:
    """By model: its position in `positions`, and the counts stored with a snapshot there by these replay rules."""
    first = (snapshots.c.part == 0) & (snapshots.c.format == FOLD) & (snapshots.c.summary != "")
    wanted = select(snapshots.c.model_id, snapshots.c.position, snapshots.c.summary)
    rows = connection.execute(wanted.where(first, snapshots.c.model_id.in_(positions)))
    return {row.model_id: (row.position, Raw(row.summary)) for row in rows if row.position == positions[row.model_id]}


def drop(connection: Connection, model: int, first: int = 0, last: int = _LAST) -> None:
    """Remove the snapshots at positions `first` to `last`."""
    here = snapshots.c.position.between(first, last)
    connection.execute(delete(snapshots).where(snapshots.c.model_id == model, here))


def thin(connection: Connection, model: int, base: int) -> None:
    """Keep the newest complete snapshots, and the one that replaces pruned rows."""
    old = complete(connection, model)[_KEPT:]
    if old:
        here = (snapshots.c.position <= old[0]) & (snapshots.c.position != base)
        connection.execute(delete(snapshots).where(snapshots.c.model_id == model, here))
