"""The two best means of any estimator: a tool to try links, forgetting and gates by themselves."""

from dataclasses import dataclass

from conquer.rivals.contextual.method import contextual
from conquer.rivals.contextual.view import View
from conquer.rivals.learner import Pick, duel
from conquer.tickets import Draws


@dataclass(frozen=True)
class TopTwo:
    """The two best means: ttg's rule, without a paper or parameters of its own.

    >>> import numpy as np
    >>> TopTwo()(View(np.array([1.0, 0.0, 0.5]), np.ones(3), 2.0 - 2.0 * np.eye(3)), Draws(7)).shown
    (0, 2)
    """

    def __call__(self, view: View, draws: Draws) -> Pick:
        first = draws.largest(view.mean)
        return duel(first, draws.largest(view.mean, tie=1, skip=first))


build = contextual(lambda dim, values: TopTwo())
