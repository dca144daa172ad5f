"""What a model has learnt, in words: its largest weights under the names of features that came by lately."""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conquer.features.featurizer import Featurizer
from conquer.service.commands.learner import LearnerBrain
from conquer.service.commands.reading import decode_items
from conquer.service.http.schemas import Item
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table

_EVENTS = 200
_NAMES = 50_000
_MODELS = 64
_CHARACTERS = 40_000
"""Text to look through in one go: naming features is slow, and requests are waiting for the same processor."""

Words = list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Glance:
    """What naming needs of a model, copied while it cannot change: weights, and the latest items as they came."""

    model: int
    featurizer: Featurizer
    weights: Any
    rounds: list[bytes]


@dataclass(slots=True)
class _Known:
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    items: set[int] = field(default_factory=set)


def glance(turn: Turn) -> Glance | None:
    """None for a model whose features have no names."""
    brain = turn.folded.brain
    if not isinstance(brain, LearnerBrain):
        return None
    model = brain.learner.model
    weights = model.weights() if hasattr(model, "weights") else np.zeros(brain.learner.dim)
    turn.flush()
    latest = log_table.latest_choices(turn.connection, turn.folded.id, _EVENTS)
    return Glance(turn.folded.id, brain.reader.featurizer, weights, [bytes(chosen.items) for chosen in latest])


class Names:
    """Names of features by model, gathered a little at a time beside the writer. Safe to call from any thread."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._lock = threading.Lock()

    def top(self, seen: Glance, count: int) -> tuple[Words, Words]:
        """The `count` most liked and most disliked features with their weights, among those whose names are known."""
        with self._lock:
            known = self._known.setdefault(seen.model, _Known())
            if len(known.names) > _NAMES:
                known = self._known[seen.model] = _Known()
            if len(self._known) > _MODELS:
                del self._known[next(iter(self._known))]
            _gather(known, seen)
            names = list(known.names.items())
        weights = seen.weights
        ranked = sorted(
            ((name, float(weights[column] * sign)) for name, (column, sign) in names), key=lambda one: one[1]
        )
        liked = [one for one in ranked[::-1][:count] if one[1] > 0]
        return liked, [one for one in ranked[:count] if one[1] < 0]


def _gather(known: _Known, seen: Glance) -> None:
    left = _CHARACTERS
    for raw in seen.rounds:
        if left <= 0:
            return
        mark = hash(raw)
        if mark in known.items:
            continue
        known.items.add(mark)
        for item in decode_items(raw):
            left -= _name(known, seen.featurizer, item)


def _name(known: _Known, featurizer: Featurizer, item: Item) -> int:
    """Take in one item's features; return how much there was to read."""
    if item.vector is not None:
        known.names |= {f"feature {column}": (column, 1) for column in range(min(len(item.vector), 1000))}
        return 0
    content: Any = item.text if item.text is not None else item.features or {}
    mark = hash(item.text if item.text is not None else str(content))
    if mark in known.items:
        return 0
    known.items.add(mark)
    known.names |= featurizer.explain(content)
    return len(str(content))
