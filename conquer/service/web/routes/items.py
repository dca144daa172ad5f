"""Files of items, images and votes, and the questions that people are asked about items."""

import functools
import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid
from conquer.service.model.schemas import UPLOADED, Format, Identifier, Line, ModelSettings, Strict
from conquer.service.store import images
from conquer.service.web.endpoint import Call, Routes, reply
from conquer.service.work import tasks
from conquer.service.work.boards import BoardReply, Look
from conquer.service.work.item_files import FileReading, Uploaded
from conquer.service.work.next_question import Question, next_question
from conquer.service.work.pair_coverage import Progress, call_covered, progress
from conquer.service.work.pool import groups_of, upload
from conquer.service.work.votes import VotesReply, learn_votes

routes = Routes()
_LARGEST_IMAGE = 4 << 20
"""Bytes of one image."""
_MOST_IMAGES, _IMAGE_ROOM = 10_000, 512 << 20
"""Images of one model, and their bytes."""
_is_image = re.compile(UPLOADED).fullmatch
_IMAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "content-disposition": "inline",
    # Its name is a digest of its bytes, so it never changes; it needs a key, so no shared cache keeps it.
    "cache-control": "private, max-age=31536000, immutable",
}


class ItemsQuery(Strict):
    """`text`: the column of texts."""

    text: str | None = None


class VotesQuery(Strict):
    """`id` names the file, by default a digest of it; `kind`: of its voters; `content`: what its items are."""

    id: Annotated[str, Meta(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(?!\n)$")] | None = None
    kind: Literal["person", "judge"] = "person"
    content: str | None = None


class NextRequest(Strict):
    """`shared`: also questions that others are answering now."""

    voter: Identifier
    shared: bool = False


class TaskInfo(msgspec.Struct, omit_defaults=True):
    """What annotators read before they start."""

    instructions: str
    question: str
    task: str
    items: int
    learnt: int
    per_round: Annotated[int, Meta(ge=2)]
    format: Format = "plain"
    title: str = ""
    paused: bool = False


@routes.add(
    "POST", "/v1/models/{name}/items", "admin", limit="upload_bytes",
    example='{"id": "a", "text": "A lovely pot."}\n{"id": "b", "text": "It broke at once."}\n',
)  # fmt: skip
async def upload_items(call: Call, body: bytes, query: ItemsQuery) -> Uploaded:
    """Add a file of items to ask about: JSON or a table."""
    names = await call.read(lambda connection, header: images.by_file(connection, header.id))

    def read_file(settings: ModelSettings) -> FileReading:
        return tasks.find(settings.task).read_file(settings, body, query.text, names)

    await call.loaded()
    uploaded: Uploaded = await call.long(upload(functools.partial(call.now, learns=False), read_file))
    return uploaded


@routes.add("POST", "/v1/models/{name}/next", "answer", example={"voter": "ann"})
async def next_event(call: Call, body: NextRequest) -> Question:
    """The next question for a person."""
    seconds = call.server.settings.lease_seconds

    def state(turn: Turn) -> tuple[ModelSettings, bool, int]:
        settings = turn.state.settings
        stops = settings.stop is not None and len(groups_of(turn)) == 1
        return settings, stops, turn.state.tally.answers_of(body.voter)

    settings, stops, answered = await call.on_model(state)
    look = Look(settings.delta, "proved", settings.stop)
    # A pool of one group ends when its board is certain enough.
    board = await _board(call, look) if stops else None
    if board is not None and board.stop is not None and board.stop.done:
        return Question(None, [], None, answered, board.stop.text, done=True, board=board)
    question = await call_covered(
        call.server.engine, call.model, lambda turn: next_question(turn, body.voter, seconds, body.shared), call.owner
    )
    if question.done:
        question.board = await _board(call, look)
    return question


async def _board(call: Call, look: Look) -> BoardReply | None:
    """The model's own board; None if it has none or too many boards are waiting."""
    try:
        return await call.server.boards.read(call.model, look, call.key.id)
    except RefusalError as refusal:
        # Questions do not wait for boards: one question too many may be asked.
        if refusal.kind not in (Kind.CONFLICT, Kind.BUSY):
            raise
        return None


@routes.add("GET", "/v1/models/{name}/progress", "read")
async def read_progress(call: Call) -> Progress:
    """How far the questions about its items have come."""
    return await call_covered(call.server.engine, call.model, progress, call.owner)


@routes.add(
    "POST", "/v1/models/{name}/votes", "admin", limit="upload_bytes",
    example="left,right,winner,voter\na,b,left,ann\nb,c,tie,bob\n",
)  # fmt: skip
async def add_votes(call: Call, body: bytes, query: VotesQuery) -> VotesReply:
    """Learn a file of votes: CSV, JSON lines or a JSON array; sent again it changes nothing."""
    await call.loaded()
    job = learn_votes(call.now, body, name=query.id, kind=query.kind, content=query.content)
    learnt: VotesReply = await call.long(job)
    return learnt


@routes.add("GET", "/v1/models/{name}/task", "answer")
async def task(call: Call) -> TaskInfo:
    """Instructions and progress."""

    def work(turn: Turn) -> TaskInfo:
        settings = turn.state.settings
        count = sum(len(group.items) for group in groups_of(turn))
        return TaskInfo(
            settings.instructions,
            settings.question,
            settings.task,
            count,
            turn.state.tally.learnt,
            settings.per_round,
            settings.format,
            turn.header.title,
            turn.header.paused,
        )

    return await call.on_model(work)


class ImageQuery(Strict):
    """`file`: the name by which a file of items refers to the image."""

    file: Annotated[Line, Meta(min_length=1)] | None = None


class UploadedImage(msgspec.Struct):
    """`image`: the name by which an item refers to it; `file`: the name by which a file of items may."""

    image: str
    kind: str
    bytes: int
    file: str | None = None


@routes.add("POST", "/v1/models/{name}/images", "admin", limit=_LARGEST_IMAGE)
async def upload_image(call: Call, body: bytes, query: ImageQuery) -> UploadedImage:
    """Add an image: PNG, JPEG, WebP or GIF."""
    name = images.name_of(body)
    if name is None:
        raise invalid(f"an image must be PNG, JPEG, WebP or GIF, got {body[:12]!r}")

    def work(turn: Turn) -> None:
        connection, model = turn.connection, turn.state.id
        count, size = images.used(connection, model, besides=name)
        if count >= _MOST_IMAGES or size + len(body) > _IMAGE_ROOM:
            raise conflict(
                "no_room",
                f"a model has at most {_MOST_IMAGES} images of {_IMAGE_ROOM} bytes together, has {count} of {size}",
            )
        images.write(connection, model, name, query.file, body, turn.now)

    await call.on_model(work)
    return UploadedImage(name, images.KINDS[name.rpartition(".")[2]], len(body), query.file)


@routes.add("GET", "/v1/models/{name}/images/{image}", "answer|read", kind="image/*")
async def read_image(call: Call) -> Response:
    """An image."""
    name, data = call.path_params["image"], None
    if _is_image(name):
        data = await call.read(lambda connection, header: images.read(connection, header.id, name))
    if data is None:
        raise _unknown_image(call)
    return reply(data, images.KINDS[name.rpartition(".")[2]], headers=_IMAGE_HEADERS)


@routes.add("DELETE", "/v1/models/{name}/images/{image}", "admin", status=204)
async def delete_image(call: Call) -> Response:
    """Delete an image; items that refer to it are shown without."""
    name = call.path_params["image"]
    # PostgreSQL would fail the whole batch for a name with a zero byte.
    if _is_image(name) is None:
        raise _unknown_image(call)
    if not await call.on_model(lambda turn: images.remove(turn.connection, turn.state.id, name)):
        raise _unknown_image(call)
    await call.brief(call.server.database.scrub)
    return reply(status=204)


def _unknown_image(call: Call) -> RefusalError:
    message = f"model {call.model!r} has no image {call.path_params['image'][:80]!r}"
    return RefusalError(Kind.UNKNOWN, "unknown_image", message)
