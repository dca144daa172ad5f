"""Uploading items and asking people, over HTTP."""

from collections.abc import Generator
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.model.schemas import Format, Group, Identifier, ModelSettings, Strict
from conquer.service.store import images, log
from conquer.service.web.routing import Call, Endpoint
from conquer.service.work import tasks
from conquer.service.work.boards import BoardReply, Look
from conquer.service.work.item_files import Uploaded
from conquer.service.work.next_question import Question, next_question
from conquer.service.work.pair_coverage import Progress, progress
from conquer.service.work.pool import groups_of, upload
from conquer.service.work.votes import VotesReply, learn_votes


class NextRequest(Strict):
    """`shared`: also questions that others are answering now."""

    voter: Identifier
    shared: bool = False


class Task(msgspec.Struct):
    """What annotators read before they start."""

    instructions: str
    question: str
    task: str
    items: int
    learnt: int
    per_round: Annotated[int, Meta(ge=2)]
    format: Format | msgspec.UnsetType = msgspec.UNSET
    """How texts are shown, where that is not as they are."""
    title: str | msgspec.UnsetType = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


async def upload_items(call: Call) -> Uploaded:
    held_out = call.query.get("held_out", "") in ("1", "true")
    file = tasks.ItemFile(call.body, held_out, call.query.get("text"))

    def read_file(settings: ModelSettings, first: int) -> Generator[None, None, tuple[list[Group], Uploaded]]:
        given = replace(file, first=first, images=_images(call))
        return tasks.find(settings.task).read_file(settings, given)

    await call.on_model(lambda turn: None, reads=True)
    uploaded: Uploaded = await call.long(upload(call.run_now, read_file))
    return uploaded


def _images(call: Call) -> dict[str, str]:
    """The model's images by the names of their files. Not for the event loop."""
    with call.server.database.reading() as connection:
        header = log.headers(connection, [call.model]).get(call.model)
        return {} if header is None else images.by_file(connection, header.id)


async def next_event(call: Call) -> Question:
    body, seconds = call.body, call.server.settings.lease_seconds
    enough = await _enough(call, body.voter)
    if enough is not None:
        return enough
    question = await call.server.coverages.run(
        call.model, lambda turn: next_question(turn, body.voter, seconds, body.shared), call.hold.owner
    )
    if question.done:
        question.board = await _board(call)
    return question


async def read_progress(call: Call) -> Progress:
    return await call.server.coverages.run(call.model, progress, call.hold.owner)


async def _enough(call: Call, voter: str) -> Question | None:
    """The end of a pool of one group whose board says enough, by the model's `stop`."""

    def state(turn: Turn) -> tuple[bool, int]:
        stops = turn.state.settings.stop is not None and len(groups_of(turn)) == 1
        return stops, turn.state.tally.voters.get(voter, 0)

    stops, answered = await call.on_model(state)
    board = await _board(call) if stops else None
    if board is None or board.stop is None or not board.stop.done:
        return None
    return Question(None, [], None, answered, board.stop.text, done=True, board=board)


async def _board(call: Call) -> BoardReply | None:
    """The model's own board, where it has one and there is room to make it."""
    settings = await call.on_model(lambda turn: turn.state.settings)
    try:
        look = Look(settings.delta, "anytime", settings.stop)
        return await call.server.boards.read(call.model, look, call.key.id)
    except RefusalError as refusal:
        # A question does not wait for boards: it is asked, and the next one may hear that it was one too many.
        if refusal.kind not in (Kind.CONFLICT, Kind.BUSY):
            raise
        return None


async def add_votes(call: Call) -> VotesReply:
    """Learn a file of votes that another system gathered; sent again it changes nothing."""
    query, data = call.query, call.body
    kind, mark = query.get("kind", "person"), query.get("id")
    if kind not in ("person", "judge"):
        raise invalid(f"kind must be person or judge, got {kind[:80]!r}")
    if mark is not None and not (1 <= len(mark) <= 100 and all(c.isalnum() or c in "._-" for c in mark)):
        raise invalid(f"id must be 1 to 100 letters, digits, '.', '_' or '-', got {mark[:100]!r}")
    if not data:
        raise invalid("the body must be a file of votes, got nothing")

    await call.on_model(lambda turn: None, reads=True)
    job = learn_votes(call.learn_now, data, name=mark, kind=kind, content=query.get("content"))
    reply: VotesReply = await call.long(job)
    return reply


async def task(call: Call) -> Task:
    def work(turn: Turn) -> Task:
        settings = turn.state.settings
        count = sum(len(group.items) for group in groups_of(turn))
        return Task(
            settings.instructions,
            settings.question,
            settings.task,
            count,
            turn.state.tally.learnt,
            settings.per_round,
            msgspec.UNSET if settings.format == "plain" else settings.format,
            turn.header.title or msgspec.UNSET,
            turn.header.paused or msgspec.UNSET,
        )

    return await call.on_model(work)


ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models/{name}/items", "admin", "Add a file of items to ask about: JSON or a table",
        upload_items, bytes, Uploaded, upload=True, query=("held_out", "text"),
        example='{"id": "a", "text": "A lovely pot."}\n{"id": "b", "text": "It broke at once."}\n',
    ),
    Endpoint(
        "POST", "/v1/models/{name}/votes", "admin", "Learn a file of votes: CSV, JSON lines or a JSON array",
        add_votes, bytes, VotesReply, upload=True, query=("id", "kind", "content"),
        example="left,right,winner,voter\na,b,left,ann\nb,c,tie,bob\n",
    ),
    Endpoint(
        "POST", "/v1/models/{name}/next", "answer", "The next question for a person", next_event, NextRequest, Question,
        example={"voter": "ann"},
    ),
    Endpoint(
        "GET", "/v1/models/{name}/progress", "read", "How far the questions about its items have come", read_progress,
        reply=Progress,
    ),
    Endpoint("GET", "/v1/models/{name}/task", "answer", "Instructions and progress", task, reply=Task),
)  # fmt: skip
