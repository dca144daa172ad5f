"""Uploading items and asking people, over HTTP."""

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.service import tasks
from conquer.service.annotation.pool import Question, add_groups, groups_of, next_question
from conquer.service.commands.fitting import fit_once
from conquer.service.http.routing import Call, Endpoint
from conquer.service.http.schemas import Identifier, Strict
from conquer.service.http.wire import Reply
from conquer.service.log.transaction import Turn


class NextRequest(Strict):
    """`shared`: also questions that others are answering now."""

    voter: Identifier
    shared: bool = False


class Uploaded(msgspec.Struct):
    items: int
    groups: int


class Task(msgspec.Struct):
    """What annotators read before they start."""

    instructions: str
    question: str
    task: str
    items: int
    learnt: int
    per_round: Annotated[int, Meta(ge=2)]


async def upload_items(call: Call) -> Uploaded:
    held_out = call.query.get("held_out", "") in ("1", "true")
    settings, there = await call.server.writer.call(
        call.model, lambda turn: (turn.folded.settings, len(groups_of(turn)))
    )
    loop = asyncio.get_running_loop()
    read_file = tasks.find(settings.task).read_file
    groups = await loop.run_in_executor(None, read_file, settings, call.body, held_out, there + 1)

    def work(turn: Turn) -> Uploaded:
        fit_once(turn, groups)
        return Uploaded(add_groups(turn.connection, turn.folded.id, groups), len(groups))

    reply: Uploaded = await call.server.writer.call(call.model, work)
    return reply


async def next_event(call: Call) -> Question:
    body, seconds = call.body, call.server.settings.lease_seconds
    reply: Question = await call.server.writer.call(
        call.model, lambda turn: next_question(turn, body.voter, seconds, body.shared)
    )
    return reply


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
        )

    reply: Task = await call.server.writer.call(call.model, work)
    return reply


async def parser_progress(call: Call) -> Any:
    from conquer.service.parser.evaluation import measure, progress

    await asyncio.get_running_loop().run_in_executor(None, measure, call.server.writer, call.model)
    return await call.server.writer.call(call.model, progress)


async def parser_trees(call: Call) -> Reply:
    from conquer.service.parser.export import trees
    from conquer.service.parser.learner import parser_of

    # Parsing takes long and only needs a copy of the weights: not in the writer.
    parser, pool = await call.server.writer.call(call.model, lambda turn: (parser_of(turn), list(groups_of(turn))))
    data = await asyncio.get_running_loop().run_in_executor(None, trees, parser, pool)
    disposition = f'attachment; filename="{call.model}.conllu"'.encode()
    return Reply(data, kind="text/plain; charset=utf-8", headers=[(b"content-disposition", disposition)])


async def parser_file(call: Call) -> Reply:
    from conquer.parsing.parser import dumps
    from conquer.service.parser.learner import parser_of

    data: bytes = await call.server.writer.call(call.model, lambda turn: dumps(parser_of(turn)))
    disposition = f'attachment; filename="{call.model}.parser"'.encode()
    return Reply(data, kind="application/octet-stream", headers=[(b"content-disposition", disposition)])


ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models/{name}/items", "admin", "Add a file of items to ask about: JSON lines or CSV",
        upload_items, bytes, Uploaded, upload=True, query=("held_out",),
    ),
    Endpoint(
        "POST", "/v1/models/{name}/next", "answer", "The next question for a person", next_event, NextRequest, Question
    ),
    Endpoint("GET", "/v1/models/{name}/parser", "read", "A parser's progress", parser_progress, reply=dict[str, Any]),
    Endpoint("GET", "/v1/models/{name}/trees", "read", "A parser's trees, CoNLL-U", parser_trees, kind="text/plain"),
    Endpoint(
        "GET", "/v1/models/{name}/parser/file", "read", "The parser for conquer parse predict", parser_file,
        kind="application/octet-stream",
    ),
    Endpoint("GET", "/v1/models/{name}/task", "answer", "Instructions and progress", task, reply=Task),
)  # fmt: skip
