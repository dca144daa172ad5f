"""What a row from outside may say: the types of a ledger's rows, each value bounded as a request's is."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from conquer.service.http.schemas import EventId, Identifier

Whole = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Real = Annotated[float, Meta(ge=-1e100, le=1e100)]
Plain = Annotated[str, Meta(max_length=200)] | Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)] | Real | bool | None


class ForeignMemo(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of `conquer.types.Memo`."""

    chance: Annotated[float, Meta(ge=0, le=1)] | None = None
    greedy: Whole | None = None
    explored: bool = False
    outside: bool = False
    ties: bool = True
    word: Whole | None = None
    heads: Annotated[list[Whole], Meta(max_length=2)] = []
    sentence: Annotated[str, Meta(max_length=200)] = ""
    layer: Whole | None = None
    weight: Real | None = None
    notes: Annotated[dict[str, Plain | Annotated[list[Plain], Meta(max_length=1000)]], Meta(max_length=16)] = {}
    p: Real | None = None
    explore: bool = False


class ForeignDecision(msgspec.Struct):
    """A `choose` row: a ticket is 64 bits; JSON has no more digits than that to spare."""

    ticket: int
    query: Literal[0, 1, 2]
    shown: Annotated[list[Whole], Meta(min_length=1, max_length=1000)]
    scores: Annotated[list[float], Meta(max_length=1000)]
    memo: ForeignMemo = msgspec.field(default_factory=ForeignMemo)
    planted: EventId | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.ticket < 1 << 64:
            raise ValueError(f"a ticket must be in [0, 2**64), got {self.ticket!r:.80}")


class ForeignAnswer(msgspec.Struct):
    """An `answer` row. A reason that nobody gives would be counted for ever."""

    winner: Annotated[str, Meta(min_length=1, max_length=200)]
    value: Annotated[float, Meta(ge=-1, le=999)] | None = None
    reason: Literal["skip", "both_bad", "tie", "planted", "late"] | None = None
    strength: Annotated[float, Meta(gt=0, le=1)] | None = None
    seconds: Annotated[float, Meta(ge=0, le=86400)] | None = None
    kind: Literal["person", "judge"] = "person"


class ForeignVote(msgspec.Struct):
    """A `vote` row: two names, and who of them won, unless it was a tie."""

    names: Annotated[list[Identifier], Meta(min_length=2, max_length=2)]
    winner: Annotated[str, Meta(min_length=1, max_length=200)]
    value: Annotated[float, Meta(ge=-1, le=1)] | None = None
    left: Identifier | None = None
    kind: Literal["person", "judge"] = "person"

    def __post_init__(self) -> None:
        if self.names[0] == self.names[1] or self.winner not in (*self.names, "tie"):
            raise ValueError(f"a vote is between two items, got {self.names!r:.200} and the winner {self.winner!r:.80}")
        if self.left is not None and self.left not in self.names:
            raise ValueError(f"the left item is one of the two, got {self.left!r:.80}")
        if self.value is not None:
            won = "tie" if self.value == 0 else self.names[self.value < 0]
            if self.winner != won:
                raise ValueError(f"the value {self.value} says that the winner is {won!r:.80}, got {self.winner!r:.80}")


class ForeignExpiry(msgspec.Struct):
    """An `expiry` row: the default answer that was learnt, if any."""

    value: Annotated[float, Meta(ge=-1, le=1)] | None = None
