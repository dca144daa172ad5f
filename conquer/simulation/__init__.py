"""Learners over rounds that a judge answers: `simulate` and the `Trace` it returns."""

from conquer.simulation.run import rehearse, simulate, warm
from conquer.simulation.trace import Trace

__all__ = ["Trace", "rehearse", "simulate", "warm"]
