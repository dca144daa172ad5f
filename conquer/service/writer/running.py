"""The works of a batch, done in the turns of their models: each gets its result, or its refusal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from conquer.service.errors import RefusalError, unknown_model
from conquer.service.log.transaction import Turn
from conquer.service.writer.work import QueuedWork


def run_all(connection: Connection, turns: Mapping[str, Turn], batch: Sequence[QueuedWork]) -> None:
    """Do all works; raises what went wrong where models may have moved by more than their rows say."""
    for works in _together(batch):
        turn = turns.get(works[0].model or "")
        before = 0 if turn is None else turn.folded.position
        try:
            _run(connection, turn, works)
        except RefusalError as refusal:
            # Refused half-way: what it had appended must go, and with it the transaction.
            if refusal.tainted or (turn is not None and turn.folded.position != before):
                raise
            for queued in works:
                queued.error = refusal
        except (SQLAlchemyError, OSError):
            raise
        except Exception as error:
            # Who reads has moved nothing: the model and the others' work are as they would be without.
            if not works[0].reads or turn is None or turn.folded.position != before:
                raise
            works[0].error = error


def _together(batch: Sequence[QueuedWork]) -> Iterable[list[QueuedWork]]:
    """The works of a batch in their order, those that are done together where the first of them is.

    Requests that wait at the same time have no order that anybody could rely on.
    """
    groups: dict[Any, list[QueuedWork]] = {}
    for queued in batch:
        queued.result = queued.error = None
        key = id(queued) if queued.request is None else (queued.model, queued.work)
        groups.setdefault(key, []).append(queued)
    return groups.values()


def _run(connection: Connection, turn: Turn | None, works: list[QueuedWork]) -> None:
    """Give each its result, or its refusal."""
    first = works[0]
    if first.model is None:
        first.result = first.work(connection)
        return
    if turn is None or turn.removed:
        raise unknown_model(first.model)
    try:
        if first.request is None:
            first.result = first.work(turn)
            return
        for queued, found in zip(works, first.work(turn, [one.request for one in works]), strict=True):
            if isinstance(found, RefusalError):
                queued.error = found
            else:
                queued.result = found
    except RefusalError as refusal:
        turn.moved = turn.moved or refusal.tainted
        raise
    except BaseException:
        turn.moved = turn.moved or not first.reads
        raise
