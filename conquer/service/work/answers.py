"""Answers and undos: checked against their events, learnt, logged."""

from collections.abc import Sequence
from typing import NamedTuple

from conquer.answers import AnswerError, read_answer
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.event import Event
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.reading import decode_items
from conquer.service.model.records import Answered, Corrected
from conquer.service.model.schemas import ANSWER_WORDS, AnswerReply, AnswerRequest, BatchAnswer
from conquer.service.model.state import COMPARED, Lesson, ModelState
from conquer.service.work.choices import TOGETHER
from conquer.types import Query

Result = AnswerReply | RefusalError | None
"""A reply or a refusal; None: the request must wait for another turn."""


class Heard(NamedTuple):
    """A new answer: its event, what it says, and whose it is."""

    event: Event
    said: Answered
    voter: str | None


def answer_many(turn: Turn, requests: Sequence[BatchAnswer]) -> list[Result]:
    """Learn each answer, once per event and voter, or say why not. Answers without a weight are learnt together."""
    turn.look_up([request.event_id for request in requests])
    results: dict[int, Result] = {}
    run = _Run(turn, results)
    for place, request in enumerate(requests):
        if run.is_full or request.event_id in run.events:
            run.learn()
        if turn.is_spent(request.event_id):
            results[place] = None
            continue
        try:
            heard = _hear(turn, request.event_id, request)
            if isinstance(heard, AnswerReply):
                results[place] = heard
                continue
            if heard.said.value is not None and heard.voter is not None and turn.state.settings.believe is not None:
                # Its weight depends on all answers before it.
                run.learn()
            weigh(turn.state, *heard)
        except RefusalError as refusal:
            results[place] = refusal
        else:
            run.add(place, heard)
    run.learn()
    return [results[place] for place in range(len(requests))]


class _Run:
    """Answers that are learnt in one call: to different events, up to a position that servers compare."""

    def __init__(self, turn: Turn, results: dict[int, Result]) -> None:
        self._turn, self._results = turn, results
        self._heard: dict[int, Heard] = {}
        self.events: set[str] = set()
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._bytes > TOGETHER or len(self._heard) >= COMPARED - self._turn.state.position % COMPARED

    def add(self, place: int, heard: Heard) -> None:
        self._heard[place] = heard
        self.events.add(heard.event.id)
        self._bytes += heard.event.own

    def learn(self) -> None:
        turn, heard = self._turn, self._heard
        self._heard, self.events, self._bytes = {}, set(), 0
        taught = {place: one for place, one in heard.items() if one.said.value is not None}
        lessons = [Lesson(one.event, one.said.value or 0.0, one.voter, one.said) for one in taught.values()]
        failed = dict(zip(taught, turn.state.learn(lessons), strict=True)) if lessons else {}
        for place, (event, said, voter) in heard.items():
            error = failed.get(place)
            if error is not None:
                refusal = turn.state.refusal(error)
                if refusal.tainted:
                    raise refusal
                self._results[place] = refusal
            else:
                turn.append(said, event.id, voter, learnt=True)
                reply = AnswerReply("ignored" if said.value is None else "learnt", event.id, said.reason)
                self._results[place] = reply


def _hear(turn: Turn, event_id: str, request: AnswerRequest) -> Heard | AnswerReply:
    """Check an answer against its event: what it says, or the reply to a repeated one. Changes nothing."""
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
    elif _is_late(turn, event):
        said.value, said.reason = None, "late"
    return Heard(event, said, voter)


def weigh(state: ModelState, event: Event, said: Answered, voter: str | None) -> None:
    """Give an answer that is learnt its weight, where the model weighs voters."""
    said.weight = None
    if said.value is not None and state.settings.believe is not None:
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


def _is_late(turn: Turn, event: Event) -> bool:
    window = turn.state.settings.window_seconds
    return event.expired or (window is not None and turn.now - event.at > window)


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
