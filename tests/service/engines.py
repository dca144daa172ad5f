"""Tools to watch the engine at work: models that load when a test lets them, and commits that fail."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from conquer.service.engine import engine as engines
from conquer.service.engine.engine import Engine
from conquer.service.model.state import ModelState
from conquer.service.store.database import Database

PATIENCE = 30.0


class Lost(sqlite3.OperationalError):
    """A store that goes away."""


async def soon(asked: Any) -> Any:
    """The reply, unless it takes as long as one that never comes."""
    return await asyncio.wait_for(asked, PATIENCE)


def held_back(monkeypatch: pytest.MonkeyPatch, name: str) -> threading.Event:
    """Loading this model waits for the event; other models load meanwhile."""
    gate, load = threading.Event(), engines.load_in_slices

    def slowly(database: Database, wanted: str, *rest: Any) -> Any:
        while wanted == name and not gate.wait(0.001):
            yield
        return (yield from load(database, wanted, *rest))

    monkeypatch.setattr(engines, "load_in_slices", slowly)
    return gate


def first_load(monkeypatch: pytest.MonkeyPatch, found: ModelState | None) -> None:
    """The next load finds this; later ones read the store."""
    load = engines.load_in_slices

    def once(*arguments: Any) -> Any:
        monkeypatch.setattr(engines, "load_in_slices", load)
        yield
        return found

    monkeypatch.setattr(engines, "load_in_slices", once)


async def replace(engine: Engine, name: str, state: ModelState | None = None) -> None:
    """Let the engine keep this state of a model in memory, or none, as if another server had written since."""

    def work(connection: Any) -> None:
        engine.models.pop(name, None)
        engine._memory.headers.pop(name, None)
        if state is not None:
            engine.models[name] = state

    await soon(engine.call(None, work))


@contextlib.contextmanager
def losing(database: Database, made: bool, times: int = 1) -> Iterator[list[bool]]:
    """The engine's next commits get no reply, whether `made` or not; the list says which have."""
    lost: list[bool] = []

    def commit(connection: Any) -> None:
        if len(lost) < times and threading.current_thread().name == "conquer-engine":
            lost.append(made)
            raw = connection.connection.driver_connection
            raw.commit() if made else raw.rollback()
            raise OperationalError("COMMIT", None, Lost("the connection was lost"))

    event.listen(database.engine, "commit", commit)
    try:
        yield lost
    finally:
        event.remove(database.engine, "commit", commit)
