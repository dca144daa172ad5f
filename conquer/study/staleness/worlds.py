"""The worlds of the study: rounds of ten items, made anew from a seed for every repetition."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conquer.judges import rewards_of
from conquer.rows import Rounds
from conquer.study.arena.worlds import SETTINGS, unit
from conquer.study.reviews.domains import build
from conquer.study.reviews.rounds import draw, restricted
from conquer.study.reviews.sources import DomainSource
from conquer.tickets import stream

_ITEMS, _DIM, _DOMAIN = 10, 20, "electronics"


@dataclass(frozen=True, slots=True)
class StaleWorld:
    """One kind of world: what it is, how its rounds are made, and the model that learns there, alone or to be merged.

    All are answered by the linear law.
    """

    text: str
    build: Callable[[int, int], Rounds]
    model: dict[str, Any]
    merged: dict[str, Any]


def _fresh(rounds: int, seed: int) -> Rounds:
    return replace(SETTINGS["long"], rounds=rounds).make(seed, "staleness", 0).rounds


def _drifting(rounds: int, seed: int) -> Rounds:
    return replace(SETTINGS["drifting"], rounds=rounds).make(seed, "staleness", 0).rounds


def _catalogue(rounds: int, seed: int) -> Rounds:
    rng = np.random.default_rng(stream("catalogue", seed))
    X, theta = unit(rng.normal(size=(_ITEMS, _DIM))), unit(rng.normal(size=_DIM))
    return Rounds(X, np.tile(np.arange(_ITEMS), (rounds, 1)), X @ theta)


def _reviews(rounds: int, seed: int) -> Rounds:
    """As many rounds as there are reviews, drawn as a study draws them."""
    domain, _ = build(DomainSource("synthetic", _DOMAIN, (), rounds, seed, "stars", ""))
    everything = np.arange(domain.units)
    part = restricted(domain, everything, everything, "idf")
    return Rounds(part.X, draw(part, everything, rounds, _ITEMS, stream("rounds", seed)), rewards_of(part.stars))


_FULL = {"model": "full"}
STALE_WORLDS = {
    "fresh": StaleWorld("new items in every round, 20 features, full model", _fresh, _FULL, _FULL),
    "catalogue": StaleWorld("the same ten items in every round, 20 features, full model", _catalogue, _FULL, _FULL),
    "drifting": StaleWorld("new items, 10 features, full model; the taste turns half round", _drifting, _FULL, _FULL),
    "reviews": StaleWorld(
        "synthetic reviews, uni- and bigrams, diagonal model",
        _reviews,
        {"model": "diagonal"},
        {"model": "diagonal", "update": "coordinate"},
    ),
}


@functools.lru_cache(maxsize=2)
def rounds_of(world: str, rounds: int, seed: int, repetition: int) -> Rounds:
    """The rounds of one repetition: the same for every rule and every delay."""
    return STALE_WORLDS[world].build(rounds, stream("staleness", seed, repetition))
