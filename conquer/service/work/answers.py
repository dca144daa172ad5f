"""Many answers at once: heard one by one, learnt in one call, each as it would be alone."""

import math
from collections.abc import Sequence

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError
from conquer.service.model.event import Event, Pair
from conquer.service.model.learner_protocol import Bulk
from conquer.service.model.records import Answered
from conquer.service.model.schemas import AnswerReply, AnswerRequest
from conquer.service.model.state import COMPARED
from conquer.service.work.answering import Heard, answer, hear, hear_plain
from conquer.service.work.rounds import TOGETHER, is_small
from conquer.types import Query

_FAILED = 8
"""So many answers that cannot be learnt together are found in the midst of others; then each is tried alone."""
Request = tuple[str, AnswerRequest]
"""An event's id and what is said of it."""
Result = AnswerReply | RefusalError
Run = dict[str, tuple[Event, Answered]]
"""Answers of nobody in particular to duels between small items, by their events' ids."""


def answer_all(turn: Turn, requests: Sequence[Request], most_read: float = math.inf) -> list[Result]:
    """Each event's answer as `answer` learns it, or why it is refused.

    `most_read`: bytes of old rounds that one turn may read for them; others wait for it.
    """
    bulk = turn.state.learner.bulk
    results: list[Result] = []
    while (first := len(results)) < len(requests):
        run = {} if bulk is None else _run(turn, requests[first:], most_read)
        if bulk is not None and run:
            results += _learnt(turn, bulk, run, requests[first : first + len(run)])
        else:
            results.append(_alone(turn, *requests[first], most_read))
    return results


def _run(turn: Turn, requests: Sequence[Request], most_read: float) -> Run:
    """The first of these answers, heard, as many as can be learnt together; nothing has changed."""
    run: Run = {}
    known, room = turn.state.events, TOGETHER
    # Servers compare what they have learnt at some positions: no answer behind one is learnt before it.
    most = COMPARED - turn.state.position % COMPARED
    for event_id, request in requests[:most]:
        if event_id in run or room <= 0:
            break
        event = known.get(event_id)
        said = None if event is None else hear_plain(turn, event, request)
        if event is not None and said is not None:
            known.move_to_end(event_id)
            room -= event.held
        elif event is None and turn.read_bytes > most_read:
            break
        else:
            try:
                heard = hear(turn, event_id, request)
            except RefusalError:
                break
            if isinstance(heard, AnswerReply) or not _is_plain(heard):
                break
            event, said, _ = heard
            # Their rounds are read together, which takes some times their size.
            room -= memoryview(event.chosen.items).nbytes
        run[event_id] = event, said
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
        and event.about is None
        and (event.pair is not None or is_small(chosen.items, chosen.context))
    )


def _learnt(turn: Turn, bulk: Bulk, run: Run, requests: Sequence[Request]) -> list[Result]:
    """The replies to these answers, learnt in one call but for those that cannot be: they say why alone."""
    events, said = [event for event, _ in run.values()], [one for _, one in run.values()]
    pairs = _pairs(bulk, events)
    believes = turn.state.settings.believe is not None
    if believes:
        for one in said:
            one.weight = 1.0
    values = [one.value for one in said if one.value is not None]
    sides = [event.side for event in events] if believes else [0] * len(events)
    tickets = [event.choice.ticket for event in events]
    results: list[Result] = []
    failed = 0
    while (first := len(results)) < len(events):
        asked: list[Pair] = []
        for pair in pairs[first:]:
            if pair is None or failed > _FAILED:
                break
            asked.append(pair)
        last = first + len(asked)
        last = first + bulk.learn(asked, values[first:last], sides[first:last], tickets[first:last]) if asked else first
        if last > first:
            turn.append_learnt(events[first:last], said[first:last])
            results += [AnswerReply("learnt", event.id) for event in events[first:last]]
        if last < len(events):
            # One that is not understood parts the others too, and every part costs a copy of all their rows.
            failed += 1
            results.append(_alone(turn, *requests[last], math.inf))
    return results


def _pairs(bulk: Bulk, events: Sequence[Event]) -> list[Pair | None]:
    """The two items that each event showed: held since it was chosen, or read again. None: it is read alone."""
    unread = [event for event in events if event.pair is None]
    if not unread:
        return [event.pair for event in events]
    rounds = bulk.read([bytes(event.chosen.items) for event in unread])
    read = iter(bulk.pairs(rounds, 0, [event.choice for event in unread]))
    return [event.pair or next(read) for event in events]


def _alone(turn: Turn, event_id: str, request: AnswerRequest, most_read: float) -> Result:
    try:
        if turn.read_bytes > most_read and event_id not in turn.state.events:
            message = "the rounds of these answers are large: send the rest again"
            raise RefusalError(Kind.BUSY, "large_rounds", message)
        return answer(turn, event_id, request)
    except RefusalError as refusal:
        if refusal.tainted:
            raise
        return refusal
