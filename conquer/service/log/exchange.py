"""Logs out and in: JSON lines, preference pairs, and ledgers that train a fresh model on old answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.service.commands.answering import weigh
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.http.decoding import decoded
from conquer.service.http.schemas import EventId, Identifier, ModelSettings, Raw
from conquer.service.log.contents import content_of, items_in, prompt_of, shown_with
from conquer.service.log.event import Event
from conquer.service.log.fold import Folded
from conquer.service.log.foreign import ForeignAnswer, ForeignDecision, ForeignExpiry, ForeignVote
from conquer.service.log.records import ABSENT, NAMES, Answered, Corrected, Decision, Entry, Expired, Voted
from conquer.service.log.statistics import Tally
from conquer.service.log.tallies import read_tally
from conquer.service.log.transaction import Turn
from conquer.service.settings import Limits
from conquer.service.store.log_table import Header
from conquer.types import Query

_json = msgspec.json.Encoder().encode
_BATCH = 500


class Line(msgspec.Struct, omit_defaults=True):
    """A row of a ledger: a log row, or the opening line that says how the model was made."""

    kind: Annotated[str, Meta(max_length=64)]
    position: Annotated[int, Meta(ge=0, le=1 << 62)] = 0
    at: float = 0.0
    event_id: EventId | None = None
    voter: Identifier | None = None
    body: Raw = ABSENT


_line = msgspec.json.Decoder(Line).decode


def opening(header: Header) -> bytes:
    return _json(Line("open", body=Raw(_json({"name": header.name, "settings": header.settings})))) + b"\n"


def line(entry: Entry) -> bytes:
    body = Raw(_json(entry.body))
    return _json(Line(entry.kind, entry.position, entry.at, entry.event, entry.voter, body)) + b"\n"


def preference(entry: Entry, event: Event, board: Mapping[str, float] = MappingProxyType({})) -> bytes | None:
    """An answer as a prompt/chosen/rejected record, or None where no item won against one other.

    Texts stand for items that have them, with their labels, meta and images beside them where there are any. `margin`:
    by how much the chosen one led when the question was made; `board`: the model's scores of now, by id.
    """
    said: Answered = entry.body.said if isinstance(entry.body, Voted) else entry.body
    if said.value is None or said.value == 0 or len(event.shown) != 2 or event.about is not None:
        return None
    items = items_in(event.chosen.items)
    first, second = (content_of(items[one]) for one in event.shown)
    chosen, rejected = (first, second) if said.value > 0 else (second, first)
    won, lost = event.shown[said.value < 0], event.shown[said.value > 0]
    scores = [event.chosen.scores[k] for k in event.chosen.shown] if event.chosen.scores else []
    record = {
        "prompt": prompt_of(event.chosen.context),
        "chosen": chosen,
        "rejected": rejected,
        "strength": abs(said.value),
        "event_id": event.id,
        "voter": entry.voter,
        "at": entry.at,
        "kind": said.kind,
        "weight": said.weight,
        "chosen_id": won,
        "rejected_id": lost,
        "margin": (scores[0] - scores[1]) * (1 if said.value > 0 else -1) if scores else None,
        "chosen_score": board.get(won),
        "rejected_score": board.get(lost),
    }
    return _json(record | shown_with(items, [("chosen", won), ("rejected", lost)])) + b"\n"


class Replayed(msgspec.Struct):
    """What a ledger brought: rounds taken in, answers learnt, and rows passed over by kind."""

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


def feed(lines: Iterable[Line], run: Callable[[Callable[[Turn], Any]], Any]) -> Replayed:
    """Append a ledger's rounds and answers to a fresh model, in order, some hundred rows a transaction.

    What was shown stays as it was; what is learnt from the answers is the new model's own affair. All rows are taken by
    a copy of the model first, so that a ledger is refused before any row of it is written.
    """
    rows = list(lines)
    undone = Undone.of(rows)
    rehearsal = run(Rehearsal)
    for row in rows:
        _rehearse(rehearsal, row, undone)
    done = Replayed()
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]

        def work(turn: Turn, part: list[Line] = part, first: bool = start == 0) -> None:
            if first:
                _check_fresh(turn.folded)
            for row in part:
                _take(turn, row, undone, done)

        run(work)
    return done


@dataclass(frozen=True, slots=True)
class Undone:
    """Positions of a ledger's rows that were taken back, and events that later answers speak of all the same."""

    positions: frozenset[int]
    answered: frozenset[str | None]

    @classmethod
    def of(cls, rows: list[Line]) -> "Undone":
        gone = frozenset(_body(row, Corrected).undone for row in rows if row.kind == "correction")
        said = frozenset(row.event_id for row in rows if row.kind == "answer" and row.position not in gone)
        return cls(gone, said)


class Rehearsal:
    """A turn on a copy of a fresh model, in memory alone: rows are applied and written nowhere."""

    def __init__(self, turn: Turn) -> None:
        folded = turn.folded
        _check_fresh(folded)
        learner, text = turn.build(folded.settings, folded.dumps())
        tally = read_tally(text) if text else Tally()
        self.folded = Folded(folded.id, folded.name, folded.settings, learner, folded.position, tally)

    def event(self, event_id: str) -> Event | None:
        return self.folded.events.get(event_id)

    def append(
        self, body: msgspec.Struct, event: str | None, voter: str | None = None, read: Any = None
    ) -> Event | None:
        found = self.folded.apply(Entry(self.folded.position + 1, 0.0, event, voter, body), read)
        if found is not None:
            # All of a ledger's events stay, so what was read of their items does not.
            found.hold(None)
        return found

    def open(self, chosen: Decision, event_id: str | None, voter: str | None, read: Any) -> Event:
        event = self.append(chosen, event_id, voter, read)
        if event is None:
            raise RuntimeError("a decision is the first row of an event")
        return event

    def refold(self, first: int) -> None:
        """Nothing that was taken back has been learnt here."""


def _rehearse(rehearsal: Rehearsal, row: Line, undone: Undone) -> None:
    try:
        _take(rehearsal, row, undone, Replayed())
    except RefusalError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        # A learner trusts its own memo; what comes from outside may say anything.
        raise invalid(f"row {row.position} cannot be learnt: {type(error).__name__}: {error!s:.200}") from None


def _check_fresh(folded: Folded) -> None:
    tally = folded.tally
    if tally.ordinal or tally.votes or tally.undone:
        what = "rounds" if tally.ordinal else "votes"
        raise conflict("not_fresh", f"model {folded.name!r} already has {what}; replay into a new one")


def _body(row: Line, kind: type[Any]) -> Any:
    return decoded(msgspec.json.Decoder(kind).decode, bytes(row.body), f"row {row.position}, a {row.kind!r},")


def _take(turn: Turn | Rehearsal, row: Line, undone: Undone, done: Replayed) -> None:
    taken_back = row.position in undone.positions
    if row.kind == "choose":
        _choose(turn, row)
        done.rounds += 1
    elif row.kind in ("answer", "expiry") and not taken_back:
        if _answer(turn, row):
            done.learnt += 1
    elif row.kind == "vote" and not (taken_back and row.event_id not in undone.answered):
        if _vote(turn, row, taken_back):
            done.learnt += 1
    elif row.kind not in NAMES.values() and row.kind != "open":
        raise invalid(f"row {row.position} has the unknown kind {row.kind!r}")
    else:
        done.skip(row.kind)


def _choose(turn: Turn | Rehearsal, row: Line) -> None:
    chosen: Decision = _body(row, Decision)
    _body(row, ForeignDecision)
    if row.event_id is None or turn.event(row.event_id) is not None:
        raise invalid(f"row {row.position} needs an event id of its own, got {row.event_id!r}")
    learner = turn.folded.learner
    read = learner.read(bytes(chosen.items), bytes(chosen.context), Limits().cells)
    try:
        names = learner.check(read, chosen.choice)
    except (ValueError, TypeError) as error:
        raise invalid(f"row {row.position}: {error}") from None
    if names != chosen.names or chosen.left not in names:
        raise invalid(f"row {row.position} shows items it does not have")
    if ("word" in chosen.memo) != ("sentence" in chosen.memo):
        raise invalid(f"row {row.position} must remember a word with its sentence")
    chosen.ordinal = turn.folded.tally.ordinal
    turn.open(chosen, row.event_id, row.voter, read)


def _answer(turn: Turn | Rehearsal, row: Line) -> bool:
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
        weigh(turn.folded, event, said, row.voter)
    turn.append(said, row.event_id, row.voter)
    return said.value is not None


def _vote(turn: Turn | Rehearsal, row: Line, taken_back: bool) -> bool:
    """Take a vote; of one that was taken back only the question stays, for the answers that others gave to it."""
    vote: Voted = _body(row, Voted)
    _body(row, ForeignVote)
    if row.event_id is None or turn.event(row.event_id) is not None:
        raise invalid(f"row {row.position} needs an event id of its own, got {row.event_id!r}")
    if vote.kind == "judge" and row.voter is None:
        raise invalid(f"row {row.position}: a judge needs a name")
    read = turn.folded.learner.read(bytes(vote.items), bytes(vote.context), Limits().cells)
    event = Event.of(Entry(0, 0.0, row.event_id, row.voter, vote))
    try:
        if turn.folded.learner.check(read, event.choice) != vote.names:
            raise ValueError("it names items it does not have")
    except (ValueError, TypeError) as error:
        raise invalid(f"row {row.position}: {error}") from None
    if taken_back:
        vote.value = None
    event.round, said = read, vote.said
    weigh(turn.folded, event, said, row.voter)
    vote.weight = said.weight
    begun = turn.append(vote, row.event_id, row.voter, read)
    if taken_back and begun is not None:
        turn.append(Corrected(begun.position), row.event_id, row.voter)
        turn.refold(begun.position)
    return vote.value is not None
