"""What a model has learnt, in words: its largest weights under the names of features that came by lately."""

from typing import Any

import numpy as np

from conquer.service.brains import LearnerBrain
from conquer.service.folding import Folded
from conquer.service.items import decode_items

_EVENTS = 300
_NAMES = 50_000


def top_features(folded: Folded, count: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The `count` most liked and most disliked features with their weights, among recent items' features."""
    brain = folded.brain
    if not isinstance(brain, LearnerBrain):
        return [], []
    names = _names(folded, brain)
    weights: Any = (
        brain.learner.model.weights() if hasattr(brain.learner.model, "weights") else np.zeros(brain.learner.dim)
    )
    ranked = sorted(
        ((name, float(weights[column] * sign)) for name, (column, sign) in names.items()), key=lambda one: one[1]
    )
    liked = [one for one in ranked[::-1][:count] if one[1] > 0]
    return liked, [one for one in ranked[:count] if one[1] < 0]


def _names(folded: Folded, brain: LearnerBrain) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for event in list(folded.events.values())[-_EVENTS:]:
        for item in decode_items(bytes(event.chosen.items)):
            if item.vector is not None:
                found |= {f"feature {column}": (column, 1) for column in range(min(len(item.vector), 1000))}
            else:
                found |= brain.reader.featurizer.explain(item.text if item.text is not None else item.features or {})
        if len(found) > _NAMES:
            break
    return found
