"""Many answers at once: heard one by one, learnt in one call, each as it would be alone."""

import math
from collections.abc import Sequence

from conquer.service.commands.answering import Heard, answer, became, hear
from conquer.service.commands.rounds import TOGETHER, is_small
from conquer.service.errors import Kind, RefusalError
from conquer.service.http.schemas import AnswerReply, AnswerRequest
from conquer.service.log.fold import COMPARED
from conquer.service.log.served import Bulk
from conquer.service.log.transaction import Turn
from conquer.types import Query

_FAILED = 8
"""So many answers that cannot be learnt together are found in the midst of others; then each is tried alone."""
Request = tuple[str, AnswerRequest]
"""An event's id and what is said of it."""
Result = AnswerReply | RefusalError


def answer_all(turn: Turn, requests: Sequence[Request], most_read: float = math.inf) -> list[Result]:
    """Each event's answer as `answer` learns it, or why it is refused.

    `most_read`: bytes of old rounds that one turn may read for them; others wait for it.
    """
    bulk = turn.folded.learner.bulk
    results: list[Result] = []
    while (first := len(results)) < len(requests):
        run = [] if bulk is None else _run(turn, requests[first:], most_read)
        if bulk is not None and run:
            results += _learnt(turn, bulk, run, requests[first : first + len(run)])
        else:
            results.append(_alone(turn, *requests[first], most_read))
    return results


def _run(turn: Turn, requests: Sequence[Request], most_read: float) -> list[Heard]:
    """The first of these answers, heard, as many as can be learnt together; nothing has changed."""
    run: list[Heard] = []
    events: set[str] = set()
    room = TOGETHER
    # Servers compare what they have learnt at some positions: no answer behind one is learnt before it.
    most = COMPARED - turn.folded.position % COMPARED
    for event_id, request in requests[:most]:
        if event_id in events or (turn.read_bytes > most_read and event_id not in turn.folded.events):
            break
        try:
            heard = hear(turn, event_id, request)
        except RefusalError:
            break
        if isinstance(heard, AnswerReply) or not _is_plain(heard) or room <= 0:
            break
        # Their rounds are read together, which takes some times their size.
        room -= memoryview(heard.event.chosen.items).nbytes
        events.add(event_id)
        run.append(heard)
    return run


def _is_plain(heard: Heard) -> bool:
    """Whether it is an answer of nobody in particular that says which of two small items is better."""
    event, said, voter = heard
    chosen, choice = event.chosen, event.choice
    return (
        said.value is not None
        and voter is None
        and said.kind == "person"
        and choice.query is Query.DUEL
        and len(choice.shown) == 2
        and not choice.memo.get("exposed")
        and is_small(chosen.items, chosen.context)
    )


def _learnt(turn: Turn, bulk: Bulk, run: Sequence[Heard], requests: Sequence[Request]) -> list[Result]:
    """The replies to these answers, learnt in one call but for those that cannot be: they say why alone."""
    rounds = bulk.read([bytes(heard.event.chosen.items) for heard in run])
    cells = bulk.understood(rounds)
    weight = 1.0 if turn.folded.settings.believe is not None else None
    results: list[Result] = []
    failed = 0
    while (first := len(results)) < len(run):
        asked = []
        for place in range(first, len(run)):
            event, said, _ = run[place]
            if cells[place] < 0 or said.value is None or failed > _FAILED:
                break
            asked.append((place, event.choice, said.value, event.side))
        learnt = bulk.learn(rounds, asked) if asked else 0
        for event, said, voter in run[first : first + learnt]:
            said.weight = weight
            turn.append_learnt(said, event, voter)
            results.append(became(event.id, said))
        if len(results) < len(run):
            # One that is not understood parts the others too, and every part costs a copy of all their rows.
            failed += 1
            results.append(_alone(turn, *requests[len(results)], math.inf))
    return results


def _alone(turn: Turn, event_id: str, request: AnswerRequest, most_read: float) -> Result:
    try:
        if turn.read_bytes > most_read and event_id not in turn.folded.events:
            message = "the rounds of these answers are large: send the rest again"
            raise RefusalError(Kind.BUSY, "large_rounds", message)
        return answer(turn, event_id, request)
    except RefusalError as refusal:
        if refusal.tainted:
            raise
        return refusal
