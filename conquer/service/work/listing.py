"""The list of models with their counts."""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import Connection

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import load
from conquer.service.model.schemas import ModelSettings
from conquer.service.model.state import ModelState
from conquer.service.store import log, snapshots

_SLICE = 50
"""Models described in one slice."""
_encode = msgspec.json.Encoder().encode
Counts = tuple[int, msgspec.Raw]
"""What a log adds up to at a position, as JSON."""
_NONE: Counts = (-1, msgspec.Raw(b"null"))


class ModelInfo(msgspec.Struct, omit_defaults=True):
    """A model: its settings, the position of its log, and what the log adds up to."""

    name: str
    settings: ModelSettings
    position: int
    summary: dict[str, Any]
    title: str = ""
    """The name on pages, where it is not `name`."""
    paused: bool = False
    """Whether no new questions are asked for now."""


def described(header: log.Header, position: int, summary: Any) -> ModelInfo:
    """A model as of a position."""
    return ModelInfo(header.name, header.settings, position, summary, header.title, header.paused)


class Listing:
    """Counts of models in memory come from the engine, those of others from their last snapshots.

    A model with rows after its last snapshot is loaded once, and its counts are kept.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[int, Counts] = {}
        """Of models that were loaded to be listed, by id."""

    def encoded(self, may: Callable[[str], bool]) -> Generator[None, None, bytes]:
        """The JSON of all models whose names satisfy `may`, by name; long work."""
        database = self._engine.database
        with database.reading() as connection:
            everyone = log.all_headers(connection)
        ids = {header.id for header in everyone}
        self._kept = {model: counts for model, counts in self._kept.copy().items() if model in ids}
        headers = [header for header in everyone if may(header.name)]
        found = {
            header.id: kept for header in headers if (kept := self._kept.get(header.id, _NONE))[0] == header.position
        }
        for start in range(0, len(headers), _SLICE):
            yield
            part = headers[start : start + _SLICE]
            if any(header.name in self._engine.models for header in part):
                found |= self._engine.call_now(None, partial(self._from_memory, part))
            with database.reading() as connection:
                found |= snapshots.summaries(connection, {one.id: one.position for one in part if one.id not in found})
            for header in part:
                if header.id not in found:
                    yield
                    counts = self._load(header.name)
                    if counts is not None:
                        found[header.id] = self._kept[header.id] = counts
        infos = (described(header, *found[header.id]) for header in headers if header.id in found)
        return b'{"models":[' + b",".join(map(_encode, infos)) + b"]}"

    def _from_memory(self, headers: Sequence[log.Header], _: Connection) -> dict[int, Counts]:
        """Models in memory that have all their rows; on a shared store another server may have written some."""
        states = ((header, self._engine.models.get(header.name)) for header in headers)
        return {
            header.id: _counts(state)
            for header, state in states
            if state is not None and state.id == header.id and state.position >= header.position
        }

    def _load(self, name: str) -> Counts | None:
        """The counts of a model up to its log's end; None if it has been deleted."""
        with self._engine.database.reading(patient=True) as connection:
            # Read again: a header must be as old as the rows, which may have been pruned since.
            header = log.headers(connection, [name]).get(name)
            return None if header is None else _counts(load(connection, header, self._engine.build))


def _counts(state: ModelState) -> Counts:
    return state.position, msgspec.Raw(_encode(state.tally.summary()))
