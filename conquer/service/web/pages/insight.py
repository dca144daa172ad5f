"""What a model has learnt, in words: its largest weights under the names of features that came by lately."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conquer.features.featurizer import Featurizer
from conquer.items import PARTS, learnt_parts
from conquer.service.engine.turn import Turn
from conquer.service.model.reading import decode_items
from conquer.service.model.schemas import Item
from conquer.service.store import log
from conquer.service.store.database import Database

_EVENTS = 50
_ROOM = 32 << 20
"""Bytes of names kept for all models together; a quarter of it for one."""
_ENTRY = 200
"""What an entry of a dictionary takes besides its name, roughly."""
_CHARACTERS = 40_000
"""Text to look through in one go: naming features is slow, and requests are waiting for the same processor."""

Words = list[tuple[str, float, float | None]]
"""Names with their weights, and how far chance moves each."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What naming needs of a model, copied while it cannot change."""

    model: int
    featurizer: Featurizer
    weights: Any
    spread: Any


@dataclass(slots=True)
class _Known:
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    items: set[int] = field(default_factory=set)
    bytes: int = 0

    def is_new(self, mark: int) -> bool:
        """Whether this is the first time that something with this mark comes by."""
        if mark in self.items:
            return False
        self.items.add(mark)
        self.bytes += _ENTRY
        return True

    def take(self, names: Mapping[str, tuple[int, int]]) -> None:
        self.bytes += sum(_ENTRY + len(name) for name in names if name not in self.names)
        self.names |= names


def glance(turn: Turn) -> Glance | None:
    """None for a model whose features have no names."""
    known = turn.state.learner.insight()
    return None if known is None else Glance(turn.state.id, *known)


class Names:
    """Names of features by model, gathered a little at a time beside the engine. Safe to call from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[int, _Known] = {}
        self._lock = threading.Lock()

    def top(self, seen: Glance, count: int) -> tuple[Words, Words]:
        """The `count` most liked and most disliked features with their weights, among those whose names are known."""
        with self._database.reading() as connection:
            rounds = [bytes(one.items) for one in log.latest(connection, seen.model, "choose", _EVENTS)]
        with self._lock:
            known = self._known.pop(seen.model, _Known())
            _gather(known, seen.featurizer, rounds)
            names = list(known.names.items())
            if known.bytes <= _ROOM // 4:
                self._known[seen.model] = known
            while sum(one.bytes for one in self._known.values()) > _ROOM:
                del self._known[next(iter(self._known))]
        weights, spread = seen.weights, seen.spread
        ranked = sorted(
            (
                (name, float(weights[column] * sign), None if spread is None else float(spread[column]))
                for name, (column, sign) in names
            ),
            key=lambda one: one[1],
        )
        liked = [one for one in ranked[::-1][:count] if one[1] > 0]
        return liked, [one for one in ranked[:count] if one[1] < 0]


def _gather(known: _Known, featurizer: Featurizer, rounds: list[bytes]) -> None:
    left = _CHARACTERS
    for raw in rounds:
        if left <= 0:
            return
        if known.is_new(hash(raw)):
            for item in decode_items(raw):
                left -= _name(known, featurizer, item)


def _name(known: _Known, featurizer: Featurizer, item: Item) -> int:
    """Take in one item's features; return how much there was to read."""
    parts = learnt_parts([part for part in PARTS if getattr(item, part) is not None], featurizer.learn)
    width = len(item.vector or ()) if "vector" in parts else 0
    known.take({f"feature {column}": (column, 1) for column in range(min(width, 1000))})
    read = 0
    for part in parts:
        content: Any = getattr(item, part)
        if part == "vector" or not known.is_new(hash(content if part == "text" else str(content))):
            continue
        known.take(featurizer.explain(content, width))
        read += len(str(content))
    return read
