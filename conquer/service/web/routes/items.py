"""Items and votes in files, and the questions that people are asked about items."""

from collections.abc import Generator
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.model.schemas import Format, Group, Identifier, ModelSettings, Strict
from conquer.service.store import images, log
from conquer.service.web.call import Call
from conquer.service.web.endpoint import Routes
from conquer.service.work import tasks
from conquer.service.work.boards import BoardReply, Look
from conquer.service.work.item_files import Uploaded
from conquer.service.work.next_question import Question, next_question
from conquer.service.work.pair_coverage import Progress, call_covered, progress
from conquer.service.work.pool import groups_of, upload
from conquer.service.work.votes import VotesReply, learn_votes

routes = Routes()


class ItemsQuery(Strict):
    """`held_out`: sentences to measure a parser with; `text`: the column of texts."""

    held_out: bool = False
    text: str | None = None


class VotesQuery(Strict):
    """`id` names the file, by default a digest of it; `kind`: of its voters; `content`: what its items are."""

    id: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    kind: Literal["person", "judge"] = "person"
    content: str | None = None


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


@routes.add(
    "POST", "/v1/models/{name}/items", "admin", limit="upload_bytes",
    example='{"id": "a", "text": "A lovely pot."}\n{"id": "b", "text": "It broke at once."}\n',
)  # fmt: skip
async def upload_items(call: Call, body: bytes, query: ItemsQuery) -> Uploaded:
    """Add a file of items to ask about: JSON or a table."""
    file = tasks.ItemFile(body, query.held_out, query.text)

    def read_file(settings: ModelSettings, first: int) -> Generator[None, None, tuple[list[Group], Uploaded]]:
        given = replace(file, first=first, images=_images(call))
        return tasks.find(settings.task).read_file(settings, given)

    await call.loaded()
    uploaded: Uploaded = await call.long(upload(call.run_now, read_file))
    return uploaded


def _images(call: Call) -> dict[str, str]:
    """The model's images by the names of their files. Not for the event loop."""
    with call.server.database.reading() as connection:
        header = log.headers(connection, [call.model]).get(call.model)
        return {} if header is None else images.by_file(connection, header.id)


@routes.add("POST", "/v1/models/{name}/next", "answer", example={"voter": "ann"})
async def next_event(call: Call, body: NextRequest) -> Question:
    """The next question for a person."""
    seconds = call.server.settings.lease_seconds
    enough = await _enough(call, body.voter)
    if enough is not None:
        return enough
    question = await call_covered(
        call.server.engine, call.model, lambda turn: next_question(turn, body.voter, seconds, body.shared), call.owner
    )
    if question.done:
        question.board = await _board(call)
    return question


@routes.add("GET", "/v1/models/{name}/progress", "read")
async def read_progress(call: Call) -> Progress:
    """How far the questions about its items have come."""
    return await call_covered(call.server.engine, call.model, progress, call.owner)


async def _enough(call: Call, voter: str) -> Question | None:
    """The last reply of a pool of one group whose board is certain enough for the model's `stop`."""

    def state(turn: Turn) -> tuple[bool, int]:
        stops = turn.state.settings.stop is not None and len(groups_of(turn)) == 1
        return stops, turn.state.tally.voters.get(voter, 0)

    stops, answered = await call.on_model(state)
    board = await _board(call) if stops else None
    if board is None or board.stop is None or not board.stop.done:
        return None
    return Question(None, [], None, answered, board.stop.text, done=True, board=board)


async def _board(call: Call) -> BoardReply | None:
    """The model's own board; None if it has none or too many boards are waiting."""
    settings = await call.on_model(lambda turn: turn.state.settings)
    try:
        look = Look(settings.delta, "anytime", settings.stop)
        return await call.server.boards.read(call.model, look, call.key.id)
    except RefusalError as refusal:
        # Questions do not wait for boards: one question too many may be asked.
        if refusal.kind not in (Kind.CONFLICT, Kind.BUSY):
            raise
        return None


@routes.add(
    "POST", "/v1/models/{name}/votes", "admin", limit="upload_bytes",
    example="left,right,winner,voter\na,b,left,ann\nb,c,tie,bob\n",
)  # fmt: skip
async def add_votes(call: Call, body: bytes, query: VotesQuery) -> VotesReply:
    """Learn a file of votes: CSV, JSON lines or a JSON array; sent again it changes nothing."""
    mark = query.id
    if mark is not None and not all(c.isalnum() or c in "._-" for c in mark):
        raise invalid(f"id must be 1 to 100 letters, digits, '.', '_' or '-', got {mark!r}")
    if not body:
        raise invalid("the body must be a file of votes, got nothing")

    await call.loaded()
    job = learn_votes(call.learn_now, body, name=mark, kind=query.kind, content=query.content)
    reply: VotesReply = await call.long(job)
    return reply


@routes.add("GET", "/v1/models/{name}/task", "answer")
async def task(call: Call) -> Task:
    """Instructions and progress."""

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
