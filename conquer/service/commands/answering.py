"""An answer, an undo or a remark: check it against the event, append its row, say what became of it."""

from typing import NamedTuple

from conquer.answers import AnswerError, read_answer
from conquer.service.commands.reading import decode_items
from conquer.service.commands.repeats import agreement
from conquer.service.errors import conflict, invalid
from conquer.service.http.schemas import ANSWER_WORDS, AnswerReply, AnswerRequest
from conquer.service.log.event import Event
from conquer.service.log.fold import Folded
from conquer.service.log.records import Answered, Corrected, Flagged, Settled
from conquer.service.log.served import ServedLearner
from conquer.service.log.transaction import Turn
from conquer.service.store.flag_table import flags_after, settled_up_to
from conquer.types import Query

_MOST_FLAGS = 500
"""Flags of one event that are settled at once."""


class Heard(NamedTuple):
    """An answer that is new: to which event, what it says, and whose it is."""

    event: Event
    said: Answered
    voter: str | None


def answer(turn: Turn, event_id: str, request: AnswerRequest) -> AnswerReply:
    """Learn from an answer, or say why not; once per event and voter."""
    heard = hear(turn, event_id, request)
    if isinstance(heard, AnswerReply):
        return heard
    weigh(turn.folded, *heard)
    turn.append(heard.said, event_id, heard.voter)
    return AnswerReply("learnt" if heard.said.value is not None else "ignored", event_id, heard.said.reason)


def hear(turn: Turn, event_id: str, request: AnswerRequest) -> Heard | AnswerReply:
    """Check an answer against its event: what it says, or the reply to one that was given before. Changes nothing."""
    event = turn.known(event_id)
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
    value = _value(turn.folded.learner, event, request)
    reason = request.winner if value is None else None
    if request.kind == "judge" and voter is None:
        raise invalid("a judge needs a name: give its voter")
    said = Answered(request.winner, value, reason, request.strength, request.seconds, kind=request.kind)
    if event.chosen.planted is not None:
        said.value, said.reason = None, "planted"
        said.agreed, said.between = agreement(turn, event.chosen.planted, voter, request.winner)
    elif _late(turn, event):
        said.value, said.reason = None, "late"
    return Heard(event, said, voter)


def hear_plain(turn: Turn, event: Event, request: AnswerRequest) -> Answered | None:
    """What `hear` gives for the everyday answer: nobody in particular says which of the two held items is better.

    None: it is not one, and `hear` tells. Events hold the two items of a duel that was not planted.
    """
    names = event.chosen.names
    if (
        event.pair is None
        or event.answers
        or not event.active
        or event.expired
        or event.seen <= turn.base
        or event.voter is not None
        or request.voter is not None
        or request.strength is not None
        or request.kind != "person"
        or request.winner not in names
        or turn.folded.settings.window_seconds is not None
    ):
        return None
    return Answered(request.winner, 1.0 if request.winner == names[0] else -1.0, seconds=request.seconds)


def weigh(folded: Folded, event: Event, said: Answered, voter: str | None) -> None:
    """Give an answer that is learnt the weight it is learnt with, where the model weighs voters."""
    said.weight = None
    if said.value is not None and folded.settings.believe is not None:
        said.weight = folded.learner.weigh(folded.round_of(event), event.choice, event.source(voter, said))


def undo(turn: Turn, event_id: str, voter: str | None) -> AnswerReply:
    """Take a standing answer back: a correction row, and the model folded again without it."""
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


def flag(turn: Turn, event_id: str, voter: str | None, comment: str) -> AnswerReply:
    """Keep a person's remark on a question."""
    event = turn.known(event_id)
    turn.append(Flagged(comment), event_id, voter or event.voter)
    return AnswerReply("ignored", event_id, "flagged")


def settle(turn: Turn, event_id: str) -> AnswerReply:
    """Mark an event's flags as dealt with; once more changes nothing. A row belongs to whoever flagged, like theirs."""
    turn.known(event_id)
    turn.flush()
    connection, model = turn.connection, turn.folded.id
    after = settled_up_to(connection, model, [event_id]).get(event_id, 0)
    flags = flags_after(connection, model, event_id, after, _MOST_FLAGS)
    for position, voter in flags:
        turn.append(Settled(position), event_id, voter)
    if not flags and not after:
        raise conflict("not_flagged", f"event {event_id!r} has no flag to settle")
    return AnswerReply("ignored" if flags else "repeat", event_id, "settled")


def _late(turn: Turn, event: Event) -> bool:
    window = turn.folded.settings.window_seconds
    return event.expired or (window is not None and turn.now - event.at > window)


def _value(learner: ServedLearner, event: Event, request: AnswerRequest) -> float | None:
    """The number to learn, None where the winner teaches nothing; a RefusalError where it is no answer."""
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
