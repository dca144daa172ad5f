"""Questions and answers, one at a time and in batches; undo; flags."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.service.engine.queue import Generation
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError
from conquer.service.model.records import Event
from conquer.service.model.schemas import (
    AnswerReply,
    AnswerRequest,
    BatchAnswer,
    BatchAnswers,
    BatchChoose,
    BatchReply,
    ChooseReply,
    ChooseRequest,
    Identifier,
    Strict,
)
from conquer.service.web.endpoint import STATUS, Call, Routes
from conquer.service.work import decisions, flags

routes = Routes()
_EVENT = "/v1/models/{name}/events/{event_id}"
_TWO = [{"id": "a", "text": "A lovely pot."}, {"id": "b", "text": "It broke at once."}]


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
    """An event: the question and its answers."""

    event: ChooseReply
    at: float
    voter: str | None
    items: Any
    context: Any
    answers: list[Standing]


@routes.add(
    "POST", "/v1/models/{name}/choose", "choose", limit="round_bytes",
    example={"items": _TWO, "event_id": "visit-17", "voter": "ann"},
)  # fmt: skip
async def choose(call: Call, body: ChooseRequest) -> ChooseReply:
    """Choose two items to show."""
    reply: ChooseReply = await call.decide(body)
    call.server.meters.chosen(call.model, [reply])
    return reply


@routes.add("POST", f"{_EVENT}/answer", "answer", answers=True, example={"winner": "a", "voter": "ann"})
async def answer(call: Call, body: AnswerRequest) -> AnswerReply:
    """Answer which was preferred."""
    said = BatchAnswer(**msgspec.structs.asdict(body), event_id=call.path_params["event_id"])
    reply: AnswerReply = await call.decide(said)
    call.server.meters.answered(call.model, [reply])
    return reply


@routes.add(
    "POST", "/v1/models/{name}/choose/batch", "choose", limit="upload_bytes",
    example={"rounds": [{"items": _TWO}, {"items": _TWO}]},
)  # fmt: skip
async def choose_batch(call: Call, body: BatchChoose) -> BatchReply:
    """Choose for many rounds; a refused round does not stop the others."""
    found = await call.decide_all(body.rounds)
    call.server.meters.chosen(call.model, found)
    return _in_order(found)


@routes.add(
    "POST", "/v1/models/{name}/answers", "answer", limit="upload_bytes", answers=True,
    example={"answers": [{"event_id": "visit-17", "winner": "tie", "voter": "ann"}]},
)  # fmt: skip
async def answer_batch(call: Call, body: BatchAnswers) -> BatchReply:
    """Answer many events; a refused answer does not stop the others."""
    found = await call.decide_all(body.answers)
    call.server.meters.answered(call.model, found)
    return _in_order(found)


def _in_order(found: Sequence[Any]) -> BatchReply:
    return BatchReply([_failed(one) if isinstance(one, Exception) else one for one in found])


def _failed(error: Exception) -> dict[str, Any]:
    if not isinstance(error, RefusalError):
        return {"error": {"code": "internal", "message": "this is a fault of the server", "status": 500}}
    return {"error": {"code": error.code, "message": error.message, "status": STATUS[error.kind]}}


@routes.add("GET", _EVENT, "read")
async def event(call: Call) -> EventInfo:
    """Inspect an event."""
    return await call.on_model(lambda turn: _info(turn.known(call.path_params["event_id"])))


@routes.add("POST", f"{_EVENT}/undo", "answer", example={"voter": "ann"})
async def undo(call: Call, body: UndoRequest) -> AnswerReply:
    """Undo an answer; the reply comes when the model has been replayed without it."""

    def work(turn: Turn) -> tuple[AnswerReply, Generation]:
        return decisions.undo(turn, call.path_params["event_id"], body.voter), (turn.state.id, turn.state.position)

    reply, generation = await call.on_model(work)
    await call.replayed(generation)
    return reply


@routes.add(
    "POST", f"{_EVENT}/flag", "answer", example={"voter": "ann", "comment": "Both are the same text."}
)  # fmt: skip
async def flag(call: Call, body: FlagRequest) -> AnswerReply:
    """Remark on a question."""
    return await call.on_model(lambda turn: flags.flag(turn, call.path_params["event_id"], body.voter, body.comment))


@routes.add("POST", f"{_EVENT}/settle", "admin")
async def settle(call: Call) -> AnswerReply:
    """Mark a question's flags as dealt with."""
    return await call.on_model(lambda turn: flags.settle(turn, call.path_params["event_id"]))


def _info(event: Event) -> EventInfo:
    said = [
        Standing(voter, one.winner, one.value is not None, one.reason, position)
        for voter, (position, one) in event.answers.items()
    ]
    chosen, asked = event.chosen, decisions.reply(event)
    return EventInfo(asked, event.at, event.voter, chosen.items, chosen.context, said)
