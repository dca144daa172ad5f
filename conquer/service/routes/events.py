"""Questions and answers over HTTP."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.service.annotation.leases import release
from conquer.service.commands import answering, answers, choosing, rounds
from conquer.service.errors import RefusalError
from conquer.service.http.batches import BatchAnswers, BatchChoose, BatchReply
from conquer.service.http.budget import SMALL
from conquer.service.http.routing import Call, Endpoint, Short
from conquer.service.http.schemas import (
    AnswerReply,
    AnswerRequest,
    ChooseReply,
    ChooseRequest,
    EventId,
    Identifier,
    NewContext,
    NewItem,
    Strict,
)
from conquer.service.log.event import Event
from conquer.service.log.transaction import Turn
from conquer.service.routes.batches import answer_batch, choose_batch
from conquer.service.server import Server
from conquer.service.writer.work import Generation

EXAMPLES = [
    [{"id": "a", "text": "green leaf tea"}, {"id": "b", "text": "strong black tea"}],
    [
        {
            "id": "p1",
            "text": "An **iron** pot.",
            "vector": [0.9, 0.1],
            "features": {"price": 0.3, "brand": "x"},
            "label": "Pot 1",
            "meta": {"maker": "Ann", "year": 1998},
            "image": "/static/icon.svg",
            "format": "markdown",
        },
        {"id": "p2", "text": "A *glass* pot.", "vector": [0.2, 0.8], "features": {"price": 0.2}, "label": "Pot 2"},
    ],
]
"""Rounds of items: of texts, and of everything that an item may have."""


class ChooseDocument(Strict):
    """A round. `event_id` makes the call repeatable; `deferred` waits for `activate`; `voter` is who will answer."""

    items: Annotated[list[NewItem], Meta(min_length=1, max_length=1000, examples=EXAMPLES)]
    context: Annotated[
        NewContext, Meta(examples=["a pot for two", {"text": "a pot for two", "vector": [0.3, 0.4]}])
    ] = None
    event_id: EventId | None = None
    voter: Identifier | None = None
    deferred: bool = False


class BatchChooseDocument(Strict):
    rounds: Annotated[list[ChooseDocument], Meta(min_length=1, max_length=1000)]


class UndoRequest(Strict):
    voter: Identifier | None = None


class FlagRequest(Strict):
    comment: Annotated[str, Meta(max_length=2000)] = ""
    voter: Identifier | None = None


class Standing(msgspec.Struct):
    voter: str
    winner: str
    learnt: bool
    reason: str | None
    position: int


class EventInfo(msgspec.Struct):
    """An event as its log rows tell it."""

    event: ChooseReply
    at: float
    voter: str | None
    items: Any
    context: Any
    answers: list[Standing]
    expired: bool


def _round(server: Server, path: dict[str, str], body: ChooseRequest) -> tuple[ChooseRequest, tuple[str, ...], bool]:
    events = () if body.event_id is None else (body.event_id,)
    folded = server.writer.models.get(path["name"])
    # A large round is read where nobody else waits; with `stop` a choice comes with a board of its items.
    quick = folded is None or folded.settings.stop is None
    return body, events, quick and len(body.items) + len(body.context) <= SMALL


def _count_choice(server: Server, model: str, reply: ChooseReply) -> None:
    server.meters.choice(model, reply.query)


async def choose(call: Call) -> ChooseReply:
    reply: ChooseReply = await call.together(_CHOOSING)
    return reply


def _said(
    server: Server, path: dict[str, str], body: AnswerRequest
) -> tuple[tuple[str, AnswerRequest], tuple[str, ...], bool]:
    event_id = path["event_id"]
    folded = server.writer.models.get(path["name"])
    event = None if folded is None else folded.events.get(event_id)
    # What is large and left to read before the answer can be learnt is read where nobody waits.
    light = event is not None and (event.round is not None or event.own <= SMALL)
    return (event_id, body), (event_id,), light


def _count_answer(server: Server, model: str, reply: AnswerReply) -> None:
    server.meters.answer(model, reply)


async def answer(call: Call) -> AnswerReply:
    reply: AnswerReply | None = await call.together(_ANSWERING)
    if reply is None:
        said, events, light = _said(call.server, call.path, call.body)
        reply = await call.when_weighed(lambda turn: _answered(turn, *said), events, light)
        _count_answer(call.server, call.model, reply)
    return reply


def _answered(turn: Turn, event_id: str, request: AnswerRequest) -> AnswerReply:
    reply = answering.answer(turn, event_id, request)
    if request.voter is not None:
        release(turn, event_id)
    return reply


def _answer_together(
    turn: Turn, requests: Sequence[tuple[str, AnswerRequest]]
) -> Sequence[AnswerReply | RefusalError | None]:
    """What became of each answer; None for all while an erased voter is being unlearnt."""
    if turn.folded.unlearning:
        return [None] * len(requests)
    found = answers.answer_all(turn, requests)
    for (event_id, request), reply in zip(requests, found, strict=True):
        if request.voter is not None and not isinstance(reply, RefusalError):
            release(turn, event_id)
    return found


async def activate(call: Call) -> ChooseReply:
    event_id = call.path["event_id"]
    return await call.on_model(lambda turn: choosing.activate(turn, event_id), (event_id,))


async def undo(call: Call) -> AnswerReply:
    """The reply comes when the log has been folded again; others are served meanwhile."""
    event_id, voter = call.path["event_id"], call.body.voter

    def work(turn: Turn) -> tuple[AnswerReply, Generation]:
        return answering.undo(turn, event_id, voter), (turn.folded.id, turn.folded.position)

    reply, generation = await call.on_model(work, (event_id,))
    await call.folded_with(generation)
    return reply


async def flag(call: Call) -> AnswerReply:
    event_id, body = call.path["event_id"], call.body
    return await call.on_model(lambda turn: answering.flag(turn, event_id, body.voter, body.comment), (event_id,))


async def settle(call: Call) -> AnswerReply:
    """Mark the flags of a question as dealt with."""
    event_id = call.path["event_id"]
    return await call.on_model(lambda turn: answering.settle(turn, event_id), (event_id,))


async def event(call: Call) -> EventInfo:
    event_id = call.path["event_id"]

    def work(turn: Turn) -> EventInfo:
        return _info(turn.known(event_id))

    return await call.on_model(work, (event_id,))


def _info(event: Event) -> EventInfo:
    answers = [
        Standing(voter, said.winner, said.value is not None, said.reason, position)
        for voter, (position, said) in event.answers.items()
    ]
    chosen = event.chosen
    asked = choosing.reply(event)
    return EventInfo(asked, event.at, event.voter, chosen.items, chosen.context, answers, event.expired)


_TWO = [{"id": "a", "text": "A lovely pot."}, {"id": "b", "text": "It broke at once."}]
_EVENT = "/v1/models/{name}/events/{event_id}"
_CHOOSING = Short(rounds.choose_all, _round, _count_choice)
_ANSWERING = Short(_answer_together, _said, _count_answer)
ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models/{name}/choose", "choose", "Choose two items to show", choose, ChooseRequest, ChooseReply,
        document=ChooseDocument, items=True, short=_CHOOSING,
        example={"items": _TWO, "event_id": "visit-17", "voter": "ann"},
    ),
    Endpoint(
        "POST", f"{_EVENT}/answer", "answer", "Say which was preferred", answer, AnswerRequest, AnswerReply,
        answers=True, short=_ANSWERING, example={"winner": "a", "voter": "ann"},
    ),
    Endpoint(
        "POST", "/v1/models/{name}/choose/batch", "choose", "Choose for many rounds", choose_batch, BatchChoose,
        BatchReply, document=BatchChooseDocument, upload=True, example={"rounds": [{"items": _TWO}, {"items": _TWO}]},
    ),
    Endpoint(
        "POST", "/v1/models/{name}/answers", "answer", "Answer many events", answer_batch, BatchAnswers, BatchReply,
        upload=True, answers=True, example={"answers": [{"event_id": "visit-17", "winner": "tie", "voter": "ann"}]},
    ),
    Endpoint("GET", _EVENT, "read", "Look at an event", event, reply=EventInfo),
    Endpoint("POST", f"{_EVENT}/activate", "choose", "A deferred event has been shown", activate, reply=ChooseReply),
    Endpoint(
        "POST", f"{_EVENT}/undo", "answer", "Take an answer back", undo, UndoRequest, AnswerReply,
        example={"voter": "ann"},
    ),
    Endpoint(
        "POST", f"{_EVENT}/flag", "answer", "Remark on a question", flag, FlagRequest, AnswerReply,
        example={"voter": "ann", "comment": "Both are the same text."},
    ),
    Endpoint("POST", f"{_EVENT}/settle", "admin", "Mark a question's flags as dealt with", settle, reply=AnswerReply),
)  # fmt: skip
