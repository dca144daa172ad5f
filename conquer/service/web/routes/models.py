"""Models: create, list, inspect, title, pause, export, import, delete; the features with the largest weights."""

import functools
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy import Connection, delete, update
from starlette.responses import Response

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.model.pick_settings import completed
from conquer.service.model.schemas import Line, ModelSettings, NewModel, Strict
from conquer.service.store import snapshots
from conquer.service.store.schema import models
from conquer.service.web.access import may
from conquer.service.web.endpoint import Call, Routes, attachment, reply
from conquer.service.work import tasks
from conquer.service.work.insight import Insight, insight
from conquer.service.work.listing import ModelInfo, described
from conquer.service.work.tasks import create, imported

routes = Routes()
_NO_DELETION = (Kind.UNKNOWN, Kind.BUSY)
_NOT_NOW = ("stopping", "locked")


class ModelList(msgspec.Struct):
    models: list[ModelInfo]


class ModelChanges(Strict):
    """What may change about a model; fields that are left out stay.

    `title`: its name on pages, "" for `name`. `paused`: no new questions are asked; answers still count.
    """

    title: Line | msgspec.UnsetType = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


class FeaturesQuery(Strict):
    count: Annotated[int, Meta(ge=1, le=1000)] = 15


@routes.add(
    "POST", "/v1/models", "admin", status=201,
    example={"name": "teas", "algorithm": "gnr", "question": "Which one sells it better?", "quota": 2},
)  # fmt: skip
async def create_model(call: Call, body: NewModel) -> ModelInfo:
    """Create a model."""
    try:
        settings = body.settings()
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None
    if not may(call.key, "admin", body.name):
        raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not make a model {body.name!r}")
    opened = body.believe == "auto" and "believe" not in body.parameters

    def check() -> tuple[tasks.Task, ModelSettings]:
        task = tasks.find(settings.task)
        task.check(settings)
        made = completed(settings, opened) if settings.task == "pick" else settings
        tasks.check_size(task.build(made, None)[0], call.server.settings.model_bytes)
        return task, made

    task, settings = await call.brief(check)
    # Kernels load while the file of items is being uploaded.
    call.brief(task.warm)
    limits, owner = call.server.engine.limits, call.key.id
    await call.on_store(lambda connection: create(connection, body.name, settings, (), owner, limits))
    info: ModelInfo = await call.server.engine.call(body.name, _info)
    return info


@routes.add("GET", "/v1/models", "read", reply=ModelList)
async def list_models(call: Call) -> Response:
    """List models."""
    job = call.server.listing.encoded(functools.partial(may, call.key, "read"))
    return reply(await call.brief(job))


@routes.add("GET", "/v1/models/{name}", "read")
async def inspect_model(call: Call) -> ModelInfo:
    """Inspect a model."""
    return await call.on_model(_info, reads=True)


@routes.add("PATCH", "/v1/models/{name}", "admin", example={"title": "Lines for the window", "paused": True})
async def change_model(call: Call, body: ModelChanges) -> ModelInfo:
    """Give a model a title, or pause it."""
    given = {name: value for name in ("title", "paused") if (value := getattr(body, name)) is not msgspec.UNSET}
    if "title" in given:
        given["title"] = given["title"].strip()

    def work(turn: Turn) -> ModelInfo:
        if given:
            stored = {name: int(value) if name == "paused" else value for name, value in given.items()}
            turn.connection.execute(update(models).where(models.c.id == turn.state.id).values(**stored))
            turn.header = replace(turn.header, **given)
        return _info(turn)

    return await call.on_model(work)


@routes.add("DELETE", "/v1/models/{name}", "admin", status=204)
async def delete_model(call: Call) -> Response:
    """Delete a model and its log; its rows leave the disk soon after."""
    begun = False

    def remove(connection: Connection) -> None:
        connection.execute(delete(models).where(models.c.name == call.model))

    def work(turn: Turn) -> None:
        nonlocal begun
        begun = True
        remove(turn.connection)
        turn.removed = True

    engine = call.server.engine
    try:
        await call.on_model(work)
    except Exception as error:
        # A model that cannot be loaded can be deleted.
        if begun or (isinstance(error, RefusalError) and (error.kind in _NO_DELETION or error.code in _NOT_NOW)):
            raise
        await call.on_store(remove)
    call.server.deletions += 1
    engine.alarms.forget(call.model)
    call.server.meters.forget(call.model)
    # Its links end, also if another model gets its name.
    await call.server.refresh_now()
    return reply(status=204)


@routes.add("GET", "/v1/models/{name}/file", "read", kind="application/octet-stream")
async def export_model(call: Call) -> Response:
    """Export the model file."""
    data = await call.copied(lambda turn: turn.state.dumps())
    return attachment(data, f"{call.model}.safetensors")


@routes.add("PUT", "/v1/models/{name}/file", "admin", status=201, limit="upload_bytes")
async def import_model(call: Call, body: bytes) -> ModelInfo:
    """Import a model file, of export or conquer.save, as a new model with an empty log."""
    settings, pieces = await call.long(functools.partial(_packed, body, call.server.settings.model_bytes))
    limits, owner = call.server.engine.limits, call.key.id
    await call.on_store(lambda connection: create(connection, call.model, settings, pieces, owner, limits))
    return await call.on_model(_info)


def _packed(data: bytes, most: int) -> tuple[ModelSettings, list[bytes]]:
    settings, state = imported(data, most)
    return settings, snapshots.pieces(state)


def _info(turn: Turn) -> ModelInfo:
    return described(turn.header, turn.state.position, turn.state.tally.summary())


@routes.add("GET", "/v1/models/{name}/features", "read")
async def model_features(call: Call, query: FeaturesQuery) -> Insight:
    """What it has learnt: the features with the largest weights, among those of the latest rounds."""
    model, known = await call.on_model(lambda turn: (turn.state.id, turn.state.learner.insight()), reads=True)
    if known is None:
        return Insight([], [])
    found: Insight = await call.brief(insight(call.server.database, model, known, query.count))
    return found
