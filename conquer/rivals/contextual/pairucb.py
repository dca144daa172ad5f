"""Joint pair UCB: the pair with the largest sum of means and width of its difference."""

from dataclasses import dataclass

from conquer.rivals.contextual.method import contextual, eta_of
from conquer.rivals.contextual.view import View, better_first, largest_pair
from conquer.rivals.learner import Pick
from conquer.tickets import Draws


@dataclass(frozen=True)
class PairUCB:
    """The pair with the largest mean_i + mean_j + eta |z_ij|.

    The last step of VACDB (Qiwei Di et al.: Variance-aware regret bounds for stochastic contextual dueling bandits,
    2024); with estimator="mle-curved" the linear form of GINOP (2026).

    `eta`: the factor of the widths.

    >>> import numpy as np
    >>> PairUCB(eta=0.1)(View(np.array([0.0, 2.0, 1.0]), np.ones(3), 2.0 - 2.0 * np.eye(3)), Draws(7)).shown
    (1, 2)
    """

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        values = view.mean[:, None] + view.mean[None, :] + self.eta * view.pairwidth
        return better_first(view, *largest_pair(values, draws))


build = contextual(lambda dim, values: PairUCB(eta_of(dim, values)))
