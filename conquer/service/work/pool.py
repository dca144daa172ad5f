"""A model's own items, which questions are drawn from: read from the store, and added by uploads."""

import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection

from conquer.service.engine.loading import Build
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.reading import Reader
from conquer.service.model.records import CorpusFitted
from conquer.service.model.schemas import FeatureSettings, Group, Item, ModelSettings, bytes_of
from conquer.service.model.tally import Tally
from conquer.service.settings import Limits
from conquer.service.store import items as pool_table
from conquer.service.store import snapshots
from conquer.service.work.item_files import FileReading, Uploaded

Result = TypeVar("Result")
Thing = TypeVar("Thing")
Run = Callable[[Callable[[Turn], Any]], Any]
"""Runs work on one model in the engine's thread and waits for its result."""
_SLICE = 1 << 18
"""Bytes of items that are written in one turn."""
_CLEARED = 50
_ROUND_BYTES = 1 << 19
"""Bytes of items that are checked together."""
_json = msgspec.json.Encoder().encode


def add_groups(connection: Connection, model: int, groups: Sequence[Group]) -> None:
    """Store the groups of a new model."""
    rows = list(pool_table.rows_of(groups))
    pool_table.write(connection, model, 0, rows)
    pool_table.show(connection, model, len(rows))


def groups_of(turn: Turn) -> list[Group]:
    """The model's groups, kept in memory; groups that another server has added are read first."""
    state = turn.state
    if state.pooled < turn.pooled:
        pool_table.read_into(turn.connection, state.id, state.pool, state.pooled, turn.pooled)
        state.hold_pool(turn.pooled)
    return state.pool


def upload(run: Run, read_file: Callable[[ModelSettings], FileReading]) -> Generator[None, None, Uploaded]:
    """Add a file to the model; `run` runs work on it.

    The items are shown in the last step. A crash before it leaves rows that the next upload removes. Of two uploads at
    once the later one continues, and the other is refused. An upload whose outcome is unknown may be sent again.
    """
    claim = secrets.token_hex(8)

    def step(work: Callable[[Turn], Result]) -> Result:
        def claimed(turn: Turn) -> Result:
            if pool_table.claimed(turn.connection, turn.state.id) != claim:
                message = f"another upload to model {turn.state.name!r} has begun: send this one again after it"
                raise conflict("uploaded", message)
            return work(turn)

        result: Result = run(claimed)
        return result

    settings, pool, pooled, build = run(lambda turn: _begin(turn, claim))
    groups, found = yield from read_file(settings)
    there = {item.id for group in pool for item in group.items}
    for item in (item for group in groups for item in group.items):
        if item.id in there:
            raise conflict("item_exists", f"there is an item {item.id!r} already")
        there.add(item.id)
    fitted: ServedLearner | None = None
    pieces: list[bytes] = []
    if build is not None:
        yield
        fitted, _ = build(settings, None)
        fitted.fit([item for group in groups for item in group.items])
        yield
        pieces = snapshots.pieces(fitted.dumps(_json(Tally()).decode()))
        step(_clear_fit)
    for part, piece in enumerate(pieces[:-1]):
        yield
        step(partial(_write_piece, part=part, count=len(pieces), piece=piece))
    while step(lambda turn: pool_table.clear(turn.connection, turn.state.id, pooled, _CLEARED)):
        yield
    end = pooled
    for rows in parts(pool_table.rows_of(groups), len, _SLICE):
        yield
        step(partial(_write, first=end, rows=rows))
        end += len(rows)
    show = partial(_show, end=end, groups=groups, fitted=fitted, pieces=pieces)
    try:
        step(show)
    except RefusalError as refusal:
        if refusal.kind is not Kind.INDETERMINATE:
            raise
        # The claim is this upload's until another begins, so what is there now is this file, or the file before.
        step(show)
    return found


def parts(things: Iterable[Thing], size: Callable[[Thing], int], most: int, count: int = 500) -> Iterator[list[Thing]]:
    """Lists of at most `count` things, each of which ends with the thing that reaches `most` bytes.

    >>> list(parts(["a", "bb", "c", "d", "e"], len, 3, 2))
    [['a', 'bb'], ['c', 'd'], ['e']]
    """
    part: list[Thing] = []
    used = 0
    for thing in things:
        part.append(thing)
        used += size(thing)
        if used >= most or len(part) == count:
            yield part
            part, used = [], 0
    if part:
        yield part


def _begin(turn: Turn, claim: str) -> tuple[ModelSettings, list[Group], int, Build | None]:
    """Claim the model for this upload; what the upload needs of it, and how to build a learner that must be fitted."""
    state = turn.state
    pool_table.claim(turn.connection, state.id, claim)
    return state.settings, list(groups_of(turn)), turn.pooled, turn.build if state.learner.unfitted else None


def _write(turn: Turn, first: int, rows: Sequence[str]) -> None:
    pool_table.write(turn.connection, turn.state.id, first, rows)


def _clear_fit(turn: Turn) -> None:
    """Remove the pieces of an upload that broke off. Raises RefusalError if the model has a log."""
    _check_fresh(turn)
    snapshots.drop(turn.connection, turn.state.id, 0, 0)


def _check_fresh(turn: Turn) -> None:
    if turn.state.position > 0:
        raise conflict("not_fresh", f"model {turn.state.name!r} already has a log: fit before the first round")


def _write_piece(turn: Turn, part: int, count: int, piece: bytes) -> None:
    snapshots.write_piece(turn.connection, turn.state.id, 0, part, count, turn.now, piece)


def _show(turn: Turn, end: int, groups: Sequence[Group], fitted: ServedLearner | None, pieces: Sequence[bytes]) -> None:
    """Draw questions from the new groups, once.

    A model that must be fitted is fitted to its first items, before its log begins; a snapshot at position 0 holds the
    features, and its last piece is written here. Rarity that moved with the log would score old and new rounds in
    different units.
    """
    state = turn.state
    if turn.pooled == end:
        return
    if fitted is not None and state.learner.unfitted:
        _check_fresh(turn)
        _write_piece(turn, len(pieces) - 1, len(pieces), pieces[-1])
        if 0 not in snapshots.complete(turn.connection, state.id):
            # An erasure meanwhile has dropped the other pieces.
            raise conflict("uploaded", f"model {state.name!r} has changed during the upload: send it again")
        state.learner = fitted
        turn.append(CorpusFitted(sum(len(group.items) for group in groups)), None)
    groups_of(turn).extend(groups)
    state.hold_pool(end)
    turn.header = replace(turn.header, pooled=end)
    pool_table.show(turn.connection, state.id, end)
    # The pool in memory is ahead of the store until the commit.
    turn.moved = True


def check_groups(groups: Sequence[Group], settings: FeatureSettings, limits: Limits) -> Generator[None, None, None]:
    """Refuse items that no round could be made of."""
    # Words have no rarity yet; all else is as it will be.
    reader = Reader(msgspec.structs.replace(settings, kind="counts", columns="hashing"), limits)
    for group in groups:
        before: list[Item] = []
        for part in parts(group.items, bytes_of, _ROUND_BYTES):
            yield
            try:
                # With the item before, so that neighbours across a cut are compared too.
                reader.read(_json(before + part), _json(group.context))
            except UnicodeEncodeError as error:
                raise invalid(f"an item from {part[0].id!r} on has a character that is not Unicode: {error}") from None
            before = part[-1:]
