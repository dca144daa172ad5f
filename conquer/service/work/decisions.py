"""Choosing and answering, for single requests, batches and pools alike: `begin` opens rounds, `ModelState` learns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from sqlalchemy import delete

from conquer.answers import AnswerError, leftmost, read_answer
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid
from conquer.service.model.learner_protocol import Chosen, ServedLearner
from conquer.service.model.reading import decode_items, same_round
from conquer.service.model.records import ABSENT, Answered, Corrected, Decision, Event
from conquer.service.model.schemas import (
    ANSWER_WORDS,
    AnswerReply,
    AnswerRequest,
    BatchAnswer,
    ChooseReply,
    ChooseRequest,
    Raw,
    Shown,
)
from conquer.service.model.state import COMPARED, Lesson, ModelState
from conquer.service.store.schema import leases
from conquer.types import Query

_QUERIES: tuple[Literal["none", "duel", "best"], ...] = ("none", "duel", "best")
"""By the number of a `Query`."""
ANSWERS = 10_000
"""Answers to one event, undone ones and their corrections included: all of an event's rows are read at once."""
TOGETHER = 1 << 20
"""Bytes of rounds that are read together."""
_BOARDS = 4
"""Rounds of a model with `stop` that are chosen together: each may take a board."""
_FAILURES = 8
"""Rounds without a choice after which the others are chosen for one by one."""
Request = TypeVar("Request", ChooseRequest, BatchAnswer)
New = TypeVar("New", bound="NewRound | NewAnswer")
Result = ChooseReply | AnswerReply | RefusalError | None
"""A reply or a refusal; None: the request must wait for another turn, because this one has read or run enough."""


class NewRound(msgspec.Struct):
    """A round to choose from: its items and context as JSON. `read`: as the learner read them, where it has."""

    items: bytes
    context: bytes
    event_id: str | None = None
    voter: str | None = None
    read: Any = None


class NewAnswer(NamedTuple):
    """A new answer: its event, what it says, and whose it is."""

    event: Event
    said: Answered
    voter: str | None


def decide(turn: Turn, requests: Sequence[ChooseRequest | BatchAnswer]) -> list[Result]:
    """The result of each request, in their order.

    Requests that wait at the same time have no order of their own: rounds are chosen first, then answers are learnt.
    """
    turn.look_up([one.event_id for one in requests if one.event_id is not None])
    chosen = iter(_in_runs(turn, [one for one in requests if isinstance(one, ChooseRequest)], _asked, _choose))
    answers = [one for one in requests if isinstance(one, BatchAnswer)]
    answered = _in_runs(turn, answers, _hear, _learn)
    named = [
        one.event_id
        for one, result in zip(answers, answered, strict=True)
        if isinstance(result, AnswerReply) and (one.voter or turn.known(one.event_id).voter) is not None
    ]
    if named:
        # These questions belong to their voters no longer.
        held = (leases.c.model_id == turn.state.id) & leases.c.event_id.in_(named)
        turn.connection.execute(delete(leases).where(held))
    told = iter(answered)
    return [next(chosen if isinstance(one, ChooseRequest) else told) for one in requests]


def _in_runs(
    turn: Turn,
    requests: Sequence[Request],
    check: Callable[[Turn, Request], Result | New],
    finish: Callable[[Turn, Sequence[New]], Sequence[Result]],
) -> list[Result]:
    """The result of each request: what `check` says of it alone, or what `finish` makes of all that is new in a run.

    Runs that have not begun when time is up wait for another turn.
    """
    results: list[Result] = []
    for run in _runs(turn, requests):
        if results and turn.is_over:
            return results + [None] * (len(requests) - len(results))
        checked: list[Result | New] = []
        for request in run:
            try:
                is_spent = request.event_id is not None and turn.is_spent(request.event_id)
                checked.append(None if is_spent else check(turn, request))
            except RefusalError as refusal:
                checked.append(refusal)
        done = iter(finish(turn, [one for one in checked if isinstance(one, NewRound | NewAnswer)]))
        results += [next(done) if isinstance(one, NewRound | NewAnswer) else one for one in checked]
    return results


def _runs(turn: Turn, requests: Sequence[Request]) -> Iterator[Sequence[Request]]:
    """Requests that are carried out together: a run has each event id once, and no more bytes than TOGETHER.

    It ends at a position that servers compare, so that weights there contain no later answer.
    """
    first, total, ids = 0, 0, set[str]()
    for place, request in enumerate(requests):
        own, count = _size(turn, request), place - first
        is_full = total + own > TOGETHER or count >= COMPARED - turn.state.position % COMPARED
        if count and (is_full or request.event_id in ids):
            yield requests[first:place]
            first, total, ids = place, 0, set()
        total += own
        if request.event_id is not None:
            ids.add(request.event_id)
    if requests:
        yield requests[first:]


def _size(turn: Turn, request: ChooseRequest | BatchAnswer) -> int:
    """Bytes of the round of a request; as many as a run may have where a few bytes may be much work."""
    if isinstance(request, ChooseRequest):
        # Every feature of an item is multiplied with every one of the context.
        if bytes(request.context) != b"null":
            return TOGETHER
        return max(len(request.items), 0 if turn.state.settings.stop is None else TOGETHER // _BOARDS)
    event = None if turn.is_spent(request.event_id) else turn.event(request.event_id)
    if event is None:
        return 0
    # The weight depends on all answers before it.
    is_weighed = turn.state.settings.believe is not None and (request.voter or event.voter) is not None
    return TOGETHER if is_weighed else event.own


# Choosing: rounds are read together, chosen together and logged, each with the result it would have alone.


def _asked(turn: Turn, request: ChooseRequest) -> ChooseReply | NewRound:
    """The reply to a repeated request, or a new round. Raises RefusalError if it differs, or is too large."""
    # Copies: a part of a body would keep all of it in memory, which may be a batch of many rounds.
    one = NewRound(bytes(request.items), bytes(request.context), request.event_id, request.voter)
    size, most = len(one.items) + len(one.context), turn.limits.round_bytes
    if size > most:
        raise invalid(f"a round has at most {most} bytes, got {size}")
    event = None if one.event_id is None else turn.event(one.event_id)
    if event is None:
        if one.event_id is not None:
            turn.check_unused(one.event_id)
        return one
    if not same_round((bytes(event.chosen.items), bytes(event.chosen.context)), (one.items, one.context)):
        raise conflict("event_exists", f"event {event.id!r} already exists with other items or another context")
    return reply(event)


def _choose(turn: Turn, rounds: Sequence[NewRound]) -> list[Result]:
    return [one if isinstance(one, RefusalError) else reply(one) for one in begin(turn, rounds)]


def begin(turn: Turn, rounds: Sequence[NewRound]) -> list[Event | RefusalError]:
    """Choose for each round and log it as a new event; a RefusalError where there is no choice."""
    state, learner, most = turn.state, turn.state.learner, turn.limits.operations
    unread = [one for one in rounds if one.read is None]
    reads = learner.read_many([(one.items, one.context) for one in unread], turn.limits.cells) if unread else ()
    for one, read in zip(unread, reads, strict=True):
        one.read = read
    found: dict[int, Event | RefusalError] = {}
    for place, one in enumerate(rounds):
        try:
            if isinstance(one.read, RefusalError):
                raise one.read
            check_cost(learner, one.read, most)
        except RefusalError as refusal:
            found[place] = refusal
    failures = 0
    while left := [place for place in range(len(rounds)) if place not in found]:
        part = left if failures <= _FAILURES else left[:1]
        results = learner.choose_many([rounds[place].read for place in part], state.tickets(len(part)))
        chosen: list[Chosen] = []
        for place, result in zip(part, results, strict=True):
            if isinstance(result, RefusalError):
                # Rounds after it get other tickets.
                found[place] = result
                failures += 1
                break
            chosen.append(result)
        part = part[: len(chosen)]
        found |= zip(part, _logged(turn, [rounds[place] for place in part], chosen), strict=True)
    return [found[place] for place in range(len(rounds))]


def _logged(turn: Turn, rounds: Sequence[NewRound], chosen: Sequence[Chosen]) -> list[Event]:
    state, learner, events = turn.state, turn.state.learner, list[Event]()
    kept = learner.kept([one.read for one in rounds], [choice for choice, _ in chosen])
    for one, (choice, scores), hold in zip(rounds, chosen, kept, strict=True):
        if one.context != b"null" and "forecast" in choice.memo:
            # The best item of one context need not be that of another: such answers are no evidence for a board.
            choice = replace(choice, memo={key: each for key, each in choice.memo.items() if key != "forecast"})
        names = learner.names(one.read, choice)
        decision = Decision(
            ordinal=state.tally.ordinal,
            ticket=choice.ticket,
            query=int(choice.query),
            shown=choice.shown,
            names=names,
            left=names[leftmost(choice.ticket, len(names))],
            items=Raw(one.items),
            scores=scores,
            context=ABSENT if one.context == b"null" else Raw(one.context),
            memo=dict(choice.memo),
            done=None if state.settings.stop is None else learner.enough(one.read),
        )
        events.append(turn.open(decision, one.event_id, one.voter, hold, choice))
    return events


def check_cost(learner: ServedLearner, read: Any, most: int) -> None:
    """Raise RefusalError if scoring these items takes longer than a request may hold up the others."""
    cost = learner.cost(read)
    if cost > most:
        message = f"these items take about {cost:,.0f} multiply-adds, at most {most:,} are allowed: "
        message += "send fewer items or features, or use a diagonal model or a smaller budget"
        raise RefusalError(Kind.INVALID, "too_costly", message)


def reply(event: Event) -> ChooseReply:
    """An event as the reply to its request."""
    chosen = event.chosen
    return ChooseReply(
        event.id,
        _QUERIES[chosen.query],
        [Shown(name) for name in chosen.names],
        chosen.left,
        chosen.scores,
        chosen.chance,
        chosen.ordinal,
        msgspec.UNSET if chosen.done is None else chosen.done,
    )


# Answering: checked against their events, learnt, logged.


def _hear(turn: Turn, request: BatchAnswer) -> AnswerReply | NewAnswer:
    """Check an answer against its event: what it says, or the reply to a repeated one. Changes nothing."""
    event = turn.known(request.event_id)
    voter = request.voter or event.voter
    standing = event.answers.get(voter or "")
    if standing is not None:
        said = standing[1]
        if (said.winner, said.strength) != (request.winner, request.strength):
            raise conflict("answered", f"event {event.id!r} already has the answer {said.winner!r} from this voter")
        return AnswerReply("repeat", event.id, said.reason, "learnt" if said.value is not None else "ignored")
    if event.rows >= ANSWERS:
        raise conflict("too_many_answers", f"event {event.id!r} has {event.rows:,} answers and undos, its most")
    if event.choice.query is Query.NONE:
        raise conflict("no_question", f"event {event.id!r} asked nothing")
    value = _value(turn.state.learner, event, request)
    reason = request.winner if value is None else None
    if request.kind == "judge" and voter is None:
        raise invalid("a judge needs a name: give its voter")
    said = Answered(request.winner, value, reason, request.strength, request.seconds, kind=request.kind)
    window = turn.state.settings.window_seconds
    if event.chosen.planted is not None:
        said.value, said.reason = None, "planted"
        said.agreed, said.between = _agreement(turn, event.chosen.planted, voter, request.winner)
    elif window is not None and turn.now - event.at > window:
        said.value, said.reason = None, "late"
    weigh(turn.state, event, said, voter)
    return NewAnswer(event, said, voter)


def _learn(turn: Turn, heard: Sequence[NewAnswer]) -> list[Result]:
    """Learn answers to different events in one call, and log them."""
    taught = [Lesson(one.event, one.said.value, one.voter, one.said) for one in heard if one.said.value is not None]
    errors = iter(turn.state.learn(taught) if taught else ())
    results: list[Result] = []
    for event, said, voter in heard:
        error = None if said.value is None else next(errors)
        if error is None:
            turn.append(said, event.id, voter, learnt=True)
            results.append(AnswerReply("ignored" if said.value is None else "learnt", event.id, said.reason))
        else:
            refusal = turn.state.refusal(error)
            if refusal.tainted:
                raise refusal
            results.append(refusal)
    return results


def weigh(state: ModelState, event: Event, said: Answered, voter: str | None) -> None:
    """Give a named voter's answer that is learnt its weight, where the model weighs voters."""
    said.weight = None
    if voter is not None and said.value is not None and state.settings.believe is not None:
        said.weight = state.learner.weigh(state.round_of(event), event.choice, event.source(voter, said))


def undo(turn: Turn, event_id: str, voter: str | None) -> AnswerReply:
    """Undo an answer: a correction is logged, and the model is replayed without the answer."""
    event = turn.known(event_id)
    voter = voter or event.voter
    standing = event.answers.get(voter or "")
    if standing is None:
        raise conflict("not_answered", f"event {event_id!r} has no answer from this voter to undo")
    if standing[0] <= turn.base:
        raise conflict("pruned", f"the answer to {event_id!r} is past its retention and cannot be undone")
    turn.append(Corrected(standing[0]), event_id, voter)
    turn.refold(standing[0])
    return AnswerReply("ignored", event_id, "undone")


def _agreement(turn: Turn, original: str, voter: str | None, winner: str) -> tuple[bool | None, bool]:
    """(whether the first answer was the same, whether it was another person's); None where one says nothing."""
    event = turn.event(original)
    if event is None or winner == "skip":
        return None, False
    own = event.answers.get(voter or "")
    others = [said for _, said in event.answers.values() if said.value is not None and said.winner in event.shown]
    if own is not None:
        return own[1].winner == winner, False
    return (others[0].winner == winner, True) if others else (None, False)


def _value(learner: ServedLearner, event: Event, request: AnswerRequest) -> float | None:
    """The number to learn; None where the winner teaches nothing. Raises RefusalError if it is no answer."""
    winner, shown, choice = request.winner, event.shown, event.choice
    others: list[str] = []
    if choice.query is Query.BEST:
        if winner not in (*shown, "both_bad", "skip"):
            others = [item.id for item in decode_items(bytes(event.chosen.items))]
            if winner not in others:
                raise invalid(f"winner must be an item of the event, 'both_bad' or 'skip', got {winner!r}")
    else:
        # The words that a Session takes besides ("first", "left", ...) may be ids here.
        words = ANSWER_WORDS if len(shown) == 2 else ANSWER_WORDS - {"tie"}
        if winner not in shown and winner not in words:
            raise invalid(f"winner must be one of {list(shown)} or {sorted(words)}, got {winner!r}")
    try:
        return read_answer(
            winner,
            choice.query,
            shown,
            outside=learner.outside(choice),
            ties=learner.ties,
            strength=request.strength,
            items=others,
        )
    except AnswerError as error:
        raise invalid(str(error)) from None
