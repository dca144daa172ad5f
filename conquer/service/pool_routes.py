"""Uploading items and asking people, over HTTP."""

from typing import Annotated

import msgspec
from msgspec import Meta

from conquer.service.pools import Question, add_groups, groups_of, next_question
from conquer.service.requests import Identifier, Strict
from conquer.service.routing import Call, Endpoint
from conquer.service.turns import Turn
from conquer.service.uploads import read_groups


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
    groups = read_groups(call.body)

    def work(turn: Turn) -> Uploaded:
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


ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models/{name}/items", "admin", "Add a file of items to ask about: JSON lines or CSV",
        upload_items, bytes, Uploaded, upload=True,
    ),
    Endpoint(
        "POST", "/v1/models/{name}/next", "answer", "The next question for a person", next_event, NextRequest, Question
    ),
    Endpoint("GET", "/v1/models/{name}/task", "answer", "Instructions and progress", task, reply=Task),
)  # fmt: skip
