"""Ledgers: rows of another model's log, checked like requests, that train a fresh model on old answers."""

from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.records import NAMES, Answered, Corrected, Decision, Event, Voted
from conquer.service.model.schemas import AnswerRequest, EventId, ModelSettings, decoded
from conquer.service.model.state import ModelState
from conquer.service.model.tally import Tally, read_tally
from conquer.service.work.decisions import ANSWERS, weigh
from conquer.service.work.exports import Line
from conquer.service.work.pool import Run, parts
from conquer.service.work.votes import append_vote
from conquer.types import Query

_BATCH, _BYTES = 250, 1 << 20
"""Rows tried or written together, and their bytes."""
_REASONS = (None, "skip", "both_bad", "tie", "planted", "late")
_line = msgspec.json.Decoder(Line).decode

Whole = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Real = Annotated[float, Meta(ge=-1e100, le=1e100)]
Plain = Annotated[str, Meta(max_length=200)] | Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)] | Real | bool | None


class LedgerMemo(msgspec.Struct, forbid_unknown_fields=True):
    """What learners put into a choice's memo, with bounds: a learner trusts its own."""

    chance: Annotated[float, Meta(ge=0, le=1)] | None = None
    forecast: tuple[Annotated[float, Meta(ge=-1e90, le=1e90)], Annotated[float, Meta(ge=0, le=1e90)]] | None = None
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


class Replayed(msgspec.Struct):
    """Rounds and answers taken over, and rows passed over by kind."""

    rounds: int = 0
    learnt: int = 0
    passed_over: dict[str, int] = {}


def read_ledger(lines: Iterable[bytes]) -> Iterator[Line]:
    for number, text in enumerate(lines, 1):
        if text.strip():
            yield decoded(_line, text, f"line {number}")


def opening_settings(lines: list[Line]) -> ModelSettings:
    """The settings in a ledger's first line."""

    class Opening(msgspec.Struct):
        settings: ModelSettings

    if not lines or lines[0].kind != "open":
        raise invalid("a ledger begins with its 'open' line, got " + (repr(lines[0].kind) if lines else "nothing"))
    found: ModelSettings = _body(lines[0], Opening).settings
    return found


def feed(lines: Iterable[Line], run: Run) -> Generator[None, None, Replayed]:
    """Append a ledger's rounds and answers to a fresh model, in order; `run` runs work on it.

    Rounds stay as they were; their answers are learnt by the new model. All rows are first tried on a copy of the
    model, so a ledger is refused before any row of it is written.
    """
    rows = []
    for row in lines:
        rows.append(row)
        if len(rows) % _BATCH == 0:
            yield
    gone = frozenset(_body(row, Corrected).undone for row in rows if row.kind == "correction")
    answered = frozenset(row.event_id for row in rows if row.kind == "answer" and row.position not in gone)
    taken = [row for row in rows if _is_taken(row, row.position in gone, answered)]
    kinds = Counter(row.kind for row in taken)
    done = Replayed(kinds["choose"], passed_over=dict(Counter(row.kind for row in rows) - kinds))
    trial = run(_fresh_copy)()
    batches = list(parts(taken, lambda row: memoryview(row.body).nbytes, _BYTES, _BATCH))
    for part in batches:
        yield
        for row in part:
            try:
                _take(trial, row, row.position in gone)
            except RefusalError as refusal:
                raise RefusalError(refusal.kind, refusal.code, f"row {row.position}: {refusal.message}") from None
            except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
                # A learner trusts its memo, and a ledger's may be anything.
                message = f"row {row.position} cannot be learnt: {type(error).__name__}: {error!s:.200}"
                raise invalid(message) from None
    for part in batches:
        while part:
            yield
            taken, learnt = run(partial(_write, part=part, gone=gone, first=part is batches[0]))
            part, done.learnt = part[taken:], done.learnt + learnt
    return done


def _is_taken(row: Line, undone: bool, answered: Container[str | None]) -> bool:
    """Whether a row is taken over. Of an undone vote the question is, where others have answered it."""
    if row.kind not in NAMES.values() and row.kind != "open":
        raise invalid(f"row {row.position} has the unknown kind {row.kind!r}")
    if row.kind == "vote":
        return not undone or row.event_id in answered
    return row.kind == "choose" or (row.kind == "answer" and not undone)


def _write(turn: Turn, part: list[Line], gone: Container[int], first: bool) -> tuple[int, int]:
    """Append rows until the turn is over; returns how many, and how many answers were learnt."""
    if first:
        _check_fresh(turn.state)
    learnt = 0
    for number, row in enumerate(part):
        if number and turn.is_over:
            return number, learnt
        learnt += _take(turn, row, row.position in gone)
    return len(part), learnt


def _check_fresh(state: ModelState) -> None:
    tally = state.tally
    if tally.ordinal or tally.votes or tally.undone:
        what = "rounds" if tally.ordinal else "votes"
        raise conflict("not_fresh", f"model {state.name!r} already has {what}; replay into a new one")


class _Trial(Turn):
    """A turn on a copy of a fresh model, in memory: rows are applied and not written."""

    def append(self, *row: Any, **more: Any) -> Event | None:
        found = super().append(*row, **more)
        if found is not None:
            # All of a ledger's events stay in memory; their rows of features do not.
            found.hold(None)
        self.flush()
        return found

    def look_up(self, ids: Iterable[str]) -> None:
        """All events are in memory."""

    def flush(self) -> None:
        self._unwritten = []

    def refold(self, first: int) -> None:
        """Undone answers have not been learnt here."""


def _fresh_copy(turn: Turn) -> Callable[[], _Trial]:
    """A trial on a copy of the model; the copy is built outside the engine's thread."""
    state, header, now, build, limits = turn.state, turn.header, turn.now, turn.build, turn.limits
    _check_fresh(state)
    data, position = state.dumps(), state.position
    no_store: Any = None

    def copy() -> _Trial:
        learner, text = build(header.settings, data)
        tally = read_tally(text) if text else Tally()
        twin = ModelState(header.id, header.name, header.settings, learner, position, tally)
        return _Trial(no_store, twin, header, now, build, limits)

    return copy


def _body(row: Line, kind: type[Any]) -> Any:
    return decoded(msgspec.json.Decoder(kind).decode, bytes(row.body), f"row {row.position}, a {row.kind!r},")


def _take(turn: Turn, row: Line, undone: bool) -> bool:
    """Append a row to a model; returns whether an answer was learnt."""
    if row.kind == "answer":
        return _answer(turn, row)
    if row.event_id is None or turn.event(row.event_id) is not None:
        raise invalid(f"it needs an event id of its own, got {row.event_id!r}")
    if row.kind == "vote":
        return _vote(turn, row, row.event_id, undone)
    chosen: Decision = _body(row, Decision)
    msgspec.convert((chosen.memo, chosen.planted), tuple[LedgerMemo, EventId | None])
    learner = turn.state.learner
    read = learner.read(bytes(chosen.items), bytes(chosen.context), turn.limits.cells)
    if learner.check(read, chosen.choice) != chosen.names or chosen.left not in chosen.names:
        raise invalid("it shows items that it does not have")
    if not 0 <= chosen.ticket < 1 << 64 or len(chosen.scores) > turn.limits.items:
        raise invalid(f"expected a ticket of 64 bits and a score for each item, got {chosen.ticket!r:.80}")
    if ("word" in chosen.memo) != ("sentence" in chosen.memo):
        raise invalid("its memo must hold a word and its sentence, or neither")
    chosen.ordinal = turn.state.tally.ordinal
    turn.open(chosen, row.event_id, row.voter, read)
    return False


def _answer(turn: Turn, row: Line) -> bool:
    said: Answered = _body(row, Answered)
    event = turn.event(row.event_id) if row.event_id is not None else None
    if event is None:
        raise invalid(f"it answers {row.event_id!r}, an event that the ledger does not have")
    if event.rows >= ANSWERS:
        raise invalid(f"event {row.event_id!r} has {ANSWERS:,} answers, as many as it takes")
    if said.value is not None and (event.choice.query is Query.NONE or not -1 <= said.value <= turn.limits.items):
        raise invalid(f"{said.value} is no answer to event {row.event_id!r}")
    bounded = {name: getattr(said, name) for name in ("winner", "kind", "strength", "seconds")}
    msgspec.convert(bounded, AnswerRequest)
    if said.reason not in _REASONS:
        raise invalid(f"unknown reason {said.reason!r:.80}")
    weigh(turn.state, event, said, row.voter)
    turn.append(said, row.event_id, row.voter)
    return said.value is not None


def _vote(turn: Turn, row: Line, event_id: str, undone: bool) -> bool:
    vote: Voted = _body(row, Voted)
    names, value = vote.names, vote.value
    if value is not None and (not -1 <= value <= 1 or vote.winner != ("tie" if value == 0 else names[value < 0])):
        raise invalid(f"a vote of {value} does not have the winner {vote.winner!r:.80}")
    if names[0] == names[1] or vote.winner not in (*names, "tie") or vote.left not in (*names, None):
        raise invalid(f"a vote is between two items, got {names!r:.200} and the winner {vote.winner!r:.80}")
    if vote.kind == "judge" and row.voter is None:
        raise invalid("a judge needs a name")
    if undone:
        vote.value = None
    begun = append_vote(turn, event_id, row.voter, vote, turn.limits.cells)
    if undone and begun is not None:
        turn.append(Corrected(begun.position), event_id, row.voter)
        turn.refold(begun.position)
    return vote.value is not None
