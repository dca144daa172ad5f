"""Erasing a person: their rows are emptied in place, and the model is replayed without them."""

from collections.abc import Generator, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, select, update

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import SPOILT, load_up_to, take_in
from conquer.service.engine.queue import Generation
from conquer.service.engine.turn import Turn
from conquer.service.errors import unknown_model
from conquer.service.model.event import Event
from conquer.service.model.records import FOLD, Answered, Entry, Erased, Erasure, Voted, checksum, seal
from conquer.service.model.state import ModelState
from conquer.service.model.stored_tally import read_tally
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.keys import marks_secret, voter_mark
from conquer.service.store.schema import leases, log, pruned
from conquer.service.work.answering import weigh

_DAMAGED = tuple(kind for kind in SPOILT if kind is not MemoryError)
_SLICE = 500
"""Rows written in one turn."""
_WINDOW = 20_000
"""Rows searched for a voter in one slice: names have no index."""
_REPLAYED = 250
"""Rows replayed in one slice."""
_json = msgspec.json.Encoder().encode
# Without bodies, which may be large; those of rounds are read a few at a time.
_COLUMNS = (log.c.position, log.c.at, log.c.kind, log.c.event_id)
_ROW = (log.c.model_id == bindparam("model")) & (log.c.position == bindparam("at_position"))
_REWRITE = update(log).where(_ROW).values(body=bindparam("text"), checksum=bindparam("total"))
_EMPTY = _REWRITE.values(kind="erased", event_id=None, voter=None, format=FOLD)
_Row = Row[Any, Any, Any, Any]


class Gone(msgspec.Struct):
    """`rows` were emptied. `remaining` learnt answers, by the person or to rounds made for them, have been pruned.

    The weights still contain what pruned answers taught, under no name.
    """

    rows: int
    remaining: int


@dataclass(slots=True)
class _Found:
    """A person's rows in order, and the events that were made for them."""

    rows: list[_Row] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def erase_person(engine: Engine, model: str, voter: str) -> Generator[None, None, tuple[Gone, Generation]]:
    """Erase a voter from a model, and their old rows from the disk. Run it as urgent long work.

    Returns the counts, and the model's id and the position of the erasure: once the model has been replayed with that
    row, it is without the voter.

    Rows are emptied a slice at a time, the latest first: after a crash the next run finds the earliest and replays from
    there.
    """
    number, head = engine.call_now(model, lambda turn: (turn.state.id, turn.state.position), reads=True)
    found = yield from _search(engine, number, voter, head)
    with engine.database.reading() as connection:
        header = log_table.headers(connection, [model]).get(model)
    again = None
    if header is not None and header.id == number and header.settings.believe is not None and found.rows:
        # The weights of later answers depend on what this voter said.
        again = Reweighing(engine, header, {row.position for row in found.rows})
        yield from again.replay(head)
        yield from again.write()
    emptied = 0

    def one_slice(turn: Turn) -> None:
        _check_same(turn, number)
        _empty(turn, found.rows[-_SLICE:])

    while len(found.rows) > _SLICE:
        yield
        engine.call_now(model, one_slice)
        # Committed.
        del found.rows[-_SLICE:]
        emptied += _SLICE

    def last(turn: Turn) -> tuple[Gone, Generation]:
        _check_same(turn, number)
        return _finish(turn, voter, found, head, emptied, again), (number, turn.state.position)

    gone, generation = engine.call_now(model, last)
    yield
    engine.database.scrub()
    return gone, generation


def _finish(turn: Turn, voter: str, found: _Found, head: int, emptied: int, again: "Reweighing | None") -> Gone:
    """Empty the rows that are left and those that have come meanwhile, and have the model replayed."""
    turn.flush()
    connection, model = turn.connection, turn.state.id
    late = _found(connection, model, voter, head, turn.state.position, found.asked)
    rows = found.rows + late.rows
    emptied += len(rows)
    if again is not None:
        again.finish(turn, {row.position for row in late.rows})
    # A correction is about an answer of the same voter, so it is among the rows.
    _empty(turn, rows)
    connection.execute(delete(leases).where(leases.c.model_id == model, leases.c.voter == voter))
    snapshots.drop_below(connection, model, turn.base)
    named = _unname(turn, voter)
    if rows or named:
        # A name in the base snapshot is in every later snapshot.
        first = turn.base + 1 if named else max(turn.base + 1, rows[0].position)
        turn.append(Erasure(first, emptied), None)
        turn.refold(first)
    mark = voter_mark(marks_secret(connection), model, voter)
    left = connection.execute(select(pruned.c.answers).where(pruned.c.model_id == model, pruned.c.voter == mark))
    return Gone(emptied, left.scalar() or 0)


def _search(engine: Engine, model: int, voter: str, head: int) -> Generator[None, None, _Found]:
    """`_found` for a whole log, in slices."""
    own: list[_Row] = []
    for start in range(0, head, _WINDOW):
        with engine.database.reading(patient=True) as connection:
            own += _own(connection, model, voter, start, min(head, start + _WINDOW))
        yield
    asked, rows = _asked(own), {row.position: row for row in own}
    for begin in range(0, len(asked), _SLICE):
        with engine.database.reading(patient=True) as connection:
            of_events = _of_events(connection, model, asked[begin : begin + _SLICE], 0, head)
        rows |= {row.position: row for row in of_events}
        yield
    return _Found([rows[position] for position in sorted(rows)], asked)


def _found(connection: Connection, model: int, voter: str, after: int, up_to: int, before: Sequence[str]) -> _Found:
    """The voter's rows after a position, and all rows of events made for the voter, then or `before`."""
    own = _own(connection, model, voter, after, up_to)
    asked = [*before, *_asked(own)]
    rows = {row.position: row for row in own}
    for begin in range(0, len(asked), _SLICE):
        of_events = _of_events(connection, model, asked[begin : begin + _SLICE], after, up_to)
        rows |= {row.position: row for row in of_events}
    return _Found([rows[position] for position in sorted(rows)], asked)


def _own(connection: Connection, model: int, voter: str, after: int, up_to: int) -> Sequence[_Row]:
    here = (log.c.model_id == model) & (log.c.position > after) & (log.c.position <= up_to)
    return connection.execute(select(*_COLUMNS).where(here, log.c.voter == voter).order_by(log.c.position)).all()


def _of_events(connection: Connection, model: int, events: Sequence[str], after: int, up_to: int) -> Sequence[_Row]:
    here = (log.c.model_id == model) & (log.c.position > after) & (log.c.position <= up_to)
    return connection.execute(select(*_COLUMNS).where(here, log.c.event_id.in_(events))).all()


def _asked(rows: Iterable[_Row]) -> list[str]:
    return [row.event_id for row in rows if row.kind in ("choose", "vote")]


def _empty(turn: Turn, rows: Sequence[_Row]) -> None:
    """Empty these rows on disk, and drop their events from the cache."""
    turn.flush()
    model = turn.state.id
    for start in range(0, len(rows), _SLICE):
        part = rows[start : start + _SLICE]
        # A round leaves its ordinal.
        chosen = log_table.bodies(turn.connection, model, [row.position for row in part if row.kind == "choose"])
        ordinals = {position: _ordinal(body) for position, body in chosen}
        entries = [Entry(row.position, row.at, None, None, Erased(ordinals.get(row.position))) for row in part]
        turn.connection.execute(_EMPTY, [_sealed(model, entry) for entry in entries])
        for row in part:
            turn.state.drop(row.event_id)


def _sealed(model: int, entry: Entry) -> dict[str, Any]:
    """The parameters that write an entry over its stored row."""
    seal(entry)
    return {"model": model, "at_position": entry.position, "text": entry.text.decode(), "total": checksum(entry)}


class _Numbered(msgspec.Struct):
    """The part of a round's row that is read."""

    ordinal: int | None = None


_numbered = msgspec.json.Decoder(_Numbered).decode


def _ordinal(body: str) -> int | None:
    try:
        return _numbered(body).ordinal
    except (msgspec.DecodeError, RecursionError):
        # A damaged row can be erased too.
        return None


def _check_same(turn: Turn, model: int) -> None:
    if turn.state.id != model:
        raise unknown_model(turn.state.name)


def _unname(turn: Turn, voter: str) -> bool:
    """Remove the name from the snapshot that replaces pruned rows; whether it was there, or may have been."""
    model, base = turn.state.id, turn.base
    if not snapshots.exists(turn.connection, model, base):
        return False
    try:
        learner, text = turn.build(turn.state.settings, snapshots.read(turn.connection, model, base))
        tally = read_tally(text) if text else None
    except _DAMAGED:
        # It may contain the name.
        snapshots.drop(turn.connection, model, base)
        return True
    named = learner.forget(voter)
    if tally is None or not (tally.forget(voter) or named):
        return False
    pieces = snapshots.pieces(learner.dumps(_json(tally).decode()))
    snapshots.replace(turn.connection, model, base, pieces, turn.now)
    return True


class Reweighing:
    """Replays a log without some rows, and rewrites the later answers whose weights differ then.

    A crash on the way leaves old and new weights side by side. The voter's first row is still there then, and erasing
    again finds all of them.
    """

    def __init__(self, engine: Engine, header: log_table.Header, gone: Set[int]) -> None:
        self._engine, self._header, self._gone = engine, header, set(gone)
        self._first = min(gone)
        self._state: ModelState | None = None
        self._changed: list[dict[str, Any]] = []

    def replay(self, head: int) -> Generator[None, None, None]:
        """Replay up to the row at `head`, beside the engine."""
        while True:
            with self._engine.database.reading(patient=True) as connection:
                header = log_table.headers(connection, [self._header.name]).get(self._header.name)
                if header is None or header.id != self._header.id:
                    return
                if self._state is None or header.base > self._state.position:
                    # Not begun, or pruned meanwhile.
                    self._state = self._started(connection, header)
                elif self._state.position >= head or not self._take(connection, self._state, head):
                    return
            yield

    def _started(self, connection: Connection, header: log_table.Header) -> ModelState:
        """The model at the last snapshot before the first row that goes."""
        before = [position for position in snapshots.complete(connection, header.id) if position < self._first]
        state = load_up_to(connection, header, self._engine.build, max([header.base, *before]))
        state.undone = log_table.undone(connection, header.id, header.base)
        return state

    def write(self) -> Generator[None, None, None]:
        """Write the changed rows, a slice at a time."""

        def one_slice(turn: Turn) -> None:
            _check_same(turn, self._header.id)
            turn.flush()
            turn.connection.execute(_REWRITE, self._changed[-_SLICE:])

        while self._changed:
            yield
            self._engine.call_now(self._header.name, one_slice)
            del self._changed[-_SLICE:]

    def finish(self, turn: Turn, late: Set[int]) -> None:
        """Replay and rewrite the rows that have come meanwhile, in the turn that ends the erasure."""
        self._gone |= late
        state = self._state
        if state is not None:
            state.undone = log_table.undone(turn.connection, state.id, self._header.base)
            while state.position < turn.state.position and self._take(turn.connection, state, turn.state.position):
                pass
        if self._changed:
            turn.connection.execute(_REWRITE, self._changed)
            self._changed = []
            # Cached events have the old weights.
            turn.state.trim(0)

    def _take(self, connection: Connection, state: ModelState, head: int) -> bool:
        """Replay the next rows; False where there are none."""
        found = next(log_table.entries(connection, state.id, state.position, _REPLAYED), [])
        rows = [row for row in found if row.position <= head]
        take_in(connection, state, rows, partial(self._replay, state))
        state.trim(1000)
        return bool(rows)

    def _replay(self, state: ModelState, row: Entry) -> None:
        if row.position in self._gone:
            row.body = Erased(getattr(row.body, "ordinal", None))
            row.event = row.voter = None
        elif row.position > self._first and isinstance(row.body, Answered | Voted) and row.body.weight is not None:
            self._reweigh(state, row)
        state.replay(row)

    def _reweigh(self, state: ModelState, row: Entry) -> None:
        body: Any = row.body
        event = Event.of(row) if isinstance(body, Voted) else state.events.get(row.event or "")
        if event is None or row.position in state.undone:
            return
        before, said = body.weight, body.said if isinstance(body, Voted) else body
        weigh(state, event, said, row.voter)
        body.weight = said.weight
        if body.weight != before:
            self._changed.append(_sealed(state.id, row))
