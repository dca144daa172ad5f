"""The next question for a person: their open one, a repeat, or one drawn from the pool; leased to them for a while."""

import random
from collections import Counter
from typing import Any

import msgspec
from sqlalchemy import delete, insert, select

from conquer.answers import leftmost
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict
from conquer.service.model.learner_protocol import May
from conquer.service.model.pick_learner import open_pair
from conquer.service.model.reading import decode_items
from conquer.service.model.records import Event
from conquer.service.model.schemas import ChooseReply, Group, Item
from conquer.service.store import log
from conquer.service.store.schema import leases
from conquer.service.work.boards import BoardReply
from conquer.service.work.decisions import NewRound, begin, check_cost, reply
from conquer.service.work.pair_coverage import PairCoverage, coverage_of
from conquer.service.work.pool import groups_of
from conquer.tickets import stream, ticket
from conquer.types import Query

_OTHERS = "everything is being answered by others"
_PAUSED = "paused: no new questions for now; your answers count"
_FRESH = 8
"""Rows at the end of the log that are not repeated: a question of a moment ago measures memory."""
_TRIES = 6
_json = msgspec.json.Encoder().encode
_subjects = msgspec.json.Decoder(list[str]).decode


class Question(msgspec.Struct):
    """What a page shows: the event with its items in full, and the voter's number of answers."""

    event: ChooseReply | None
    items: list[Item]
    context: Any
    answered: int
    reason: str | None = None
    """Without an event: why there is none now."""
    done: bool | msgspec.UnsetType = msgspec.UNSET
    """Without an event: whether nothing is left to ask this person, unless items are added."""
    paused: bool | msgspec.UnsetType = msgspec.UNSET
    """Without an event: the model is paused."""
    board: BoardReply | msgspec.UnsetType | None = msgspec.UNSET
    """At the end: the board, where the model has one."""
    parse: Any = None
    """For a parse question: the sentence, its tree, the word and the two heads."""


def next_question(turn: Turn, voter: str, seconds: float, shared: bool = False) -> Question | None:
    """The voter's open question, else a new one: if possible one about nothing that others are being asked about.

    `seconds`: length of the lease. `shared`: others may be answering the same question. None where `coverage_of` is.
    """
    open_event, answered = _held(turn, voter), turn.state.tally.answers_of(voter)
    if open_event is not None:
        return _question(turn, open_event, answered)
    if turn.header.paused:
        return Question(None, [], None, answered, _PAUSED, paused=True)
    pool = groups_of(turn)
    if not pool:
        raise conflict("no_items", f"model {turn.state.name!r} has no items: upload some first")
    others = _held_by_others(turn, voter)
    may = coverage = None
    if turn.state.learner.pairwise:
        coverage = coverage_of(turn)
        if coverage is None:
            return None
        may = coverage.may_ask(voter, Counter(map(frozenset, others)))
    busy = set() if shared else {item for items in others for item in items}
    # Leases of people who do not answer keep no one else from answering.
    for taken in (busy, set[str]()) if busy else (busy,):
        event = _repeat(turn, voter, taken)
        if event is None and not (coverage is not None and coverage.over & {voter, None}):
            event = _drawn(turn, pool, taken, voter, may)
        if event is not None:
            break
    if event is None:
        waits = bool(coverage is not None and coverage.quota is not None and others)
        reason, done = _ended(turn, pool, waits, coverage, voter)
        return Question(None, [], None, answered, reason, done or msgspec.UNSET)
    _lease(turn, event, voter, seconds)
    return _question(turn, event, answered)


def _question(turn: Turn, event: Event, answered: int) -> Question:
    by_id = {item.id: item for item in decode_items(bytes(event.chosen.items))}
    # The context of a question about a part of an item is not shown.
    context = msgspec.json.decode(bytes(event.chosen.context)) if event.about is None else None
    view = turn.state.learner.view(turn.state.round_of(event), event)
    shown = [by_id[one] for one in event.subjects]
    return Question(reply(event), shown, context, answered, parse=view)


# New questions.


def _drawn(turn: Turn, pool: list[Group], busy: set[str], voter: str, may: May | None) -> Event | None:
    """Rounds drawn from the pool until one has a question; rounds without one are logged like any other."""
    state = turn.state
    for number in range(state.learner.draws):
        if number and turn.is_over:
            return None
        rng = random.Random(ticket(stream("pool", state.settings.seed), state.tally.ordinal))
        drawn = state.learner.draw(rng, pool, busy, state.tally.asked, may)
        if drawn is None:
            return None
        (event,) = begin(turn, [_narrowed(turn, drawn, voter, may)])
        if isinstance(event, RefusalError):
            raise event
        if event.choice.query is not Query.NONE:
            return event
    return None


def _narrowed(turn: Turn, drawn: Group, voter: str, may: May | None) -> NewRound:
    """The drawn items, as few of them as it takes for the learner to show a pair that `may` be asked about.

    Choosing is pure, so what the learner would show is asked again of fewer items: those that may be compared with its
    first, then any two that may.
    """
    learner, items, context = turn.state.learner, list(drawn.items), _json(drawn.context)
    while True:
        raw = _json(items)
        read = learner.read(raw, context, turn.limits.cells)
        check_cost(learner, read, turn.limits.operations)
        found = NewRound(raw, context, voter=voter, read=read)
        if may is None or len(items) == 2:
            return found
        (chosen,) = learner.choose_many([read], turn.state.tickets(1))
        if isinstance(chosen, RefusalError):
            raise chosen
        shown = learner.names(read, chosen[0])
        if len(shown) != 2 or may(*shown):
            return found
        beside = [one for one in items if one.id == shown[0] or may(shown[0], one.id)]
        items = beside if len(beside) >= 2 else open_pair(items, may) or items[:2]


def _ended(turn: Turn, pool: list[Group], waits: bool, coverage: PairCoverage | None, voter: str) -> tuple[str, bool]:
    """Why there is no question now, and whether there will be none. `waits`: others are being asked."""

    def is_over(whom: str | None) -> bool:
        """Whether no pair is left for this person, or (None) for anyone; looks through all pairs once."""
        if coverage is not None and not coverage.over & {whom, None}:
            may = coverage.may_ask(whom)
            if turn.state.learner.draw(random.Random(0), pool, set(), {}, may) is None:
                coverage.over.add(whom)
        return coverage is not None and bool(coverage.over & {whom, None})

    if not is_over(voter):
        return (_OTHERS if waits else turn.state.learner.exhausted), False
    quota = turn.state.settings.quota
    if quota is not None and is_over(None):
        return f"every pair has its {quota} answers" if quota > 1 else "every pair has its answer", True
    return "you have answered about every pair", True


# Repeats: earlier questions asked again, to the same person or another. They measure agreement and are never learnt.


def _repeat(turn: Turn, voter: str, taken: set[str]) -> Event | None:
    """An earlier question about nothing in `taken`, with sides tossed anew, at the model's `planted` rate."""
    state = turn.state
    rng = random.Random(ticket(stream("planted", state.settings.seed), state.tally.ordinal))
    last = state.position - _FRESH
    if rng.random() >= state.settings.planted or last <= turn.base:
        return None
    for _ in range(_TRIES):
        found = log.answer_from(turn.connection, state.id, rng.randint(turn.base + 1, last))
        event = None if found is None else turn.event(found[0])
        if found is None or event is None or event.chosen.planted is not None or event.choice.query is not Query.DUEL:
            continue
        _, said = event.answers.get(found[1], (0, None))
        is_learnt = said is not None and said.value is not None and said.winner in event.shown
        if is_learnt and taken.isdisjoint(event.subjects):
            # The same items, pair and context under a new ordinal, whose ticket tosses for the sides.
            (number,) = state.tickets(1)
            left, ordinal = event.shown[leftmost(number, len(event.shown))], state.tally.ordinal
            again = {"ordinal": ordinal, "ticket": number, "left": left, "planted": event.id}
            chosen = msgspec.structs.replace(event.chosen, **again)
            return turn.open(chosen, None, voter, state.round_of(event))
    return None


# Leases: a question belongs to one person for a while, so that no two are asked the same while there are others.


def _held(turn: Turn, voter: str) -> Event | None:
    """The voter's open question."""
    own = (leases.c.model_id == turn.state.id) & (leases.c.voter == voter)
    found = turn.connection.execute(select(leases.c.event_id).where(own)).scalar()
    event = turn.event(found) if found is not None else None
    return event if event is not None and voter not in event.answers else None


def _held_by_others(turn: Turn, voter: str) -> list[list[str]]:
    """What each of the others is being asked about; expired leases are deleted."""
    turn.connection.execute(delete(leases).where(leases.c.model_id == turn.state.id, leases.c.until < turn.now))
    others = (leases.c.model_id == turn.state.id) & (leases.c.voter != voter)
    return [_subjects(text) for text in turn.connection.execute(select(leases.c.subjects).where(others)).scalars()]


def _lease(turn: Turn, event: Event, voter: str, seconds: float) -> None:
    """Lease the event to the voter, in place of any other lease of theirs."""
    turn.connection.execute(delete(leases).where(leases.c.model_id == turn.state.id, leases.c.voter == voter))
    row = {"model_id": turn.state.id, "voter": voter, "event_id": event.id, "until": turn.now + seconds}
    turn.connection.execute(insert(leases).values(**row, subjects=_json(event.subjects).decode()))
