"""Who is being asked about what: a question belongs to one person for a while, so that no two get the same."""

from collections import Counter

from sqlalchemy import delete, insert, select

from conquer.service.log.event import Event
from conquer.service.log.transaction import Turn
from conquer.service.store.schema import leases

_SHARED = "\x1f"
"""Between an item and the voter, where another holds the item too."""


def held(turn: Turn, voter: str) -> Event | None:
    """Where this voter stopped: the question they have not answered yet."""
    found = turn.connection.execute(
        select(leases.c.event_id).where(leases.c.model_id == turn.folded.id, leases.c.voter == voter).limit(1)
    ).scalar()
    event = turn.event(found) if found is not None else None
    return event if event is not None and voter not in event.answers else None


def taken(turn: Turn, voter: str) -> set[str]:
    """What others are being asked about; leases that have run out go."""
    turn.connection.execute(delete(leases).where(leases.c.model_id == turn.folded.id, leases.c.until < turn.now))
    found = turn.connection.execute(
        select(leases.c.subject).where(leases.c.model_id == turn.folded.id, leases.c.voter != voter)
    )
    return {row.subject for row in found}


def pairs_held(turn: Turn, voter: str) -> Counter[frozenset[str]]:
    """How many others are being asked about each pair."""
    found = turn.connection.execute(
        select(leases.c.event_id, leases.c.subject).where(
            leases.c.model_id == turn.folded.id, leases.c.voter != voter, leases.c.until >= turn.now
        )
    )
    events: dict[str, set[str]] = {}
    for row in found:
        events.setdefault(row.event_id, set()).add(row.subject.partition(_SHARED)[0])
    return Counter(frozenset(items) for items in events.values())


def lease(turn: Turn, event: Event, voter: str, seconds: float) -> None:
    """The event is this voter's for so long, and any other they held is not."""
    turn.connection.execute(delete(leases).where(leases.c.model_id == turn.folded.id, leases.c.voter == voter))
    # Shared questions are held by several: the voter is part of such a lease's subject.
    others = taken(turn, voter)
    rows = [
        {
            "model_id": turn.folded.id,
            "subject": item if item not in others else f"{item}{_SHARED}{voter}",
            "voter": voter,
            "event_id": event.id,
            "until": turn.now + seconds,
        }
        for item in event.subjects
    ]
    turn.connection.execute(insert(leases), rows)


def release(turn: Turn, event_id: str) -> None:
    """Nobody holds this event any more."""
    turn.delete(delete(leases).where(leases.c.model_id == turn.folded.id, leases.c.event_id == event_id))
