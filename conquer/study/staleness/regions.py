"""Regions that learn apart: each chooses with all that was merged and its own answers since, until the next merge."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conquer.learners.conquer import Conquer
from conquer.rows import Rounds
from conquer.simulation import Trace, simulate
from conquer.tickets import stream
from conquer.types import Choice, Floats, Query


def learn_apart(make: Callable[[], Any], rounds: Rounds, seed: int, regions: int, every: int) -> Floats:
    """(T,): the regret of each round. Rounds go to the regions in turn, and after every `every` all is merged.

    `make` gives a fresh learner whose model can be merged. One region is a learner that sees everything at once.

    >>> from conquer.registry import make
    >>> rounds = Rounds(np.eye(3), np.tile([0, 1, 2], (60, 1)), [0.5, 0.0, -0.5])
    >>> learn_apart(lambda: make("gnr", dim=3, model="full"), rounds, 0, 2, 20).shape
    (60,)
    """
    known = make()
    chance = [np.random.default_rng(stream("region", seed, region)) for region in range(regions)]
    regret = np.empty(len(rounds))
    for start in range(0, len(rounds), every):
        period = np.arange(start, min(start + every, len(rounds)))
        news = []
        for region in range(regions):
            mine = period[period % regions == region]
            if not mine.size:
                continue
            here, learner = Rounds(rounds.X, rounds.sets[mine], rounds.rewards), make()
            learner.restore(known.arrays())
            trace = simulate(learner, here, seed=chance[region])
            regret[mine] = trace.regret
            news.append(_learnt_alone(make(), here, trace))
        for learner in news:
            known.model.merge(learner.model)
    return regret


def _learnt_alone(learner: Conquer, rounds: Rounds, trace: Trace) -> Conquer:
    """The learner after these answers and no others: what a region sends to the rest."""
    for t in np.flatnonzero(trace.query == Query.DUEL).tolist():
        first, second = trace.shown[t].tolist()
        learner.learn(rounds[t].items, Choice((first, second), Query.DUEL, 0, {}), float(trace.answers[t]))
    return learner
