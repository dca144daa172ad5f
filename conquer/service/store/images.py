"""Uploaded images: the bytes of each under a digest of them, so that one that comes twice is there once."""

import hashlib

from sqlalchemy import Connection, delete, func, insert, select, update

from conquer.service.store.schema import images

KINDS = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp", "gif": "image/gif"}
"""What an image may be, by the end of its name; nothing that can hold a script."""


def name_of(data: bytes) -> str | None:
    """The name under which an image is kept: a digest, and which of the four kinds it is; None for anything else.

    >>> name_of(b"GIF89a"), name_of(b"<svg")
    ('610f5ae4d76e332636a17bd357fd6ce9.gif', None)
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        ending = "png"
    elif data.startswith(b"\xff\xd8\xff"):
        ending = "jpg"
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        ending = "webp"
    elif data.startswith((b"GIF87a", b"GIF89a")):
        ending = "gif"
    else:
        return None
    return f"{hashlib.sha256(data).hexdigest()[:32]}.{ending}"


def used(connection: Connection, model: int, besides: str) -> tuple[int, int]:
    """(how many images a model has besides one, their bytes)."""
    wanted = select(func.count(), func.coalesce(func.sum(images.c.size), 0))
    count, size = connection.execute(wanted.where(images.c.model_id == model, images.c.name != besides)).one()
    return int(count), int(size)


def write(connection: Connection, model: int, name: str, file: str | None, data: bytes, at: float) -> None:
    """Keep an image; one that is there already gets the newer name of its file."""
    same = (images.c.model_id == model) & (images.c.name == name)
    if not connection.execute(update(images).where(same).values(file=images.c.file if file is None else file)).rowcount:
        values = {"model_id": model, "name": name, "file": file, "size": len(data), "at": at, "data": data}
        connection.execute(insert(images).values(values))


def read(connection: Connection, model: int, name: str) -> bytes | None:
    """An image's bytes."""
    wanted = select(images.c.data).where(images.c.model_id == model, images.c.name == name)
    data: bytes | None = connection.execute(wanted).scalar()
    return data


def remove(connection: Connection, model: int, name: str) -> bool:
    """Delete an image; False where there was none."""
    gone = connection.execute(delete(images).where(images.c.model_id == model, images.c.name == name))
    return bool(gone.rowcount)


def by_file(connection: Connection, model: int) -> dict[str, str]:
    """{what its file is called: an image's name}; of two files of one name the one that came last."""
    wanted = select(images.c.file, images.c.name).where(images.c.model_id == model, images.c.file.is_not(None))
    return {row.file: row.name for row in connection.execute(wanted.order_by(images.c.at))}
