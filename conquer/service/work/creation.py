"""Creation of a model: its row in the store, and a snapshot if it has one to start from."""

import time
from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, func, insert, select

from conquer.service.errors import Kind, RefusalError, conflict
from conquer.service.model.schemas import ModelSettings
from conquer.service.settings import Limits
from conquer.service.store import snapshots
from conquer.service.store.schema import models

_json = msgspec.json.Encoder().encode


def create(
    connection: Connection,
    name: str,
    settings: ModelSettings,
    pieces: Sequence[bytes] = (),
    owner: str = "",
    limits: Limits | None = None,
) -> int:
    """Store the settings of a new model and the pieces of its snapshot; returns its id. `owner`: the id of a key."""
    if connection.execute(select(models.c.id).where(models.c.name == name)).first() is not None:
        raise conflict("model_exists", f"there is a model {name!r} already")
    if limits is not None:
        count = select(func.count()).select_from(models)
        if connection.execute(count).scalar_one() >= limits.models:
            raise RefusalError(Kind.INVALID, "too_many_models", f"this server holds at most {limits.models} models")
        most = limits.models_per_key
        if owner and connection.execute(count.where(models.c.owner == owner)).scalar_one() >= most:
            raise RefusalError(Kind.INVALID, "too_many_models", f"this key may create at most {most} models")
    now = time.time()
    start = {"base": 0, "pooled": 0, "title": "", "paused": 0}
    values = {"name": name, "settings": _json(settings).decode(), "created": now, "owner": owner, **start}
    model_id = int(connection.execute(insert(models).values(**values).returning(models.c.id)).scalar_one())
    snapshots.replace(connection, model_id, 0, pieces, now)
    return model_id
