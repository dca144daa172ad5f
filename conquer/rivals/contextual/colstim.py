"""CoLSTIM: a perturbed leader and its strongest rival."""

import math
from dataclasses import dataclass

import numpy as np

from conquer.checks import number, whole
from conquer.learners.algorithm import Values
from conquer.rivals.contextual.method import contextual, eta_of, practice
from conquer.rivals.contextual.view import View
from conquer.rivals.learner import Pick, duel
from conquer.tickets import Draws
from conquer.types import Floats


@dataclass(frozen=True)
class CoLSTIM:
    """The first by a perturbed mean, the second the first's strongest rival.

    Viktor Bengs, Aadirupa Saha and Eyke Hüllermeier: Stochastic contextual dueling bandits under linear stochastic
    transitivity models, 2022.

    With chance min(1, scale/sqrt(t)) every item has noise of its own (Gumbel), else all share one draw. Draw 0 is that
    coin, draws 1 to K the noise.

    `eta`: the factor of the second item's width. `clip`: the largest size of the noise. `scale`: how long the noise is
    independent.

    >>> view = View(np.array([1.0, 0.0, -1.0]), np.ones(3), 2.0 - 2.0 * np.eye(3))
    >>> CoLSTIM(eta=1.0, clip=0.0, scale=1.0)(view, Draws(7)).shown
    (0, 1)
    """

    eta: float
    clip: float
    scale: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        uniforms = draws.uniforms(len(view) + 1)
        own = uniforms[0] < min(1.0, self.scale / math.sqrt(view.answers + 1))
        noise = gumbel(uniforms[1:] if own else np.full(len(view), uniforms[1]))
        first = draws.largest(view.mean + np.clip(noise, -self.clip, self.clip) * view.width)
        second = draws.largest(view.lead[:, first] + self.eta * view.pairwidth[first], tie=1, skip=first)
        return duel(first, second)


def gumbel(uniforms: Floats) -> Floats:
    """Standard Gumbel draws from uniform ones in [0, 1)."""
    return np.asarray(-np.log(-np.log(np.maximum(uniforms, 2.0**-60))))


def _select(dim: int, values: Values) -> CoLSTIM:
    clip, scale, eta = values["clip"], values["coupling"], eta_of(dim, values)
    horizon = whole("horizon", values["horizon"], 2)
    return CoLSTIM(
        eta,
        practice(dim, values) if clip is None else number("clip", clip, 0.0),
        dim * math.log(dim * horizon) if scale is None else number("coupling", scale, 0.0),
    )


build = contextual(_select)
