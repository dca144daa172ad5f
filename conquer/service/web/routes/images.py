"""Pictures of items over HTTP: uploaded once, served to whoever may answer or read, and never run."""

import re

import msgspec
from sqlalchemy import Connection

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid, unknown_model
from conquer.service.model.schemas import UPLOADED
from conquer.service.store import images, log
from conquer.service.web.messages import Reply
from conquer.service.web.routing import Call, Endpoint

_LARGEST = 4 << 20
"""Bytes of one image."""
_MOST, _ROOM = 10_000, 512 << 20
"""Images of one model, and their bytes."""
_LONGEST = 200
_is_name = re.compile(UPLOADED).fullmatch
_HEADERS = [
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-disposition", b"inline"),
    # Its name is a digest of it, so it never changes; it is for those with a key, so nobody else keeps it.
    (b"cache-control", b"private, max-age=31536000, immutable"),
]


class UploadedImage(msgspec.Struct):
    """`image` is what an item says to show it; `file` is the name under which a file of items may speak of it."""

    image: str
    kind: str
    bytes: int
    file: str | None = None


async def upload_image(call: Call) -> UploadedImage:
    data, file = call.body, call.query.get("file")
    ending = images.ending_of(data)
    if ending is None:
        raise invalid(f"an image must be PNG, JPEG, WebP or GIF, got {data[:12]!r}")
    if file is not None and not (1 <= len(file) <= _LONGEST and file.isprintable()):
        raise invalid(f"file must be a name of 1 to {_LONGEST} printable characters, got {file[:80]!r}")
    name = images.name_of(data, ending)

    def work(turn: Turn) -> None:
        connection, model = turn.connection, turn.state.id
        count, size = images.used(connection, model)
        if not images.has(connection, model, name) and (count >= _MOST or size + len(data) > _ROOM):
            raise conflict(
                "no_room", f"a model has at most {_MOST} images of {_ROOM} bytes together, has {count} of {size}"
            )
        images.write(connection, model, name, file, data, turn.now)

    await call.on_model(work)
    return UploadedImage(name, images.KINDS[ending], len(data), file)


async def read_image(call: Call) -> Reply:
    name, model = call.path["image"], call.model

    def find(connection: Connection) -> bytes | None:
        found = log.headers(connection, [model]).get(model)
        if found is None:
            raise unknown_model(model)
        return images.read(connection, found.id, name)

    data = await call.read(find) if _is_name(name) else None
    if data is None:
        raise _unknown(call)
    return Reply(data, kind=images.KINDS[name.rpartition(".")[2]], headers=list(_HEADERS))


async def delete_image(call: Call) -> Reply:
    """Gone for everyone; items that speak of it are shown without."""
    name = call.path["image"]
    # What cannot be a name is not looked for: PostgreSQL would fail the batch that it is part of.
    if _is_name(name) is None:
        raise _unknown(call)
    if not await call.on_model(lambda turn: images.remove(turn.connection, turn.state.id, name)):
        raise _unknown(call)
    await call.brief(call.server.database.scrub_soon)
    return Reply(status=204)


def _unknown(call: Call) -> RefusalError:
    message = f"model {call.model!r} has no image {call.path['image'][:80]!r}"
    return RefusalError(Kind.UNKNOWN, "unknown_image", message)


ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models/{name}/images", "admin", "Add an image: PNG, JPEG, WebP or GIF", upload_image, bytes,
        UploadedImage, upload=True, limit=_LARGEST, query=("file",),
    ),
    Endpoint(
        "GET", "/v1/models/{name}/images/{image}", "answer|read", "An image", read_image, kind="image/*",
    ),
    Endpoint(
        "DELETE", "/v1/models/{name}/images/{image}", "admin", "Delete an image", delete_image, status=204,
    ),
)  # fmt: skip
