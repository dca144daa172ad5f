"""What happens on a choose, an answer, an activation or an undo: check, append rows, say what became of it."""

import secrets
from typing import Literal

import msgspec

from conquer.answers import encode
from conquer.service.commands.reading import decode_items
from conquer.service.commands.repeats import agreement
from conquer.service.errors import conflict, invalid, unknown_event
from conquer.service.http.schemas import RESERVED, AnswerReply, AnswerRequest, ChooseReply, ChooseRequest, Shown
from conquer.service.log.event import Event
from conquer.service.log.records import ABSENT, Activated, Answered, Chosen, Corrected, Exposed, Flagged
from conquer.service.log.transaction import Turn
from conquer.types import Query

_QUERIES: dict[Query, Literal["none", "duel", "best"]] = {Query.NONE: "none", Query.DUEL: "duel", Query.BEST: "best"}


def choose(turn: Turn, request: ChooseRequest) -> ChooseReply:
    """Decide a round and log it; the same event id with the same items gets the same reply again."""
    folded = turn.folded
    if request.event_id is not None:
        event = turn.event(request.event_id)
        if event is not None:
            _check_same(event, request)
            return reply(event)
    brain = folded.brain
    ordinal = folded.tally.ordinal
    read = brain.parse(bytes(request.items), bytes(request.context))
    pick = brain.choose(read, ordinal)
    choice = pick.choice
    event_id = request.event_id or f"{ordinal:x}-{secrets.token_hex(8)}"
    chosen = Chosen(
        ordinal=ordinal,
        ticket=choice.ticket,
        query=int(choice.query),
        shown=choice.shown,
        names=pick.names,
        left=pick.left,
        items=request.items,
        scores=pick.scores,
        context=ABSENT if bytes(request.context) == b"null" else request.context,
        memo=dict(choice.memo),
        chance=pick.chance,
        deferred=request.deferred,
    )
    turn.append(chosen, event_id, request.voter, read)
    if not request.deferred:
        expose(turn, folded.events[event_id])
    return reply(folded.events[event_id])


def answer(turn: Turn, event_id: str, request: AnswerRequest) -> AnswerReply:
    """Learn from an answer, or say why not; once per event and voter."""
    event = _known(turn, event_id)
    voter = request.voter or event.voter
    standing = event.answers.get(voter or "")
    if standing is not None:
        said = standing[1]
        if (said.winner, said.strength) != (request.winner, request.strength):
            raise conflict("answered", f"event {event_id!r} already has the answer {said.winner!r} from this voter")
        first = "learnt" if said.value is not None else "ignored"
        return AnswerReply("repeat", event_id, said.reason, first)
    if event.choice.query is Query.NONE:
        raise conflict("no_question", f"event {event_id!r} asked nothing")
    if not event.active:
        raise conflict("not_active", f"event {event_id!r} has not been activated")
    said = Answered(request.winner, *_value(turn, event, request), request.strength, request.seconds)
    if event.chosen.planted is not None:
        said.value, said.reason = None, "planted"
        said.agreed, said.between = agreement(turn, event.chosen.planted, voter, request.winner)
    elif _late(turn, event):
        said.value, said.reason = None, "late"
    turn.append(said, event_id, voter)
    return AnswerReply("learnt" if said.value is not None else "ignored", event_id, said.reason)


def activate(turn: Turn, event_id: str) -> ChooseReply:
    """A deferred event has now been shown; doing it twice changes nothing."""
    event = _known(turn, event_id)
    if not event.active:
        turn.append(Activated(), event_id)
        expose(turn, event)
    return reply(event)


def undo(turn: Turn, event_id: str, voter: str | None) -> AnswerReply:
    """Take a standing answer back: a correction row, and the model folded again without it."""
    event = _known(turn, event_id)
    voter = voter or event.voter
    standing = event.answers.get(voter or "")
    if standing is None:
        raise conflict("not_answered", f"event {event_id!r} has no answer from this voter to undo")
    if standing[0] <= turn.base:
        raise conflict("pruned", f"the answer to {event_id!r} is past its retention and cannot be undone")
    turn.append(Corrected(standing[0]), event_id, voter)
    turn.refold(standing[0])
    return AnswerReply("ignored", event_id, "undone")


def flag(turn: Turn, event_id: str, voter: str | None, comment: str) -> AnswerReply:
    """Keep a person's remark on a question."""
    event = _known(turn, event_id)
    turn.append(Flagged(comment), event_id, voter or event.voter)
    return AnswerReply("ignored", event_id, "flagged")


def reply(event: Event) -> ChooseReply:
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


def _known(turn: Turn, event_id: str) -> Event:
    event = turn.event(event_id)
    if event is None:
        raise unknown_event(turn.folded.name, event_id)
    return event


def expose(turn: Turn, event: Event) -> None:
    """Where widths count pending pairs, a shown pair gets its row."""
    if turn.folded.settings.covariance == "on-show" and event.choice.query is not Query.NONE:
        turn.append(Exposed({}), event.id)


def _late(turn: Turn, event: Event) -> bool:
    window = turn.folded.settings.window_seconds
    return event.expired or (window is not None and turn.now - event.at > window)


def _value(turn: Turn, event: Event, request: AnswerRequest) -> tuple[float | None, str | None]:
    """The number to learn from, or None and the reason."""
    shown, winner = event.shown, request.winner
    strength = 1.0 if request.strength is None else request.strength
    if winner == "skip":
        return None, "skip"
    if event.choice.query is Query.BEST:
        if winner == "tie":
            raise invalid("a tie is no answer to whether one item is the best")
        if winner != "both_bad" and winner not in _ids(event):
            raise invalid(f"winner must be an item of the event, 'both_bad' or 'skip', got {winner!r}")
        if strength != 1.0:
            raise invalid(f"whether an item is the best has no strength, got {strength}")
        return (1.0 if winner == shown[0] else -1.0), None
    if "word" in event.choice.memo and winner in ("both_bad", "tie"):
        # Between two heads there is no tie: neither is right, and the parser's own rule says what that teaches.
        return (None, winner) if turn.folded.settings.parameters.get("neither", "skip") == "skip" else (0.0, None)
    if winner == "both_bad":
        return None, "both_bad"
    if winner == "tie" and len(shown) == 2:
        return 0.0, None
    if winner not in shown:
        raise invalid(f"winner must be one of {list(shown)} or {sorted(RESERVED)}, got {winner!r}")
    if len(shown) > 2:
        return encode(shown.index(winner), len(shown)), None
    return (strength if winner == shown[0] else -strength), None


def _ids(event: Event) -> list[str]:
    return [item.id for item in decode_items(bytes(event.chosen.items))]


def _check_same(event: Event, request: ChooseRequest) -> None:
    old, new = event.chosen, request
    context = bytes(new.context)
    if _same(bytes(old.items), bytes(new.items)) and _same(bytes(old.context), context):
        return
    raise conflict("event_exists", f"event {event.id!r} already exists with other items or another context")


def _same(old: bytes, new: bytes) -> bool:
    return old == new or msgspec.json.decode(old) == msgspec.json.decode(new)
