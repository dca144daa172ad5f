"""What a model has learnt, in words: the features with the largest weights, among those of the latest rounds."""

from collections.abc import Generator
from typing import Any

import msgspec

from conquer.features.featurizer import Featurizer
from conquer.items import PARTS, learnt_parts
from conquer.service.model.reading import decode_items
from conquer.service.store import log
from conquer.service.store.database import Database

_ROUNDS, _CHARACTERS = 50, 200_000
"""Of the latest rounds whose features are named."""


class Feature(msgspec.Struct):
    """`spread`: the standard deviation of the weight if all answers were random; null if unknown."""

    name: str
    weight: float
    spread: float | None


class Insight(msgspec.Struct):
    """The features with the largest weights, among those of the latest rounds."""

    liked: list[Feature]
    disliked: list[Feature]


def insight(
    database: Database, model: int, known: tuple[Featurizer, Any, Any], count: int
) -> Generator[None, None, Insight]:
    """The features of the latest rounds with the largest weights; a job, because naming features is slow."""
    featurizer, weights, spreads = known
    with database.reading() as connection:
        rounds = [bytes(one.items) for one in log.latest(connection, model, "choose", _ROUNDS)]
    names: dict[str, tuple[int, int]] = {}
    read = 0
    for item in (item for raw in dict.fromkeys(rounds) for item in decode_items(raw)):
        parts = learnt_parts([part for part in PARTS if getattr(item, part) is not None], featurizer.learn)
        width = len(item.vector or ()) if "vector" in parts else 0
        names |= {f"feature {column}": (column, 1) for column in range(min(width, 1000))}
        for content in (getattr(item, part) for part in parts if part != "vector"):
            names |= featurizer.explain(content, width)
            read += len(str(content))
        if read >= _CHARACTERS:
            break
        yield

    def feature(weight: float, name: str) -> Feature:
        return Feature(name, weight, None if spreads is None else float(spreads[names[name][0]]))

    ranked = sorted((float(weights[column] * sign), name) for name, (column, sign) in names.items())
    liked = [feature(*one) for one in ranked[::-1][:count] if one[0] > 0]
    return Insight(liked, [feature(*one) for one in ranked[:count] if one[0] < 0])
