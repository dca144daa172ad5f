"""Neural dueling bandits' rule on any features: the best mean and its likeliest better."""

from dataclasses import dataclass

from conquer.rivals.contextual.method import contextual, eta_of
from conquer.rivals.contextual.view import View
from conquer.rivals.learner import Pick, duel
from conquer.tickets import Draws


@dataclass(frozen=True)
class NDB:
    """The best mean, and its likeliest better by mean + eta |z|.

    Arun Verma, Zhongxiang Dai, Xiaoqiang Lin, Patrick Jaillet and Bryan Kian Hsiang Low: Neural dueling bandits:
    preference-based optimization with human feedback, 2025. Here on features as given, without the network. That is
    gnc's selection; with gate="gnc" it is gnc over any estimator.

    `eta`: the factor of the widths.

    >>> import numpy as np
    >>> NDB(eta=1.0)(View(np.array([1.0, 0.0, 0.5]), np.ones(3), 3.0 - 3.0 * np.eye(3)), Draws(7)).shown
    (0, 2)
    """

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        first = draws.largest(view.mean)
        return duel(first, draws.largest(view.mean + self.eta * view.pairwidth[first], tie=1, skip=first))


build = contextual(lambda dim, values: NDB(eta_of(dim, values)))
