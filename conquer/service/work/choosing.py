"""A choose and what follows at once: decide, append the row, count the pair where widths count what is shown."""

from typing import Any, Literal, NamedTuple

import msgspec

from conquer.answers import leftmost
from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict, invalid
from conquer.service.model.event import Event
from conquer.service.model.reading import same_round
from conquer.service.model.records import ABSENT, Decision
from conquer.service.model.schemas import ChooseReply, ChooseRequest, Raw, Shown
from conquer.service.settings import Limits

_QUERIES: tuple[Literal["none", "duel", "best"], ...] = ("none", "duel", "best")
"""By the number of a `Query`."""


_BYTES_OF_A_CELL = 16
"""What a feature takes in a body, roughly."""


_CHECKED, _LEAST = 32, 8
"""Items of a request's rounds that are told whether one may stop, a round counting as eight at least: each round takes
a board of its items, inside the turn."""


class CellRoom:
    """How many cells of rows one request may still fill, and of how many rounds it hears whether one may stop.

    A batch fills it with all its rounds.
    """

    def __init__(self, limits: Limits) -> None:
        self.cells = limits.cells
        self.checks = _CHECKED

    def take(self, size: int, cells: int) -> bool:
        """Whether there is room for a round of so many bytes and cells, which it then takes."""
        left = self.cells - size // _BYTES_OF_A_CELL
        if left < 0 or cells > self.cells:
            return False
        self.cells = min(left, self.cells - cells)
        return True

    def done(self, turn: Turn, read: Any) -> bool | None:
        """Whether the model has said enough about these items; None where that is not asked, or takes too long."""
        if turn.state.settings.stop is None or (count := max(_LEAST, len(read.ids))) > self.checks:
            return None
        found: bool | None = turn.state.learner.enough(read)
        self.checks -= 0 if found is None else count
        return found


class ReadRound(NamedTuple):
    """A request's items and context as they came, and as the learner read them."""

    items: bytes
    context: bytes
    read: Any


def choose(turn: Turn, request: ChooseRequest, room: CellRoom | None = None) -> ChooseReply:
    """Decide a round and log it; the same event id with the same items gets the same reply again."""
    event = known(turn, request)
    if event is not None:
        _check_same(event, request)
        return reply(event)
    room = room or CellRoom(turn.limits)
    return reply(decide(turn, request, *read(turn, request, room), room))


def known(turn: Turn, request: ChooseRequest) -> Event | None:
    """The event that the request repeats; a RefusalError where its id cannot be used any more."""
    if request.event_id is None:
        return None
    event = turn.event(request.event_id)
    if event is None:
        turn.check_unused(request.event_id)
    return event


def read(turn: Turn, request: ChooseRequest, room: CellRoom) -> ReadRound:
    """A request's round as the learner reads it; a RefusalError where it cannot, or there is no room for it."""
    # Copies: a part of a body would keep the whole of it alive, which may be a batch of many rounds.
    items, context = bytes(request.items), bytes(request.context)
    left, most = room.cells, turn.limits.round_bytes
    if len(items) + len(context) > most:
        raise invalid(f"a round has at most {most} bytes, got {len(items) + len(context)}")
    # Reading costs what it weighs, whatever becomes of the round.
    room.cells -= (len(items) + len(context)) // _BYTES_OF_A_CELL
    if room.cells < 0:
        raise invalid(f"the rounds of this request are too large together, there is room for {left} more features")
    read = turn.state.learner.read(items, context, left)
    room.cells = min(room.cells, left - read.cells)
    return ReadRound(items, context, read)


def decide(turn: Turn, request: ChooseRequest, items: bytes, context: bytes, read: Any, room: CellRoom) -> Event:
    """A new event: the learner's choice among the request's items, as they came and as they were `read`."""
    state, learner = turn.state, turn.state.learner
    choice, scores = learner.choose(read, state.ticket())
    names = learner.names(read, choice)
    chosen = Decision(
        ordinal=state.tally.ordinal,
        ticket=choice.ticket,
        query=int(choice.query),
        shown=choice.shown,
        names=names,
        left=names[leftmost(choice.ticket, len(names))],
        items=Raw(items),
        scores=scores,
        context=ABSENT if context == b"null" else Raw(context),
        memo=dict(choice.memo),
        done=room.done(turn, read),
    )
    return turn.open(chosen, request.event_id, request.voter, read)


def reply(event: Event) -> ChooseReply:
    """An event as HTTP tells it."""
    chosen = event.chosen
    names, done = chosen.names, chosen.done
    # Two are shown nearly always.
    shown = [Shown(names[0]), Shown(names[1])] if len(names) == 2 else [Shown(item) for item in names]
    return ChooseReply(
        event.id,
        _QUERIES[chosen.query],
        shown,
        chosen.left,
        chosen.scores,
        chosen.chance,
        chosen.ordinal,
        msgspec.UNSET if done is None else done,
    )


def _check_same(event: Event, request: ChooseRequest) -> None:
    old = event.chosen
    if not same_round(bytes(old.items), bytes(old.context), bytes(request.items), bytes(request.context)):
        raise conflict("event_exists", f"event {event.id!r} already exists with other items or another context")
