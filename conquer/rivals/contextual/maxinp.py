"""MaxInP: of the plausibly best items the pair least known."""

from dataclasses import dataclass

import numpy as np

from conquer.rivals.contextual.method import contextual, eta_of
from conquer.rivals.contextual.view import View, better_first, largest_pair, only_plausible, plausible
from conquer.rivals.learner import Pick
from conquer.tickets import Draws


@dataclass(frozen=True)
class MaxInP:
    """Among the items that no other one beats by more than eta |z|, the pair with the largest |z|.

    Aadirupa Saha: Optimal algorithms for stochastic contextual preference bandits, 2021.

    `eta`: the factor of the widths.

    >>> view = View(np.array([1.0, 0.9, -9.0]), np.ones(3), 2.0 - 2.0 * np.eye(3))
    >>> MaxInP(eta=1.0)(view, Draws(7)).shown
    (0, 1)
    """

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        candidates = np.flatnonzero(plausible(view, self.eta))
        if candidates.size < 2:
            return only_plausible(view, candidates, draws)
        i, j = largest_pair(view.pairwidth[np.ix_(candidates, candidates)], draws)
        return better_first(view, int(candidates[i]), int(candidates[j]))


build = contextual(lambda dim, values: MaxInP(eta_of(dim, values)))
