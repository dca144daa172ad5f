"""MaxMinLCB: a Stackelberg game on lower bounds, at home with a kernel."""

from dataclasses import dataclass

import numpy as np

from conquer.rivals.contextual.method import contextual, eta_of
from conquer.rivals.contextual.view import View, only_plausible, plausible
from conquer.rivals.learner import Pick, duel
from conquer.tickets import Draws


@dataclass(frozen=True)
class MaxMinLCB:
    """A Stackelberg game between plausible items on the lower bound of the first's lead.

    Barna Pásztor, Parnian Kassraie and Andreas Krause: Bandits with preference feedback: a Stackelberg game
    perspective, 2024.

    `eta`: the factor of the widths.

    >>> MaxMinLCB(eta=2.0)(View(np.array([1.0, 0.0, 0.5]), np.ones(3), 2.0 - 2.0 * np.eye(3)), Draws(7)).shown
    (0, 2)
    """

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        candidates = np.flatnonzero(plausible(view, self.eta))
        if candidates.size < 2:
            return only_plausible(view, candidates, draws)
        lower = (view.lead - self.eta * view.pairwidth)[np.ix_(candidates, candidates)]
        np.fill_diagonal(lower, np.inf)
        first = draws.largest(lower.min(axis=1))
        second = draws.largest(-lower[first], tie=1, skip=first)
        return duel(int(candidates[first]), int(candidates[second]))


build = contextual(lambda dim, values: MaxMinLCB(eta_of(dim, values)))
