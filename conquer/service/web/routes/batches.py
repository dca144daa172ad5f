"""Batches of questions and answers over HTTP: each in one commit, and every result in its place."""

from collections.abc import Sequence
from typing import Any

import msgspec

from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError
from conquer.service.model.batches import BatchAnswer, BatchAnswers, BatchChoose, BatchReply
from conquer.service.model.schemas import AnswerReply
from conquer.service.web.errors import status_of
from conquer.service.web.metrics import outcomes, queries
from conquer.service.web.routing import Call
from conquer.service.work import answering, answers, choosing, rounds

_FEW, _FEW_BYTES = 128, 256 << 10
"""Rounds or answers of a batch, and bytes of rounds, that are done between two requests."""
_MOST_READ = 16 << 20
"""Bytes of old rounds that one turn reads for a batch of answers: others wait for it."""


async def choose_batch(call: Call) -> msgspec.Raw:
    """All rounds in one commit. A refused round does not stop the others."""
    request: BatchChoose = call.body

    def work(turn: Turn) -> tuple[msgspec.Raw, dict[str, int]]:
        found = rounds.choose_all(turn, request.rounds, choosing.CellRoom(turn.limits))
        return _in_order(found), queries(found)

    results, asked = await call.on_model(work)
    call.server.meters.chosen_batch(call.model, asked)
    return results


async def answer_batch(call: Call) -> msgspec.Raw:
    """All answers in one commit. A refused answer does not stop the others."""
    request: BatchAnswers = call.body
    said = [(one.event_id, one) for one in request.answers]

    def work(turn: Turn) -> tuple[msgspec.Raw, dict[tuple[str, str], int]]:
        found = answers.answer_all(turn, said, _MOST_READ)
        return _in_order(found), outcomes(found)

    try:
        results, became = await call.on_model(work, learns=True)
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
        return await call.on_model(lambda turn: answering.answer(turn, one.event_id, one), learns=True)
    except RefusalError as refusal:
        return refusal


def _in_order(found: Sequence[Any]) -> msgspec.Raw:
    """The reply, ready to be sent: made by the thread that has made the results, which has them at hand."""
    return msgspec.Raw(_encode(BatchReply(found)))


def _told(refusal: RefusalError) -> dict[str, Any]:
    return {"error": {"code": refusal.code, "message": refusal.message, "status": status_of(refusal)}}


_encode = msgspec.json.Encoder(enc_hook=_told).encode
