"""`decide`: the only code that chooses and answers, for single requests and batches alike."""

from collections.abc import Sequence

from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError
from conquer.service.model.schemas import AnswerReply, BatchAnswer, ChooseReply, ChooseRequest
from conquer.service.work.answers import answer_many
from conquer.service.work.choices import choose_many
from conquer.service.work.next_question import release

Request = ChooseRequest | BatchAnswer
Result = ChooseReply | AnswerReply | RefusalError | None
"""A reply or a refusal; None: the request must wait for another turn, because this one has read enough of the store."""


def decide(turn: Turn, requests: Sequence[Request]) -> list[Result]:
    """The result of each request, in their order.

    Requests that wait at the same time have no order of their own: rounds are chosen first, then answers are learnt.
    """
    rounds = {place: one for place, one in enumerate(requests) if isinstance(one, ChooseRequest)}
    answers = {place: one for place, one in enumerate(requests) if isinstance(one, BatchAnswer)}
    results: dict[int, Result] = {}
    if rounds:
        results.update(zip(rounds, choose_many(turn, list(rounds.values())), strict=True))
    if answers:
        results.update(zip(answers, answer_many(turn, list(answers.values())), strict=True))
    for place, one in answers.items():
        if one.voter is not None and isinstance(results[place], AnswerReply):
            release(turn, one.event_id)
    return [results[place] for place in range(len(requests))]
