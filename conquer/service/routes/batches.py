"""Batches of questions and answers over HTTP: each in one commit, and every result in its place."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from conquer.service.commands import answering, answers, choosing, rounds
from conquer.service.errors import RefusalError
from conquer.service.http.batches import BatchAnswer, BatchAnswers, BatchChoose, BatchReply
from conquer.service.http.errors import status_of
from conquer.service.http.metrics import outcomes, queries
from conquer.service.http.routing import Call
from conquer.service.http.schemas import AnswerReply
from conquer.service.log.transaction import Turn

_FEW, _FEW_BYTES = 128, 256 << 10
"""Rounds or answers of a batch, and bytes of rounds, that are done between two requests."""
_MOST_READ = 16 << 20
"""Bytes of old rounds that one turn reads for a batch of answers: others wait for it."""


async def choose_batch(call: Call) -> msgspec.Raw:
    """All rounds in one commit. A refused round does not stop the others."""
    request: BatchChoose = call.body
    events = tuple([one.event_id for one in request.rounds if one.event_id is not None])

    def work(turn: Turn) -> tuple[msgspec.Raw, dict[str, int]]:
        found = rounds.choose_all(turn, request.rounds, choosing.CellRoom())
        return _in_order(found), queries(found)

    # Ids that somebody has chosen have to be looked for in the store, where their rounds may be large.
    size = sum([len(one.items) + len(one.context) for one in request.rounds])
    light = not events and _is_light(call, len(request.rounds), size)
    results, asked = await call.on_model(work, events, light, rounds=len(request.rounds))
    call.server.meters.chosen_batch(call.model, asked)
    return results


async def answer_batch(call: Call) -> msgspec.Raw:
    """All answers in one commit. A refused answer does not stop the others."""
    request: BatchAnswers = call.body
    events = tuple([one.event_id for one in request.answers])
    said = list(zip(events, request.answers, strict=True))

    def work(turn: Turn) -> tuple[msgspec.Raw, dict[tuple[str, str], int]]:
        found = answers.answer_all(turn, said, _MOST_READ)
        return _in_order(found), outcomes(found)

    light = _is_light(call, len(events), _left_to_read(call, events))
    try:
        results, became = await call.when_weighed(work, events, light, len(events))
    except RefusalError as refusal:
        if not refusal.tainted:
            raise
        # One of them cannot be learnt without leaving its mark: each in a commit of its own.
        found = [await _alone(call, one) for one in request.answers]
        results, became = _in_order(found), outcomes(found)
    call.server.meters.answered_batch(call.model, became)
    return results


async def _alone(call: Call, one: BatchAnswer) -> AnswerReply | RefusalError:
    try:
        return await call.when_weighed(lambda turn: answering.answer(turn, one.event_id, one), (one.event_id,))
    except RefusalError as refusal:
        return refusal


def _is_light(call: Call, rounds: int, size: float) -> bool:
    """Whether a batch takes no longer than some dozens of requests: one of few rounds that are done together."""
    folded = call.server.writer.models.get(call.model)
    return folded is not None and folded.learner.bulk is not None and rounds <= _FEW and size <= _FEW_BYTES


def _left_to_read(call: Call, events: Sequence[str]) -> float:
    """The bytes of rounds that have to be read before these answers can be learnt; more than any, if from the store."""
    folded = call.server.writer.models.get(call.model)
    found = [] if folded is None else list(map(folded.events.get, events))
    return sum(
        [
            math.inf if event is None else event.own if event.pair is None and event.round is None else 0
            for event in found
        ]
    )


def _in_order(found: Sequence[Any]) -> msgspec.Raw:
    """The reply, ready to be sent: made by the thread that has made the results, which has them at hand."""
    return msgspec.Raw(_encode(BatchReply(found)))


def _told(refusal: RefusalError) -> dict[str, Any]:
    return {"error": {"code": refusal.code, "message": refusal.message, "status": status_of(refusal)}}


_encode = msgspec.json.Encoder(enc_hook=_told).encode
