"""Choose requests: rounds are read together, chosen together and logged, each with the result it would have alone."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from conquer.answers import leftmost
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid
from conquer.service.model.event import Event
from conquer.service.model.learner_protocol import Chosen
from conquer.service.model.reading import same_round
from conquer.service.model.records import ABSENT, Decision
from conquer.service.model.schemas import ChooseReply, ChooseRequest, Raw, Shown

_QUERIES: tuple[Literal["none", "duel", "best"], ...] = ("none", "duel", "best")
"""By the number of a `Query`."""
TOGETHER = 1 << 20
"""Bytes of rounds that are read together."""
_FAILURES = 8
"""Rounds without a choice after which the others are chosen for one by one."""
Result = ChooseReply | RefusalError | None
"""A reply or a refusal; None: the request must wait for another turn."""


class NewRound(NamedTuple):
    """A round to choose from: its items and context as JSON, and as the learner read them."""

    items: bytes
    context: bytes
    read: Any
    event_id: str | None = None
    voter: str | None = None


def choose_many(turn: Turn, requests: Sequence[ChooseRequest]) -> list[Result]:
    """The reply to each request. The same event id with the same items gets the same reply again."""
    turn.look_up([request.event_id for request in requests if request.event_id is not None])
    return [result for part in _parts(requests) for result in _choose_part(turn, part)]


def _parts(requests: Sequence[ChooseRequest]) -> Iterator[Sequence[ChooseRequest]]:
    """Requests that are carried out together: a part has each event id once, and no more bytes than TOGETHER."""
    first, size, ids = 0, 0, set[str | None]()
    for place, request in enumerate(requests):
        size += len(request.items)
        if place > first and (size > TOGETHER or request.event_id in ids):
            yield requests[first:place]
            first, size, ids = place, len(request.items), set()
        ids |= {request.event_id} - {None}
    yield requests[first:]


def _choose_part(turn: Turn, requests: Sequence[ChooseRequest]) -> list[Result]:
    results: dict[int, Result] = {}
    new: dict[int, tuple[bytes, bytes]] = {}
    for place, request in enumerate(requests):
        # Copies: a part of a body would keep all of it in memory, which may be a batch of many rounds.
        text = bytes(request.items), bytes(request.context)
        try:
            if request.event_id is not None and turn.is_spent(request.event_id):
                results[place] = None
            elif (known := _known(turn, request.event_id, text)) is not None:
                results[place] = known
            else:
                new[place] = text
        except RefusalError as refusal:
            results[place] = refusal
    reads = turn.state.learner.read_many(list(new.values()), turn.limits.cells) if new else ()
    rounds: dict[int, NewRound] = {}
    for (place, text), read in zip(new.items(), reads, strict=True):
        if isinstance(read, RefusalError):
            results[place] = read
        else:
            rounds[place] = NewRound(*text, read, requests[place].event_id, requests[place].voter)
    for place, event in zip(rounds, begin(turn, list(rounds.values())), strict=True):
        results[place] = event if isinstance(event, RefusalError) else reply(event)
    return [results[place] for place in range(len(requests))]


def _known(turn: Turn, event_id: str | None, text: tuple[bytes, bytes]) -> ChooseReply | None:
    """The reply to a repeated request; None to a new one. Raises RefusalError if it differs, or is too large."""
    size, most = sum(map(len, text)), turn.limits.round_bytes
    if size > most:
        raise invalid(f"a round has at most {most} bytes, got {size}")
    event = None if event_id is None else turn.event(event_id)
    if event is None:
        if event_id is not None:
            turn.check_unused(event_id)
        return None
    if not same_round((bytes(event.chosen.items), bytes(event.chosen.context)), text):
        raise conflict("event_exists", f"event {event.id!r} already exists with other items or another context")
    return reply(event)


def begin(turn: Turn, rounds: Sequence[NewRound]) -> list[Event | RefusalError]:
    """Choose for each round and log it as a new event; a RefusalError where there is no choice."""
    state, learner, most = turn.state, turn.state.learner, turn.limits.operations
    found: dict[int, Event | RefusalError] = {}
    for place, one in enumerate(rounds):
        if (cost := learner.cost(one.read)) > most:
            found[place] = _too_costly(cost, most)
    left, failures = [place for place in range(len(rounds)) if place not in found], 0
    while left:
        part = left if failures <= _FAILURES else left[:1]
        results = learner.choose_many([rounds[place].read for place in part], state.tickets(len(part)))
        chosen: dict[int, Chosen] = {}
        for place, result in zip(part, results, strict=True):
            if isinstance(result, RefusalError):
                # Rounds after it get other tickets.
                found[place] = result
                failures += 1
                break
            chosen[place] = result
        found |= zip(chosen, _logged(turn, [rounds[place] for place in chosen], list(chosen.values())), strict=True)
        left = [place for place in left if place not in found]
    return [found[place] for place in range(len(rounds))]


def _logged(turn: Turn, rounds: Sequence[NewRound], chosen: Sequence[Chosen]) -> list[Event]:
    state, learner, events = turn.state, turn.state.learner, list[Event]()
    kept = learner.kept([one.read for one in rounds], [choice for choice, _ in chosen])
    for one, (choice, scores), hold in zip(rounds, chosen, kept, strict=True):
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


def _too_costly(cost: float, most: int) -> RefusalError:
    message = f"choosing among these items takes about {cost:,.0f} multiply-adds, at most {most:,} are allowed: "
    return RefusalError(Kind.INVALID, "too_costly", message + "send fewer items or features, or use a diagonal model")


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
