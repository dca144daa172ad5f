"""Questions and answers over HTTP."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.service.engine.queue import Generation
from conquer.service.engine.turn import Turn
from conquer.service.model.batches import BatchAnswer, BatchAnswers, BatchChoose, BatchReply
from conquer.service.model.event import Event
from conquer.service.model.schemas import (
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
from conquer.service.web.routes.batches import answer_batch, choose_batch
from conquer.service.web.routing import Call, Endpoint
from conquer.service.work import answering, choosing, flags

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
    """A round. `event_id` makes the call repeatable; `voter` is who will answer."""

    items: Annotated[list[NewItem], Meta(min_length=1, max_length=1000, examples=EXAMPLES)]
    context: Annotated[
        NewContext, Meta(examples=["a pot for two", {"text": "a pot for two", "vector": [0.3, 0.4]}])
    ] = None
    event_id: EventId | None = None
    voter: Identifier | None = None


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


async def choose(call: Call) -> ChooseReply:
    reply: ChooseReply = await call.decide(call.body)
    call.server.meters.choice(call.model, reply.query)
    return reply


async def answer(call: Call) -> AnswerReply:
    body: AnswerRequest = call.body
    said = BatchAnswer(**msgspec.structs.asdict(body), event_id=call.path["event_id"])
    reply: AnswerReply = await call.decide(said)
    call.server.meters.answer(call.model, reply)
    return reply


async def undo(call: Call) -> AnswerReply:
    """The reply comes when the log has been folded again; others are served meanwhile."""
    event_id, voter = call.path["event_id"], call.body.voter

    def work(turn: Turn) -> tuple[AnswerReply, Generation]:
        return answering.undo(turn, event_id, voter), (turn.state.id, turn.state.position)

    reply, generation = await call.on_model(work)
    await call.replayed(generation)
    return reply


async def flag(call: Call) -> AnswerReply:
    event_id, body = call.path["event_id"], call.body
    return await call.on_model(lambda turn: flags.flag(turn, event_id, body.voter, body.comment))


async def settle(call: Call) -> AnswerReply:
    """Mark the flags of a question as dealt with."""
    event_id = call.path["event_id"]
    return await call.on_model(lambda turn: flags.settle(turn, event_id))


async def event(call: Call) -> EventInfo:
    event_id = call.path["event_id"]

    def work(turn: Turn) -> EventInfo:
        return _info(turn.known(event_id))

    return await call.on_model(work)


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
ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models/{name}/choose", "choose", "Choose two items to show", choose, ChooseRequest, ChooseReply,
        document=ChooseDocument, items=True,
        example={"items": _TWO, "event_id": "visit-17", "voter": "ann"},
    ),
    Endpoint(
        "POST", f"{_EVENT}/answer", "answer", "Say which was preferred", answer, AnswerRequest, AnswerReply,
        answers=True, example={"winner": "a", "voter": "ann"},
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
