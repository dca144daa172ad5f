"""The list of models with their counts."""

import functools
from collections.abc import Callable, Generator, Sequence
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


class ModelInfo(msgspec.Struct):
    """A model: its settings, the position of its log, and what the log adds up to."""

    name: str
    settings: ModelSettings
    position: int
    summary: dict[str, Any]
    title: str | msgspec.UnsetType = msgspec.UNSET
    """The name on pages, where it is not `name`."""
    paused: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether no new questions are asked for now."""

    @classmethod
    def of(cls, header: log.Header, position: int, summary: Any) -> "ModelInfo":
        title, paused = header.title or msgspec.UNSET, header.paused or msgspec.UNSET
        return cls(header.name, header.settings, position, summary, title, paused)


def described(state: ModelState, header: log.Header) -> ModelInfo:
    """A model in memory, as it is now."""
    return ModelInfo.of(header, state.position, state.tally.summary())


class Listing:
    """Counts of models in memory come from the engine, those of others from their last snapshots.

    A model with rows after its last snapshot is loaded once, and its counts are kept.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[int, tuple[log.Header, bytes]] = {}
        """By id of a model that was loaded to be listed: its header, and its encoded info."""

    def headers(self) -> list[log.Header]:
        """Every model in the store."""
        with self._engine.database.reading() as connection:
            return log.all_headers(connection)

    def encoded(self, may: Callable[[str], bool]) -> Generator[None, None, bytes]:
        """The JSON of all models whose names satisfy `may`, by name; long work."""
        everyone = self.headers()
        headers = [header for header in everyone if may(header.name)]
        found: dict[str, bytes] = {}
        for start in range(0, len(headers), _SLICE):
            yield
            part = headers[start : start + _SLICE]
            if any(header.name in self._engine.models for header in part):
                found |= self._engine.call_now(None, functools.partial(self._from_memory, part))
            found |= self._from_snapshots([header for header in part if header.name not in found])
        known: dict[int, tuple[log.Header, bytes]] = {}
        for header in headers:
            if header.name not in found:
                kept = self._known.get(header.id)
                if kept is None or kept[0] != header:
                    yield
                    kept = self._loaded(header.name)
                if kept is not None:
                    known[header.id] = kept
                    found[header.name] = kept[1]
        there = {header.id for header in everyone}
        self._known = {model: kept for model, kept in (self._known | known).items() if model in there}
        return b'{"models":[' + b",".join(found[one.name] for one in headers if one.name in found) + b"]}"

    def _from_memory(self, headers: Sequence[log.Header], _: Connection) -> dict[str, bytes]:
        """Models in memory that have all their rows; on a shared store another server may have written some."""
        found = ((header, self._engine.models.get(header.name)) for header in headers)
        return {
            header.name: _encode(described(state, header))
            for header, state in found
            if state is not None and state.id == header.id and state.position >= header.position
        }

    def _from_snapshots(self, headers: Sequence[log.Header]) -> dict[str, bytes]:
        """Models whose last snapshot is at the end of their logs."""
        with self._engine.database.reading() as connection:
            stored = snapshots.summaries(connection, [header.id for header in headers])
        return {
            header.name: _encode(ModelInfo.of(header, header.position, msgspec.Raw(stored[header.id, header.position])))
            for header in headers
            if (header.id, header.position) in stored
        }

    def _loaded(self, name: str) -> tuple[log.Header, bytes] | None:
        """A model as of its log's end; None if it has been deleted."""
        with self._engine.database.reading(patient=True) as connection:
            # Read again: a header must be as old as the rows, which may have been pruned since.
            header = log.headers(connection, [name]).get(name)
            if header is None:
                return None
            return header, _encode(described(load(connection, header, self._engine.build), header))
