"""Uploading items and asking people, over HTTP."""

import asyncio
from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from conquer.service import tasks
from conquer.service.annotation.asked import Asked
from conquer.service.annotation.pool import Question, groups_of, next_question, read_asked
from conquer.service.annotation.progress import Progress, progress
from conquer.service.annotation.uploading import upload
from conquer.service.annotation.uploads import Contents
from conquer.service.annotation.voting import VotesReply, vote
from conquer.service.commands.standings import BoardReply, Look
from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.http.routing import Call, Endpoint
from conquer.service.http.schemas import Format, Group, Identifier, ModelSettings, Strict
from conquer.service.log.transaction import Turn
from conquer.service.store import image_table, log_table

_TRIES = 5
Result = TypeVar("Result")


class NextRequest(Strict):
    """`shared`: also questions that others are answering now."""

    voter: Identifier
    shared: bool = False


class Uploaded(msgspec.Struct, omit_defaults=True):
    """How much was added, and what was made of the file's columns where that is not plain.

    `text` is the column that texts came from where it has another name, `features` are columns that became features,
    `shown` columns that people see and nobody learns, `unused` columns that nothing was made of, `empty` counts rows
    left out because their text is empty, `large` are features whose numbers outweigh everything else.
    """

    items: int
    groups: int
    text: str = "text"
    features: list[str] = []
    unused: list[str] = []
    empty: int = 0
    shown: list[str] = []
    large: list[str] = []


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
    writer, name, data, text = call.server.writer, call.model, call.body, call.query.get("text")
    found: list[Contents] = []

    def read_file(settings: ModelSettings, first: int) -> list[Group]:
        found.append(tasks.find(settings.task).read_file(settings, data, held_out, first, text, _images(call)))
        return found[0].groups

    def work() -> tuple[int, int]:
        return upload(lambda step: writer.call_now(name, step), read_file)

    items, groups = await call.beside(call.server.long_work, work)
    read = found[0]
    return Uploaded(items, groups, read.text or "text", read.features, read.unused, read.empty, read.shown, read.large)


def _images(call: Call) -> dict[str, str]:
    """The model's images by the names of their files. Not for the event loop."""
    with call.server.database.reading() as connection:
        header = log_table.headers(connection, [call.model], lock=False).get(call.model)
        return {} if header is None else image_table.by_file(connection, header.id)


async def next_event(call: Call) -> Question:
    body, seconds = call.body, call.server.settings.lease_seconds
    enough = await _enough(call, body.voter)
    if enough is not None:
        return enough
    question = await _with_asked(call, lambda turn: next_question(turn, body.voter, seconds, body.shared))
    if question.done:
        question.board = await _board(call)
    return question


async def _with_asked(call: Call, work: Callable[[Turn], Result | None]) -> Result:
    """What `work` returns; while it returns None, who answered about what is first read from the log."""
    for _ in range(_TRIES):
        found = await call.on_model(work)
        if found is not None:
            return found
        await _read_asked(call)
    raise RefusalError(Kind.BUSY, "busy", "this model's log grows faster than it is read; try again", retry_after=1)


async def read_progress(call: Call) -> Progress:
    return await _with_asked(call, progress)


async def _enough(call: Call, voter: str) -> Question | None:
    """The end of a pool of one group whose board says enough, by the model's `stop`."""

    def state(turn: Turn) -> tuple[bool, int]:
        stops = turn.folded.settings.stop is not None and len(groups_of(turn)) == 1
        return stops, turn.folded.tally.voters.get(voter, 0)

    stops, answered = await call.on_model(state)
    board = await _board(call) if stops else None
    if board is None or board.stop is None or not board.stop.done:
        return None
    return Question(None, [], None, answered, board.stop.text, done=True, board=board)


async def _board(call: Call) -> BoardReply | None:
    """The model's own board, where it has one and there is room to make it."""
    settings = await call.on_model(lambda turn: turn.folded.settings)
    try:
        look = Look(settings.delta, "anytime", settings.stop)
        return await call.server.boards.read(call.model, look, call.key.id)
    except RefusalError as refusal:
        # A question does not wait for boards: it is asked, and the next one may hear that it was one too many.
        if refusal.kind not in (Kind.CONFLICT, Kind.BUSY):
            raise
        return None


async def _read_asked(call: Call) -> None:
    """Have it read once for all who ask meanwhile: each reading takes a thread for as long as the log is."""
    name, under_way = call.model, call.server.reading
    if name not in under_way:
        task = under_way[name] = asyncio.create_task(_read_beside(call))
        task.add_done_callback(lambda _: under_way.pop(name))
    await asyncio.shield(under_way[name])


async def _read_beside(call: Call) -> None:
    """Read from a long log who answered about what, beside the writer, and hand it to the model."""
    database = call.server.database
    model, head, quota = await call.on_model(
        lambda turn: (turn.folded.id, turn.folded.position, turn.folded.settings.quota)
    )

    def read() -> Asked:
        with database.reading(patient=True) as connection:
            return read_asked(connection, model, head, quota)

    def hand_over(turn: Turn, asked: Asked) -> None:
        if turn.folded.id == model:
            turn.folded.asked = asked

    asked = await asyncio.get_running_loop().run_in_executor(call.server.asking, read)
    await call.on_model(lambda turn: hand_over(turn, asked))


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

    def work() -> VotesReply:
        return vote(call.weighed_now, data, name=mark, kind=kind, content=query.get("content"))

    return await call.beside(call.server.long_work, work)


async def task(call: Call) -> Task:
    def work(turn: Turn) -> Task:
        settings = turn.folded.settings
        count = sum(len(group.items) for group in groups_of(turn))
        return Task(
            settings.instructions,
            settings.question,
            settings.task,
            count,
            turn.folded.tally.learnt,
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
