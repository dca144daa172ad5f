"""Images of items: uploaded once, served to callers who may answer or read, and never executed."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy import Connection
from starlette.responses import Response

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid, unknown_model
from conquer.service.model.schemas import UPLOADED, Strict
from conquer.service.store import images, log
from conquer.service.web.call import Call
from conquer.service.web.endpoint import Routes
from conquer.service.web.replies import reply

routes = Routes()
_LARGEST = 4 << 20
"""Bytes of one image."""
_MOST, _ROOM = 10_000, 512 << 20
"""Images of one model, and their bytes."""
_is_name = re.compile(UPLOADED).fullmatch
_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "content-disposition": "inline",
    # Its name is a digest of its bytes, so it never changes; it needs a key, so no shared cache keeps it.
    "cache-control": "private, max-age=31536000, immutable",
}


class ImageQuery(Strict):
    """`file`: the name by which a file of items refers to the image."""

    file: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class UploadedImage(msgspec.Struct):
    """`image`: the name by which an item refers to it; `file`: the name by which a file of items may."""

    image: str
    kind: str
    bytes: int
    file: str | None = None


@routes.add("POST", "/v1/models/{name}/images", "admin", limit=_LARGEST)
async def upload_image(call: Call, body: bytes, query: ImageQuery) -> UploadedImage:
    """Add an image: PNG, JPEG, WebP or GIF."""
    data, file = body, query.file
    ending = images.ending_of(data)
    if ending is None:
        raise invalid(f"an image must be PNG, JPEG, WebP or GIF, got {data[:12]!r}")
    if file is not None and not file.isprintable():
        raise invalid(f"file must be a name of printable characters, got {file[:80]!r}")
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


@routes.add("GET", "/v1/models/{name}/images/{image}", "answer|read", kind="image/*")
async def read_image(call: Call) -> Response:
    """An image."""
    name, model = call.path_params["image"], call.model

    def find(connection: Connection) -> bytes | None:
        found = log.headers(connection, [model]).get(model)
        if found is None:
            raise unknown_model(model)
        return images.read(connection, found.id, name)

    data = await call.read(find) if _is_name(name) else None
    if data is None:
        raise _unknown(call)
    return reply(data, images.KINDS[name.rpartition(".")[2]], headers=_HEADERS)


@routes.add("DELETE", "/v1/models/{name}/images/{image}", "admin", status=204)
async def delete_image(call: Call) -> Response:
    """Delete an image; items that refer to it are shown without."""
    name = call.path_params["image"]
    # PostgreSQL would fail the whole batch for a name with a zero byte.
    if _is_name(name) is None:
        raise _unknown(call)
    if not await call.on_model(lambda turn: images.remove(turn.connection, turn.state.id, name)):
        raise _unknown(call)
    call.server.database.unclean = True
    return reply(status=204)


def _unknown(call: Call) -> RefusalError:
    message = f"model {call.model!r} has no image {call.path_params['image'][:80]!r}"
    return RefusalError(Kind.UNKNOWN, "unknown_image", message)
