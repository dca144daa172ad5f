"""Questions asked a second time, to the same person or to another: they measure agreement and are never learnt."""

import random

import msgspec

from conquer.answers import leftmost
from conquer.service.log.event import Event
from conquer.service.log.records import Answered
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table
from conquer.tickets import stream, ticket
from conquer.types import Query

_FRESH = 8
"""The last rows are left alone: a question of a moment ago measures memory."""
_TRIES = 6


def again(turn: Turn, voter: str, taken: set[str]) -> Event | None:
    """Now and then, by the model's `planted` share, an earlier question about nothing in `taken`; sides anew."""
    folded = turn.folded
    rng = random.Random(ticket(stream("planted", folded.settings.seed), folded.tally.ordinal))
    last = folded.position - _FRESH
    if rng.random() >= folded.settings.planted or last <= turn.base:
        return None
    for _ in range(_TRIES):
        found = log_table.answer_from(turn.connection, folded.id, rng.randint(turn.base + 1, last))
        event = turn.event(found[0]) if found is not None else None
        if event is not None and found is not None and _suits(event, found[1], taken):
            return _planted(turn, event, voter)
    return None


def agreement(turn: Turn, original: str, voter: str | None, winner: str) -> tuple[bool | None, bool]:
    """(the same answer as the first time?, was that another person's?); None when one of the two says nothing."""
    event = turn.event(original)
    if event is None or winner == "skip":
        return None, False
    own = event.answers.get(voter or "")
    others = [said for _, said in event.answers.values() if _decided(event, said)]
    if own is not None:
        return own[1].winner == winner, False
    return (others[0].winner == winner, True) if others else (None, False)


def _suits(event: Event, answered_by: str, taken: set[str]) -> bool:
    said = event.answers.get(answered_by)
    return (
        event.chosen.planted is None
        and event.choice.query is Query.DUEL
        and said is not None
        and _decided(event, said[1])
        and taken.isdisjoint(event.subjects)
    )


def _decided(event: Event, said: Answered) -> bool:
    return said.value is not None and said.winner in event.shown


def _planted(turn: Turn, event: Event, voter: str) -> Event:
    """The same items, pair and context once more under an ordinal of its own, whose ticket tosses for the sides."""
    folded, shown = turn.folded, event.shown
    number = folded.ticket()
    chosen = msgspec.structs.replace(
        event.chosen,
        ordinal=folded.tally.ordinal,
        ticket=number,
        left=shown[leftmost(number, len(shown))],
        deferred=False,
        planted=event.id,
    )
    return turn.open(chosen, None, voter, folded.round_of(event))
