"""`decide`: the one way by which the requests of a batch choose and answer."""

from collections.abc import Sequence

from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError
from conquer.service.model.batches import BatchAnswer
from conquer.service.model.schemas import AnswerReply, ChooseReply, ChooseRequest
from conquer.service.work.answers import answer_all
from conquer.service.work.next_question import release
from conquer.service.work.rounds import choose_all

Request = ChooseRequest | BatchAnswer
Result = ChooseReply | AnswerReply | RefusalError


def decide(turn: Turn, requests: Sequence[Request]) -> list[Result]:
    """A reply or a refusal for each request, in their order.

    Requests that wait at the same time have no order of their own: rounds are chosen first, then answers are learnt.
    """
    rounds = [(place, one) for place, one in enumerate(requests) if isinstance(one, ChooseRequest)]
    answers = [(place, one) for place, one in enumerate(requests) if isinstance(one, BatchAnswer)]
    results: dict[int, Result] = {}
    results.update(zip([place for place, _ in rounds], choose_all(turn, [one for _, one in rounds]), strict=True))
    said = [(one.event_id, one) for _, one in answers]
    results.update(zip([place for place, _ in answers], answer_all(turn, said), strict=True))
    for place, one in answers:
        if one.voter is not None and not isinstance(results[place], RefusalError):
            release(turn, one.event_id)
    return [results[place] for place in range(len(requests))]
