"""A choose and what follows at once: decide, append the row, count the pair where widths count what is shown."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from conquer.answers import leftmost
from conquer.service.commands.reading import same_round
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.http.schemas import ChooseReply, ChooseRequest, Raw, Shown
from conquer.service.log.event import Event
from conquer.service.log.fold import Folded
from conquer.service.log.records import ABSENT, Activated, Decision, Exposed
from conquer.service.log.transaction import Turn
from conquer.service.settings import Limits
from conquer.types import Query

_QUERIES: dict[Query, Literal["none", "duel", "best"]] = {Query.NONE: "none", Query.DUEL: "duel", Query.BEST: "best"}


_LIMITS = Limits()
_BYTES_OF_A_CELL = 16
"""What a feature takes in a body, roughly."""


_CHECKED, _LEAST = 32, 8
"""Items of a request's rounds that are told whether one may stop, a round counting as eight at least: each round takes
a board of its items, inside the turn."""


class CellRoom:
    """How many cells of rows one request may still fill, and of how many rounds it hears whether one may stop.

    A batch fills it with all its rounds.
    """

    def __init__(self) -> None:
        self.cells = _LIMITS.cells
        self.checks = _CHECKED

    def done(self, turn: Turn, read: Any) -> bool | None:
        """Whether the model has said enough about these items; None where that is not asked, or takes too long."""
        if turn.folded.settings.stop is None or (count := max(_LEAST, len(read.ids))) > self.checks:
            return None
        found: bool | None = turn.folded.learner.enough(read)
        self.checks -= 0 if found is None else count
        return found


class ReadRound(NamedTuple):
    """A request's items and context as they came, and as the learner read them."""

    items: bytes
    context: bytes
    read: Any


def choose(turn: Turn, request: ChooseRequest, room: CellRoom | None = None) -> ChooseReply:
    """Decide a round and log it; the same event id with the same items gets the same reply again."""
    event = _known(turn, request)
    if event is not None:
        _check_same(event, request)
        return reply(event)
    room = room or CellRoom()
    return reply(decide(turn, request, *_read(turn, request, room), room))


def choose_together(turn: Turn, requests: Sequence[ChooseRequest]) -> list[ChooseReply | RefusalError]:
    """Requests that wait at the same time: each as `choose` decides it, with room of its own."""
    return [_decided(turn, request, None, CellRoom()) for request in requests]


def choose_all(turn: Turn, requests: Sequence[ChooseRequest]) -> list[ChooseReply | RefusalError]:
    """Each as `choose` decides it, or why it is refused.

    All rounds are read before the first is decided, for a step that is done over and over takes half the time of one
    among many others: the processor has it at hand. Nothing that is read depends on what is decided.
    """
    room, ids = CellRoom(), set[str]()
    rounds = [_read_ahead(turn, request, room, ids) for request in requests]
    return [_decided(turn, request, found, room) for request, found in zip(requests, rounds, strict=True)]


def _read_ahead(turn: Turn, request: ChooseRequest, room: CellRoom, ids: set[str]) -> ReadRound | RefusalError | None:
    """A new round as it was read, or why not; None for one that is known, or will be once an earlier one is decided."""
    try:
        if request.event_id is not None:
            if request.event_id in ids or _known(turn, request) is not None:
                return None
            ids.add(request.event_id)
        return _read(turn, request, room)
    except RefusalError as refusal:
        return refusal


def _decided(
    turn: Turn, request: ChooseRequest, found: ReadRound | RefusalError | None, room: CellRoom
) -> ChooseReply | RefusalError:
    if isinstance(found, RefusalError):
        return found
    try:
        return choose(turn, request, room) if found is None else reply(decide(turn, request, *found, room))
    except RefusalError as refusal:
        if refusal.tainted:
            raise
        return refusal


def _known(turn: Turn, request: ChooseRequest) -> Event | None:
    """The event that the request repeats; a RefusalError where its id cannot be used any more."""
    if request.event_id is None:
        return None
    event = turn.event(request.event_id)
    if event is None:
        turn.check_unused(request.event_id)
    return event


def _read(turn: Turn, request: ChooseRequest, room: CellRoom) -> ReadRound:
    # Copies: a part of a body would keep the whole of it alive, which may be a batch of many rounds.
    items, context = bytes(request.items), bytes(request.context)
    left, most = room.cells, _LIMITS.round_bytes
    if len(items) + len(context) > most:
        raise invalid(f"a round has at most {most} bytes, got {len(items) + len(context)}")
    # Reading costs what it weighs, whatever becomes of the round.
    room.cells -= (len(items) + len(context)) // _BYTES_OF_A_CELL
    if room.cells < 0:
        raise invalid(f"the rounds of this request are too large together, there is room for {left} more features")
    read = turn.folded.learner.read(items, context, left)
    room.cells = min(room.cells, left - read.cells)
    return ReadRound(items, context, read)


def decide(turn: Turn, request: ChooseRequest, items: bytes, context: bytes, read: Any, room: CellRoom) -> Event:
    """A new event: the learner's choice among the request's items, as they came and as they were `read`."""
    folded, learner = turn.folded, turn.folded.learner
    choice, scores = learner.choose(read, folded.ticket())
    names = learner.names(read, choice)
    chosen = Decision(
        ordinal=folded.tally.ordinal,
        ticket=choice.ticket,
        query=int(choice.query),
        shown=choice.shown,
        names=names,
        left=names[leftmost(choice.ticket, len(names))],
        items=Raw(items),
        scores=scores,
        context=ABSENT if context == b"null" else Raw(context),
        memo=dict(choice.memo),
        deferred=request.deferred,
        done=room.done(turn, read),
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


class Appends(Protocol):
    """What a shown pair needs of a turn, or of the rehearsal of one."""

    folded: Folded

    def append(self, body: msgspec.Struct, event: str | None) -> Event | None: ...


def expose(turn: Appends, event: Event) -> None:
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
        done=msgspec.UNSET if event.chosen.done is None else event.chosen.done,
    )


def _check_same(event: Event, request: ChooseRequest) -> None:
    old = event.chosen
    if not same_round(bytes(old.items), bytes(old.context), bytes(request.items), bytes(request.context)):
        raise conflict("event_exists", f"event {event.id!r} already exists with other items or another context")
