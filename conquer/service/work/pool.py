"""A model's own items, which questions are drawn from: read from the store, and added by uploads."""

import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, select

from conquer.service.engine.loading import Build
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid
from conquer.service.model.contents import bytes_of
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.reading import Reader
from conquer.service.model.records import CorpusFitted
from conquer.service.model.schemas import FeatureSettings, Group, ModelSettings
from conquer.service.settings import Limits
from conquer.service.store import items as pool_table
from conquer.service.store import snapshots
from conquer.service.store.schema import models
from conquer.service.work.item_files import Uploaded

Result = TypeVar("Result")
Run = Callable[[Callable[[Turn], Any]], Any]
"""Runs work on one model in the engine's thread and waits for its result."""
ReadFile = Callable[[ModelSettings, int], Generator[None, None, tuple[list[Group], Uploaded]]]
"""The groups of a file for a model of these settings, numbered from here on."""
_SLICE = 1 << 18
"""Bytes of items that are written in one turn."""
_CLEARED = 50
_ROUND, _ROUND_BYTES = 500, 1 << 19
"""Items that are checked together, and their bytes."""
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


def read_pool(connection: Connection, model: int) -> list[Group]:
    """A model's groups, from the store."""
    pool: list[Group] = []
    pooled = connection.execute(select(models.c.pooled).where(models.c.id == model)).scalar()
    pool_table.read_into(connection, model, pool, 0, pooled or 0)
    return pool


def upload(run: Run, read_file: ReadFile) -> Generator[None, None, Uploaded]:
    """Add a file to the model; `run` runs work on it.

    The items are shown in the last step. A crash before it leaves rows that the next upload removes. Of two uploads at
    once the later one continues, and the other is refused.
    """
    claim = secrets.token_hex(8)

    def step(work: Callable[[Turn], Result]) -> Result:
        """Run a step that may run twice; again if its outcome is unknown."""

        def claimed(turn: Turn) -> Result:
            if pool_table.claimed(turn.connection, turn.state.id) != claim:
                message = f"another upload to model {turn.state.name!r} has begun: send this one again after it"
                raise conflict("uploaded", message)
            return work(turn)

        result: Result = _surely(run, claimed)
        return result

    settings, pool, pooled, build = _surely(run, lambda turn: _begin(turn, claim))
    groups, found = yield from read_file(settings, len(pool) + 1)
    _check_new(pool, groups)
    fitted: ServedLearner | None = None
    if build is not None:
        yield
        fitted, _ = build(settings, None)
        fitted.fit([item for group in groups for item in group.items])
    while step(lambda turn: pool_table.clear(turn.connection, turn.state.id, pooled, _CLEARED)):
        yield
    end = pooled
    for rows in _slices(pool_table.rows_of(groups)):
        yield

        def write(turn: Turn, rows: Sequence[str] = rows, first: int = end) -> None:
            pool_table.write(turn.connection, turn.state.id, first, rows)

        step(write)
        end += len(rows)
    step(lambda turn: _show(turn, pooled, end, groups, fitted))
    return found


def _surely(run: Run, work: Callable[[Turn], Any]) -> Any:
    try:
        return run(work)
    except RefusalError as refusal:
        if refusal.kind is not Kind.INDETERMINATE:
            raise
        return run(work)


def _begin(turn: Turn, claim: str) -> tuple[ModelSettings, list[Group], int, Build | None]:
    """Claim the model for this upload; what the upload needs of it, and how to build a learner that must be fitted."""
    state = turn.state
    pool_table.claim(turn.connection, state.id, claim)
    return state.settings, list(groups_of(turn)), turn.pooled, turn.build if state.learner.unfitted else None


def _show(turn: Turn, pooled: int, end: int, groups: Sequence[Group], fitted: ServedLearner | None) -> None:
    """Draw questions from the new groups, unless a first try whose outcome was unknown has done so."""
    if turn.pooled != pooled:
        return
    if fitted is not None:
        _fit(turn, fitted, sum(len(group.items) for group in groups))
    groups_of(turn).extend(groups)
    turn.state.hold_pool(end)
    turn.header = replace(turn.header, pooled=end)
    pool_table.show(turn.connection, turn.state.id, end)
    # The pool in memory is ahead of the store until the commit.
    turn.moved = True


def _fit(turn: Turn, fitted: ServedLearner, items: int) -> None:
    """Let a model without a log start from features fitted to its first items; a snapshot at position 0 holds them.

    They are fitted once: rarity that moved with the log would score old and new rounds in different units.
    """
    state = turn.state
    if not state.learner.unfitted:
        return
    if state.position > 0:
        raise conflict("not_fresh", f"model {state.name!r} already has a log: fit before the first round")
    state.learner = fitted
    snapshots.replace(turn.connection, state.id, 0, snapshots.pieces(state.dumps()), turn.now)
    turn.append(CorpusFitted(items), None)


def _check_new(pool: Sequence[Group], groups: Sequence[Group]) -> None:
    there = {item.id for group in pool for item in group.items}
    twice = next((item.id for group in groups for item in group.items if item.id in there), None)
    if twice is not None:
        raise conflict("item_exists", f"the model already has an item {twice!r}")


def _slices(rows: Iterator[str]) -> Iterator[list[str]]:
    """The rows in lists of about a quarter of a megabyte."""
    for row in rows:
        part, size = [row], len(row)
        while size < _SLICE and (more := next(rows, None)) is not None:
            part.append(more)
            size += len(more)
        yield part


def check_groups(groups: Sequence[Group], settings: FeatureSettings, limits: Limits) -> Generator[None, None, None]:
    """Refuse items that no round could be made of."""
    # Words have no rarity yet; all else is as it will be.
    reader = Reader(msgspec.structs.replace(settings, kind="counts", columns="hashing"), limits)
    for group in groups:
        start = 0
        while start < len(group.items):
            end, size = start, 0
            while end < min(len(group.items), start + _ROUND) and size < _ROUND_BYTES:
                size += bytes_of(group.items[end])
                end += 1
            yield
            # With the item before, so that neighbours across a cut are compared too.
            part = group.items[max(0, start - 1) : end]
            try:
                reader.read(_json(part), _json(group.context))
            except UnicodeEncodeError as error:
                raise invalid(f"an item from {part[0].id!r} on has a character that is not Unicode: {error}") from None
            start = end
