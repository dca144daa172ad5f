"""Models over HTTP: create, list, look at, title, pause, export, import, delete."""

import functools
from dataclasses import replace

import msgspec
from sqlalchemy import update

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.model.schemas import Line, ModelSettings, NewModel, Strict
from conquer.service.store import erasure as removal
from conquer.service.store import snapshots
from conquer.service.store.schema import models
from conquer.service.web.messages import Reply, attachment
from conquer.service.web.pages.insight import Words, glance
from conquer.service.web.routing import Call, Endpoint
from conquer.service.work import tasks
from conquer.service.work.creation import create
from conquer.service.work.importing import imported
from conquer.service.work.listing import ModelInfo, described

_NO_DELETION = (Kind.UNKNOWN, Kind.BUSY)
_NOT_NOW = ("stopping", "locked")


class ModelList(msgspec.Struct):
    models: list[ModelInfo]


class ModelChanges(Strict):
    """What changes about a model without changing what it learns; what is left out stays.

    `title`: what pages call it, "" for its name. `paused`: nobody is asked anything new, answers still count.
    """

    title: Line | msgspec.UnsetType = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


class Feature(msgspec.Struct):
    """`spread`, if it was asked for: the standard deviation of the weight if every answer were a coin's.

    null where that is not known.
    """

    name: str
    weight: float
    spread: float | msgspec.UnsetType | None = msgspec.UNSET


class Insight(msgspec.Struct):
    """The features with the largest weights, among those of the latest rounds."""

    liked: list[Feature]
    disliked: list[Feature]


async def create_model(call: Call) -> ModelInfo:
    new: NewModel = call.body
    try:
        settings = new.settings()
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None
    if not call.key.may("admin", new.name):
        raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not make a model {new.name!r}")
    open_belief = new.believe == "auto" and "believe" not in new.parameters

    def check() -> tuple[tasks.TaskRow, ModelSettings]:
        task = tasks.find(settings.task)
        task.check(settings)
        return task, task.completed(settings, open_belief)

    task, completed = await call.brief(check)
    # Kernels load while the file of items is being uploaded.
    call.brief(task.warm)
    limit = call.server.settings.limits.models
    await call.server.engine.call(None, lambda connection: create(connection, new.name, completed, limit))
    info: ModelInfo = await call.server.engine.call(new.name, _info)
    return info


async def list_models(call: Call) -> Reply:
    job = call.server.listing.encoded(functools.partial(call.key.may, "read"))
    return Reply(await call.brief(job))


async def inspect_model(call: Call) -> ModelInfo:
    return await call.on_model(_info, reads=True)


async def change_model(call: Call) -> ModelInfo:
    """Of the store's row alone: the log, and what is learnt from it, do not know of this."""
    asked: ModelChanges = call.body
    given = {name: value for name in ("title", "paused") if (value := getattr(asked, name)) is not msgspec.UNSET}
    if "title" in given:
        given["title"] = given["title"].strip()

    def work(turn: Turn) -> ModelInfo:
        if given:
            stored = {name: int(value) if name == "paused" else value for name, value in given.items()}
            turn.connection.execute(update(models).where(models.c.id == turn.state.id).values(**stored))
            turn.header = replace(turn.header, **given)
        return _info(turn)

    return await call.on_model(work)


async def delete_model(call: Call) -> Reply:
    """Gone for everyone at once; its rows leave the disk soon after, while others are served."""
    begun = False

    def work(turn: Turn) -> None:
        nonlocal begun
        begun = True
        removal.remove_model(turn.connection, turn.state.id)
        turn.removed = True

    engine = call.server.engine
    try:
        await call.on_model(work)
    except Exception as error:
        # Whatever it is that keeps the model from being folded, it can be deleted.
        if begun or (isinstance(error, RefusalError) and (error.kind in _NO_DELETION or error.code in _NOT_NOW)):
            raise
        await engine.call(None, lambda connection: removal.remove_named(connection, call.model))
    call.server.deleted.set()
    for kind in ("fold", "quarantine", "snapshot", "prune", "sweep", "measure"):
        engine.alarms.clear(f"{kind}:{call.model}")
    call.server.meters.forget(call.model)
    # Its links lead nowhere, also if another gets its name.
    await call.server.refresh_now()
    return Reply(status=204)


async def export_model(call: Call) -> Reply:
    data = await call.copied(lambda turn: turn.state.dumps())
    return attachment(data, f"{call.model}.safetensors")


async def import_model(call: Call) -> ModelInfo:
    """A model file (from export, or conquer.save) under a new name; its log starts empty."""
    if not call.body:
        raise invalid("the body must be a model file, got nothing")
    settings, pieces = await call.long(functools.partial(_packed, call.body))
    limit = call.server.settings.limits.models
    await call.server.engine.call(None, lambda connection: create(connection, call.model, settings, limit, pieces))
    return await call.on_model(_info)


def _packed(data: bytes) -> tuple[ModelSettings, list[bytes]]:
    settings, state = imported(data)
    return settings, snapshots.pieces(state)


async def model_features(call: Call) -> Insight:
    count = call.query.get("count", "15")
    # Four digits at most: a number of thousands of them would take long to read.
    if not (count.isascii() and count.isdecimal() and len(count) <= 4 and 1 <= int(count) <= 1000):
        raise invalid(f"count must be a whole number in [1, 1000], got {count[:80]!r}")
    seen = await call.on_model(glance, reads=True)
    if seen is None:
        return Insight([], [])
    liked, disliked = await call.brief(functools.partial(call.server.names.top, seen, int(count)))
    wanted = call.query.get("spread", "") in ("1", "true")

    def named(words: Words) -> list[Feature]:
        return [Feature(name, weight, spread if wanted else msgspec.UNSET) for name, weight, spread in words]

    return Insight(named(liked), named(disliked))


def _info(turn: Turn) -> ModelInfo:
    return described(turn.state, turn.header)


ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models", "admin", "Create a model", create_model, NewModel, ModelInfo, status=201,
        example={"name": "teas", "algorithm": "gnr", "question": "Which one sells it better?", "quota": 2},
    ),
    Endpoint("GET", "/v1/models", "read", "List models", list_models, reply=ModelList),
    Endpoint("GET", "/v1/models/{name}", "read", "Look at a model", inspect_model, reply=ModelInfo),
    Endpoint(
        "PATCH", "/v1/models/{name}", "admin", "Give a model a title, or pause it", change_model, ModelChanges,
        ModelInfo, example={"title": "Lines for the window", "paused": True},
    ),
    Endpoint("DELETE", "/v1/models/{name}", "admin", "Delete a model and its log", delete_model, status=204),
    Endpoint(
        "GET", "/v1/models/{name}/file", "read", "Export the model file", export_model, kind="application/octet-stream"
    ),
    Endpoint(
        "PUT", "/v1/models/{name}/file", "admin", "Import a model file as a new model", import_model, bytes, ModelInfo,
        status=201, upload=True,
    ),
    Endpoint(
        "GET", "/v1/models/{name}/features", "read", "What it has learnt", model_features, reply=Insight,
        query=("count", "spread"),
    ),
)  # fmt: skip
