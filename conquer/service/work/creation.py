"""Making a model: its row in the store, and a snapshot if it does not start from nothing."""

import time
from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, func, insert, select

from conquer.service.errors import Kind, RefusalError, conflict
from conquer.service.model.schemas import ModelSettings
from conquer.service.store import snapshots
from conquer.service.store.schema import models

_json = msgspec.json.Encoder().encode


def create(
    connection: Connection, name: str, settings: ModelSettings, limit: int | None = None, pieces: Sequence[bytes] = ()
) -> int:
    """Store a new model's settings and the pieces of its snapshot; return its id. `limit`: how many may be there."""
    if connection.execute(select(models.c.id).where(models.c.name == name)).first() is not None:
        raise conflict("model_exists", f"there is a model {name!r} already")
    there = connection.execute(select(func.count()).select_from(models)).scalar_one()
    if limit is not None and there >= limit:
        raise RefusalError(Kind.INVALID, "too_many_models", f"this server holds at most {limit} models")
    now = time.time()
    start = {"base": 0, "pooled": 0, "title": "", "paused": 0}
    values = {"name": name, "settings": _json(settings).decode(), "created": now, **start}
    model_id = int(connection.execute(insert(models).values(**values).returning(models.c.id)).scalar_one())
    for part, piece in enumerate(pieces):
        snapshots.write_piece(connection, model_id, 0, part, len(pieces), now, piece)
    return model_id
