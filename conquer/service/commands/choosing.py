"""A choose and what follows at once: decide, append the row, count the pair where widths count what is shown."""

from typing import Literal

import msgspec

from conquer.answers import leftmost
from conquer.service.errors import conflict
from conquer.service.http.schemas import ChooseReply, ChooseRequest, Shown
from conquer.service.log.event import Event
from conquer.service.log.records import ABSENT, Activated, Decision, Exposed
from conquer.service.log.transaction import Turn
from conquer.types import Query

_QUERIES: dict[Query, Literal["none", "duel", "best"]] = {Query.NONE: "none", Query.DUEL: "duel", Query.BEST: "best"}


def choose(turn: Turn, request: ChooseRequest) -> ChooseReply:
    """Decide a round and log it; the same event id with the same items gets the same reply again."""
    if request.event_id is not None:
        event = turn.event(request.event_id)
        if event is not None:
            _check_same(event, request)
            return reply(event)
        turn.check_unused(request.event_id)
    return reply(decide(turn, request))


def decide(turn: Turn, request: ChooseRequest) -> Event:
    """A new event: the learner's choice among the request's items."""
    folded, learner = turn.folded, turn.folded.learner
    read = learner.read(bytes(request.items), bytes(request.context))
    choice, scores = learner.choose(read, folded.ticket())
    names = learner.names(read, choice)
    chosen = Decision(
        ordinal=folded.tally.ordinal,
        ticket=choice.ticket,
        query=int(choice.query),
        shown=choice.shown,
        names=names,
        left=names[leftmost(choice.ticket, len(names))],
        items=request.items,
        scores=scores,
        context=ABSENT if bytes(request.context) == b"null" else request.context,
        memo=dict(choice.memo),
        deferred=request.deferred,
    )
    event = turn.open(chosen, request.event_id, request.voter, read)
    if not request.deferred:
        expose(turn, event)
    return event


def activate(turn: Turn, event_id: str) -> ChooseReply:
    """A deferred event has now been shown; doing it twice changes nothing."""
    event = turn.known(event_id)
    if not event.active:
        turn.append(Activated(), event_id)
        expose(turn, event)
    return reply(event)


def expose(turn: Turn, event: Event) -> None:
    """Where widths count pending pairs, a shown pair gets its row."""
    if turn.folded.settings.covariance == "on-show" and event.choice.query is Query.DUEL:
        turn.append(Exposed({}), event.id)


def reply(event: Event) -> ChooseReply:
    """An event as HTTP tells it."""
    return ChooseReply(
        event_id=event.id,
        query=_QUERIES[event.choice.query],
        shown=[Shown(item) for item in event.shown],
        left=event.chosen.left,
        scores=event.chosen.scores,
        chance=event.chosen.chance,
        active=event.active,
        ordinal=event.chosen.ordinal,
    )


def _check_same(event: Event, request: ChooseRequest) -> None:
    old, context = event.chosen, bytes(request.context)
    if _same(bytes(old.items), bytes(request.items)) and _same(bytes(old.context), context):
        return
    raise conflict("event_exists", f"event {event.id!r} already exists with other items or another context")


def _same(old: bytes, new: bytes) -> bool:
    return old == new or msgspec.json.decode(old) == msgspec.json.decode(new)
