"""RMED1 has an end: it chooses however sure it is."""

import numpy as np
import pytest

from conquer.registry import make
from conquer.rows import Rounds
from conquer.simulation import simulate
from conquer.types import Query


@pytest.mark.parametrize("explore", [0.0, 0.5])
def test_rmed1_chooses_however_sure_it_is(explore):
    """3,000 answers without noise: the divergence of the others is beyond any time that a clock can show."""
    rounds = Rounds(np.eye(3), [[0, 1, 2]] * 3000, [1.0, 0.0, -1.0])
    trace = simulate("rmed1", rounds, judge="perfect", delay=200, explore=explore)
    shown = trace.shown[-500:]
    if explore:
        assert 0.3 < (trace.query[-500:] != Query.NONE).mean() < 0.7  # the explored half, within 9 deviations
    else:
        assert (trace.query[-500:] == Query.NONE).all()
        assert (shown[:, 0] == 0).all()


@pytest.mark.parametrize("clock", [1.0, 1e14, 1e15, 1e16])
def test_rmed1_has_an_end_at_any_lead_and_any_time(clock):
    """Where the next arm is due before, at and after the last time there is."""
    learner = make("rmed1", dim=3)
    learner.model.keys, learner.model.clock = np.arange(3, dtype=np.uint64), clock
    for n in (1.0, 10.0, 45.0, 49.0, 50.0, 51.0, 55.0, 1e3, 1e12):
        learner.model.wins, learner.model.rule.remaining = np.triu(np.full((3, 3), n), 1), [0]
        shown = {learner.choose(np.eye(3), t).shown for t in range(20)}
        assert all(0 in pair for pair in shown) or n == 1.0
