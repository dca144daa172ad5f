"""The log read the slow way: every row from the first, with nothing but the learner's own methods."""

import contextlib
from pathlib import Path

import numpy as np

from conquer.registry import make
from conquer.service.engine.loading import load
from conquer.service.store import log
from conquer.service.store.database import Database
from conquer.service.work.tasks import build
from conquer.types import Choice, Query, Source


def rows_of(address: str, name: str):
    """(header, all rows) of a model."""
    database = Database(address)
    with contextlib.closing(database), database.reading() as connection:
        header = log.headers(connection, [name])[name]
        rows = []
        while part := log.entries(connection, header.id, len(rows)):
            rows += part
        return header, rows


def slow_fold(address: str, name: str) -> np.ndarray:
    """The weights that the log makes, folded here by hand from position 1."""
    header, rows = rows_of(address, name)
    assert [row.position for row in rows] == list(range(1, header.position + 1))
    settings = header.settings
    more = {} if settings.believe is None else {"believe": settings.believe}
    learner = make(settings.algorithm, dim=settings.features.dim, model=settings.model, **settings.parameters, **more)
    served, _ = build(settings, None)
    undone = {row.body.undone for row in rows if row.kind == "correction"}
    choices, sides = {}, {}
    for row in rows:
        if row.kind == "choose":
            body = row.body
            X = served.read(bytes(body.items), bytes(body.context)).rows
            choices[row.event] = X, Choice(tuple(body.shown), Query(body.query), body.ticket, body.memo)
            sides[row.event] = 0 if len(body.names) != 2 else 1 if body.left == body.names[0] else -1
        elif row.kind == "answer" and row.body.value is not None and row.position not in undone:
            learner.learn(*choices[row.event], row.body.value, Source(row.voter, sides[row.event], row.body.kind))
        elif row.kind == "vote" and row.position not in undone:
            X = served.read(bytes(row.body.items), bytes(row.body.context)).rows
            side = 0 if row.body.left is None else 1 if row.body.left == row.body.names[0] else -1
            source = Source(row.voter, side, row.body.kind)
            learner.learn(X, Choice((0, 1), Query.DUEL, 0, {}), row.body.value, source)
    return learner.model.weights()


def loaded(address: str, name: str) -> np.ndarray:
    """The weights that a server starting now would have: snapshot and tail."""
    database = Database(address)
    with contextlib.closing(database), database.reading() as connection:
        header = log.headers(connection, [name])[name]
        return load(connection, header, build).learner.learner.model.weights()


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/store.db"
