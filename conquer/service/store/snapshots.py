"""A model's state beside its log, so that starting does not mean reading every row: compressed, in pieces."""

import zlib
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, delete, func, insert, select

from conquer.service.model.records import FOLD
from conquer.service.store.schema import snapshots

_PIECE = 1 << 19


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
    drop(connection, model, position)
    for part, piece in enumerate(parts):
        write_piece(connection, model, position, part, len(parts), at, piece, "" if part else summary)


def summaries(connection: Connection, models: Sequence[int]) -> dict[tuple[int, int], str]:
    """By model and position: the counts stored with a snapshot, where it was made by these replay rules."""
    first = (snapshots.c.part == 0) & (snapshots.c.format == FOLD) & (snapshots.c.summary != "")
    wanted = select(snapshots.c.model_id, snapshots.c.position, snapshots.c.summary)
    rows = connection.execute(wanted.where(first, snapshots.c.model_id.in_(models)))
    return {(row.model_id, row.position): row.summary for row in rows}


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
    """Whether a snapshot at this position is there, or on its way."""
    found = connection.execute(
        select(snapshots.c.part).where(snapshots.c.model_id == model, snapshots.c.position == position).limit(1)
    )
    return found.first() is not None


def read_pieces(connection: Connection, model: int, position: int) -> Iterator[bytes]:
    """A snapshot's compressed pieces, one at a time."""
    here = (snapshots.c.model_id == model) & (snapshots.c.position == position)
    count = connection.execute(select(func.max(snapshots.c.parts)).where(here)).scalar() or 0
    for part in range(count):
        yield connection.execute(select(snapshots.c.data).where(here, snapshots.c.part == part)).scalar_one()


def fold_of(connection: Connection, model: int, position: int) -> int:
    """The version of the rules that a snapshot was folded by."""
    here = (snapshots.c.model_id == model) & (snapshots.c.position == position)
    return int(connection.execute(select(func.max(snapshots.c.format)).where(here)).scalar_one())


def read(connection: Connection, model: int, position: int) -> bytes:
    """A whole snapshot as it was before `pieces`."""
    return zlib.decompress(b"".join(read_pieces(connection, model, position)))


def drop(connection: Connection, model: int, position: int) -> None:
    """Remove the snapshot at a position."""
    connection.execute(delete(snapshots).where(snapshots.c.model_id == model, snapshots.c.position == position))


def drop_from(connection: Connection, model: int, first: int) -> None:
    """Remove the snapshots at `first` and later: something before them has changed."""
    connection.execute(delete(snapshots).where(snapshots.c.model_id == model, snapshots.c.position >= first))


def drop_below(connection: Connection, model: int, base: int) -> None:
    """Remove the snapshots before the base, which nothing leads on from; they may still hold a name."""
    connection.execute(delete(snapshots).where(snapshots.c.model_id == model, snapshots.c.position < base))


def thin(connection: Connection, model: int, base: int, keep: int = 3) -> None:
    """Keep the newest few whole snapshots and the one that stands for pruned rows."""
    old = [position for position in complete(connection, model)[keep:] if position != base]
    if old:
        connection.execute(
            delete(snapshots).where(
                snapshots.c.model_id == model, snapshots.c.position <= max(old), snapshots.c.position != base
            )
        )
