"""Adding a file of items to a model: read and fitted beside the engine, written in slices, shown in one last step."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conquer.service.engine.loading import Build
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.schemas import Group, ModelSettings
from conquer.service.store import items as pool_table
from conquer.service.work.fitting import fit_once, fitted_to
from conquer.service.work.pool import groups_of

Run = Callable[[Callable[[Turn], Any]], Any]
"""Have the writer do it on the model, and wait."""
ReadFile = Callable[[ModelSettings, int], list[Group]]
"""The groups of the file for a model of these settings, numbered from here on."""
_SLICE = 1 << 18
_CLEARED = 50


def upload(run: Run, read_file: ReadFile) -> tuple[int, int]:
    """Add a file to the model; returns (items, groups). Blocks, so it needs a thread of its own.

    Until the last step nobody sees any of it, and a crash leaves nothing behind but rows that the next upload clears.
    Where two run at once, the one that began last goes on, and the other is refused.
    """
    claim = secrets.token_hex(8)
    settings, pool, pooled, unfitted, build = _surely(run, lambda turn: _state(turn, claim))
    groups = read_file(settings, len(pool) + 1)
    _check_new(pool, groups)
    fitted = fitted_to(settings, groups, build) if unfitted else None

    def clear(turn: Turn) -> bool:
        _check_claim(turn, claim)
        return pool_table.clear(turn.connection, turn.state.id, pooled, _CLEARED)

    while _surely(run, clear):
        pass
    count = 0
    for rows in _slices(pool_table.rows_of(groups)):

        def work(turn: Turn, rows: Sequence[str] = rows, first: int = pooled + count) -> None:
            _check_claim(turn, claim)
            pool_table.write(turn.connection, turn.state.id, first, rows)

        _surely(run, work)
        count += len(rows)

    def show(turn: Turn) -> None:
        _check_claim(turn, claim)
        # Otherwise it was shown by a try whose outcome nobody could tell.
        if turn.pooled == pooled:
            _show(turn, pooled + count, groups, fitted)

    _surely(run, show)
    return sum(len(group.items) for group in groups), len(groups)


def _surely(run: Run, work: Callable[[Turn], Any]) -> Any:
    """Do a step, and where nobody can tell whether it was done, once more: each may be done twice."""
    try:
        return run(work)
    except RefusalError as refusal:
        if refusal.kind is not Kind.INDETERMINATE:
            raise
        return run(work)


def _state(turn: Turn, claim: str) -> tuple[ModelSettings, list[Group], int, bool, Build]:
    state = turn.state
    pool_table.claim(turn.connection, state.id, claim)
    return state.settings, list(groups_of(turn)), turn.pooled, state.learner.unfitted, turn.build


def _check_claim(turn: Turn, claim: str) -> None:
    """A RefusalError where another upload has begun meanwhile, or the model is another of the same name."""
    if pool_table.claimed(turn.connection, turn.state.id) != claim:
        message = f"another upload to model {turn.state.name!r} has begun since: send this one again when that is done"
        raise conflict("uploaded", message)


def _show(turn: Turn, pooled: int, groups: Sequence[Group], fitted: ServedLearner | None) -> None:
    if fitted is not None:
        fit_once(turn, fitted, sum(len(group.items) for group in groups))
    groups_of(turn).extend(groups)
    turn.state.hold_pool(pooled)
    turn.pooled = pooled
    pool_table.show(turn.connection, turn.state.id, pooled)
    # The pool in memory is ahead of the store until the commit.
    turn.moved = True


def _check_new(pool: Sequence[Group], groups: Sequence[Group]) -> None:
    there = {item.id for group in pool for item in group.items}
    twice = next((item.id for group in groups for item in group.items if item.id in there), None)
    if twice is not None:
        raise conflict("item_exists", f"there is an item {twice!r} already: an id names one item")


def _slices(rows: Iterator[str]) -> Iterator[list[str]]:
    """The rows in lists of about a quarter of a megabyte."""
    for row in rows:
        part, size = [row], len(row)
        while size < _SLICE and (more := next(rows, None)) is not None:
            part.append(more)
            size += len(more)
        yield part
