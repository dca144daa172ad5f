"""Ledgers: rows of another model's log, checked like requests, that train a fresh model on old answers."""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.decoding import decoded
from conquer.service.model.event import Event
from conquer.service.model.records import NAMES, Answered, Corrected, Decision, Entry, Expired, Voted
from conquer.service.model.schemas import EventId, Identifier, ModelSettings
from conquer.service.model.state import ModelState
from conquer.service.model.stored_tally import read_tally
from conquer.service.model.tally import Tally
from conquer.service.work.answering import weigh
from conquer.service.work.exports import Line
from conquer.types import Query

_BATCH = 250
"""Rows written in one turn, and rows tried out in one slice."""
_line = msgspec.json.Decoder(Line).decode

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
    """A `choose` row. A ticket has 64 bits, which `Meta` cannot bound."""

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
    """An `answer` row."""

    winner: Annotated[str, Meta(min_length=1, max_length=200)]
    value: Annotated[float, Meta(ge=-1, le=999)] | None = None
    reason: Literal["skip", "both_bad", "tie", "planted", "late"] | None = None
    strength: Annotated[float, Meta(gt=0, le=1)] | None = None
    seconds: Annotated[float, Meta(ge=0, le=86400)] | None = None
    kind: Literal["person", "judge"] = "person"


class ForeignVote(msgspec.Struct):
    """A `vote` row: two names and the winner, or a tie."""

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
                raise ValueError(f"the value {self.value} needs the winner {won!r:.80}, got {self.winner!r:.80}")


class ForeignExpiry(msgspec.Struct):
    """An `expiry` row: the default answer learnt, if any."""

    value: Annotated[float, Meta(ge=-1, le=1)] | None = None


class Replayed(msgspec.Struct):
    """Rounds taken in, answers learnt, and rows skipped by kind."""

    rounds: int = 0
    learnt: int = 0
    passed_over: dict[str, int] = {}

    def skip(self, kind: str) -> None:
        self.passed_over[kind] = self.passed_over.get(kind, 0) + 1


def read_ledger(lines: Iterable[bytes | str]) -> Iterator[Line]:
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        yield decoded(_line, text if isinstance(text, bytes) else text.encode(), f"line {number}")


def opening_settings(lines: list[Line]) -> ModelSettings:
    """The settings in a ledger's first line."""

    class Opening(msgspec.Struct):
        settings: ModelSettings

    if not lines or lines[0].kind != "open":
        raise invalid("a ledger begins with its 'open' line, got " + (repr(lines[0].kind) if lines else "nothing"))
    found: ModelSettings = _body(lines[0], Opening).settings
    return found


def feed(lines: Iterable[Line], run: Callable[[Callable[[Turn], Any]], Any]) -> Generator[None, None, Replayed]:
    """Append a ledger's rounds and answers to a fresh model, in order; `run` runs work in one turn on it.

    Rounds stay as they were; their answers are learnt by the new model. All rows are first tried on a copy of the
    model, so a ledger is refused before any row of it is written.
    """
    rows = []
    for row in lines:
        rows.append(row)
        if len(rows) % _BATCH == 0:
            yield
    undone = Undone.of(rows)
    trial = run(LedgerTrial)
    for number, row in enumerate(rows, 1):
        _try(trial, row, undone)
        if number % _BATCH == 0:
            yield
    done = Replayed()
    for start in range(0, len(rows), _BATCH):
        yield

        def work(turn: Turn, part: list[Line] = rows[start : start + _BATCH], first: bool = start == 0) -> None:
            if first:
                _check_fresh(turn.state)
            for row in part:
                _take(turn, row, undone, done)

        run(work)
    return done


@dataclass(frozen=True, slots=True)
class Undone:
    """Positions of a ledger's undone rows, and the events with answers that were not undone."""

    positions: frozenset[int]
    answered: frozenset[str | None]

    @classmethod
    def of(cls, rows: list[Line]) -> "Undone":
        gone = frozenset(_body(row, Corrected).undone for row in rows if row.kind == "correction")
        said = frozenset(row.event_id for row in rows if row.kind == "answer" and row.position not in gone)
        return cls(gone, said)


class LedgerTrial:
    """A turn on a copy of a fresh model, in memory: rows are applied and not written."""

    def __init__(self, turn: Turn) -> None:
        state, self.limits = turn.state, turn.limits
        _check_fresh(state)
        learner, text = turn.build(state.settings, state.dumps())
        tally = read_tally(text) if text else Tally()
        self.state = ModelState(state.id, state.name, state.settings, learner, state.position, tally)

    def event(self, event_id: str) -> Event | None:
        return self.state.events.get(event_id)

    def append(
        self, body: msgspec.Struct, event: str | None, voter: str | None = None, read: Any = None
    ) -> Event | None:
        found = self.state.apply(Entry(self.state.position + 1, 0.0, event, voter, body), read)
        if found is not None:
            # All of a ledger's events stay in memory; what was read of their items does not.
            found.hold(None)
        return found

    def open(self, chosen: Decision, event_id: str | None, voter: str | None, read: Any) -> Event:
        event = self.append(chosen, event_id, voter, read)
        if event is None:
            raise RuntimeError("a decision is the first row of an event")
        return event

    def refold(self, first: int) -> None:
        """Undone answers have not been learnt here."""


def _try(trial: LedgerTrial, row: Line, undone: Undone) -> None:
    try:
        _take(trial, row, undone, Replayed())
    except RefusalError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        # A learner trusts its own memo; a ledger's may say anything.
        raise invalid(f"row {row.position} cannot be learnt: {type(error).__name__}: {error!s:.200}") from None


def _check_fresh(state: ModelState) -> None:
    tally = state.tally
    if tally.ordinal or tally.votes or tally.undone:
        what = "rounds" if tally.ordinal else "votes"
        raise conflict("not_fresh", f"model {state.name!r} already has {what}; replay into a new one")


def _body(row: Line, kind: type[Any]) -> Any:
    return decoded(msgspec.json.Decoder(kind).decode, bytes(row.body), f"row {row.position}, a {row.kind!r},")


def _take(turn: Turn | LedgerTrial, row: Line, undone: Undone, done: Replayed) -> None:
    was_undone = row.position in undone.positions
    if row.kind == "choose":
        _choose(turn, row)
        done.rounds += 1
    elif row.kind in ("answer", "expiry") and not was_undone:
        if _answer(turn, row):
            done.learnt += 1
    elif row.kind == "vote" and not (was_undone and row.event_id not in undone.answered):
        if _vote(turn, row, was_undone):
            done.learnt += 1
    elif row.kind not in NAMES.values() and row.kind != "open":
        raise invalid(f"row {row.position} has the unknown kind {row.kind!r}")
    else:
        done.skip(row.kind)


def _choose(turn: Turn | LedgerTrial, row: Line) -> None:
    chosen: Decision = _body(row, Decision)
    _body(row, ForeignDecision)
    if row.event_id is None or turn.event(row.event_id) is not None:
        raise invalid(f"row {row.position} needs an event id of its own, got {row.event_id!r}")
    learner = turn.state.learner
    read = learner.read(bytes(chosen.items), bytes(chosen.context), turn.limits.cells)
    try:
        names = learner.check(read, chosen.choice)
    except (ValueError, TypeError) as error:
        raise invalid(f"row {row.position}: {error}") from None
    if names != chosen.names or chosen.left not in names:
        raise invalid(f"row {row.position} shows items it does not have")
    if ("word" in chosen.memo) != ("sentence" in chosen.memo):
        raise invalid(f"row {row.position} must remember a word with its sentence")
    chosen.ordinal = turn.state.tally.ordinal
    turn.open(chosen, row.event_id, row.voter, read)


def _answer(turn: Turn | LedgerTrial, row: Line) -> bool:
    expiry = row.kind == "expiry"
    said = _body(row, Expired if expiry else Answered)
    _body(row, ForeignExpiry if expiry else ForeignAnswer)
    event = turn.event(row.event_id) if row.event_id is not None else None
    if event is None:
        raise invalid(f"row {row.position} answers {row.event_id!r}, which the ledger has not asked")
    if said.value is not None and event.choice.query is Query.NONE:
        raise invalid(f"row {row.position}: {said.value} is no answer to event {row.event_id!r}")
    if isinstance(said, Expired):
        said.chosen_at = event.position
    else:
        weigh(turn.state, event, said, row.voter)
    turn.append(said, row.event_id, row.voter)
    return said.value is not None


def _vote(turn: Turn | LedgerTrial, row: Line, was_undone: bool) -> bool:
    """Take a vote; of an undone one only the question stays, for the answers of others to it."""
    vote: Voted = _body(row, Voted)
    _body(row, ForeignVote)
    if row.event_id is None or turn.event(row.event_id) is not None:
        raise invalid(f"row {row.position} needs an event id of its own, got {row.event_id!r}")
    if vote.kind == "judge" and row.voter is None:
        raise invalid(f"row {row.position}: a judge needs a name")
    read = turn.state.learner.read(bytes(vote.items), bytes(vote.context), turn.limits.cells)
    event = Event.of(Entry(0, 0.0, row.event_id, row.voter, vote))
    try:
        if turn.state.learner.check(read, event.choice) != vote.names:
            raise ValueError("it names items it does not have")
    except (ValueError, TypeError) as error:
        raise invalid(f"row {row.position}: {error}") from None
    if was_undone:
        vote.value = None
    event.round, said = read, vote.said
    weigh(turn.state, event, said, row.voter)
    vote.weight = said.weight
    begun = turn.append(vote, row.event_id, row.voter, read)
    if was_undone and begun is not None:
        turn.append(Corrected(begun.position), row.event_id, row.voter)
        turn.refold(begun.position)
    return vote.value is not None
