"""One question's life, rebuilt from its own rows: chosen, perhaps activated, answered, expired, corrected."""

from dataclasses import dataclass, field, replace
from typing import Any

from conquer.service.log.records import (
    Activated,
    Answered,
    Chosen,
    Corrected,
    Entry,
    Expired,
    Exposed,
)
from conquer.types import Choice, Query


@dataclass(slots=True)
class Event:
    """`answers`: each voter's standing answer and its position; `round`: what was read of the items, while cached."""

    id: str
    position: int
    at: float
    voter: str | None
    chosen: Chosen
    choice: Choice
    active: bool
    seen: int
    answers: dict[str, tuple[int, Answered]] = field(default_factory=dict)
    expired: bool = False
    round: Any = None

    @classmethod
    def of(cls, entry: Entry) -> "Event":
        chosen: Chosen = entry.body
        return cls(
            id=str(entry.event),
            position=entry.position,
            at=entry.at,
            voter=entry.voter,
            chosen=chosen,
            choice=Choice(tuple(chosen.shown), Query(chosen.query), chosen.ticket, chosen.memo),
            active=not chosen.deferred,
            seen=entry.position,
        )

    def follow(self, entry: Entry) -> None:
        """Take in a later row of this event; a row already taken in changes nothing."""
        if entry.position <= self.seen:
            return
        self.seen = entry.position
        match entry.body:
            case Answered():
                self.answers[entry.voter or ""] = (entry.position, entry.body)
            case Corrected(undone=undone):
                self.answers = {voter: said for voter, said in self.answers.items() if said[0] != undone}
            case Activated():
                self.active = True
            case Expired():
                self.expired = True
            case Exposed(memo=memo):
                self.choice = replace(self.choice, memo=memo)
            case _:
                pass

    @property
    def size(self) -> int:
        """Bytes in memory, roughly: the items as they came, and several times as much once they are rows."""
        return 1000 + 5 * len(bytes(self.chosen.items))

    @property
    def shown(self) -> tuple[str, ...]:
        """The ids of what was shown, first choice first."""
        return self.chosen.names
