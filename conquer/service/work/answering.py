"""An answer or an undo: check it against the event, append its row, say what became of it."""

from typing import NamedTuple

from conquer.answers import AnswerError, read_answer
from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict, invalid
from conquer.service.model.event import Event
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.reading import decode_items
from conquer.service.model.records import Answered, Corrected
from conquer.service.model.schemas import ANSWER_WORDS, AnswerReply, AnswerRequest
from conquer.service.model.state import ModelState
from conquer.types import Query


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
    weigh(turn.state, *heard)
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
    value = _value(turn.state.learner, event, request)
    reason = request.winner if value is None else None
    if request.kind == "judge" and voter is None:
        raise invalid("a judge needs a name: give its voter")
    said = Answered(request.winner, value, reason, request.strength, request.seconds, kind=request.kind)
    if event.chosen.planted is not None:
        said.value, said.reason = None, "planted"
        said.agreed, said.between = _agreement(turn, event.chosen.planted, voter, request.winner)
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
        or event.expired
        or event.seen <= turn.base
        or event.voter is not None
        or request.voter is not None
        or request.strength is not None
        or request.kind != "person"
        or request.winner not in names
        or turn.state.settings.window_seconds is not None
    ):
        return None
    return Answered(request.winner, 1.0 if request.winner == names[0] else -1.0, seconds=request.seconds)


def weigh(state: ModelState, event: Event, said: Answered, voter: str | None) -> None:
    """Give an answer that is learnt the weight it is learnt with, where the model weighs voters."""
    said.weight = None
    if said.value is not None and state.settings.believe is not None:
        said.weight = state.learner.weigh(state.round_of(event), event.choice, event.source(voter, said))


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


def _agreement(turn: Turn, original: str, voter: str | None, winner: str) -> tuple[bool | None, bool]:
    """(the same answer as the first time?, was that another person's?); None when one of the two says nothing."""
    event = turn.event(original)
    if event is None or winner == "skip":
        return None, False
    own = event.answers.get(voter or "")
    others = [said for _, said in event.answers.values() if said.value is not None and said.winner in event.shown]
    if own is not None:
        return own[1].winner == winner, False
    return (others[0].winner == winner, True) if others else (None, False)


def _late(turn: Turn, event: Event) -> bool:
    window = turn.state.settings.window_seconds
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
