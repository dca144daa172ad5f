"""Two-draw Thompson sampling: the best items of two posterior draws."""

import math
from dataclasses import dataclass

import numpy as np

from conquer.rivals.contextual.method import contextual, eta_of
from conquer.rivals.contextual.view import View
from conquer.rivals.learner import Pick, duel
from conquer.tickets import Draws
from conquer.types import Floats


@dataclass(frozen=True)
class TwoTS:
    """The argmaxes of two independent draws from N(theta, eta V^-1); normals 0 to K - 1 and K to 2 K - 1.

    Drawn are the differences from the first item, which decide who is largest: a value that all share cancels exactly.

    Thompson's rule (William R. Thompson: On the likelihood that one unknown probability exceeds another, 1933) played
    against itself, without a paper of its own. Where both draws favour one item, it is shown alone.

    `eta`: the factor of the variance.

    >>> view = View(np.array([0.0, 1.0, 0.5]), np.ones(3), 2.0 - 2.0 * np.eye(3))
    >>> TwoTS(eta=0.0)(view, Draws(7)).shown, TwoTS(eta=9.0)(view, Draws(7)).shown
    ((1,), (2, 0))
    """

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        count = len(view)
        noise = math.sqrt(self.eta) * factor(view.relative) @ draws.normals(2 * count).reshape(2, count).T
        sampled = view.mean[:, None] + noise
        return duel(draws.largest(sampled[:, 0]), draws.largest(sampled[:, 1], tie=1))


def factor(gram: Floats) -> Floats:
    """Lower triangular F with F F' = gram, leaving out null directions.

    Not by eigenvectors: their signs are arbitrary, so that a last bit could turn a draw round.

    >>> factor(np.array([[4.0, 2.0], [2.0, 1.0]])).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    count = len(gram)
    F = np.zeros((count, count))
    for j in range(count):
        rest = gram[j:, j] - F[j:, :j] @ F[j, :j]
        if rest[0] > 1e-12 * abs(gram[j, j]):
            F[j:, j] = rest / math.sqrt(rest[0])
    return F


build = contextual(lambda dim, values: TwoTS(eta_of(dim, values)))
